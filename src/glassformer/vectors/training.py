"""Word vectors from a text: `train`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from glassformer.config import check_arguments
from glassformer.errors import DataError
from glassformer.vectors.corpus import Corpus, corpus_of, read_corpus
from glassformer.vectors.settings import VectorSettings
from glassformer.vectors.word2vec import Learning, learn_word2vec
from glassformer.vectors.word_vectors import WordVectors


class Listener(Protocol):
    """Hears how far the work is."""

    def on_read(self, done: int, total: int) -> None: ...

    def on_corpus(self, corpus: Corpus, settings: VectorSettings) -> None: ...

    def on_learning(self, learning: Learning) -> None: ...


def train(
    files: str | Path | Sequence[str | Path] = (),
    *,
    texts: Iterable[str] | None = None,
    columns: str | None = None,
    method: Literal["skip-gram", "cbow", "ppmi"] = "skip-gram",
    width: int = 100,
    window: int = 5,
    min_count: int = 5,
    most_words: int | None = None,
    epochs: int | None = None,
    negatives: int = 5,
    rate: float | None = None,
    sample: float = 1e-3,
    power: float = 0.75,
    seed: int = 1,
    threads: int = 1,
    split: Literal["words", "spaces"] = "words",
    lower: bool = True,
    listener: Listener | None = None,
) -> WordVectors:
    """Vectors of the words of some files, plain or compressed, larger than memory or not; or of `texts`.

    `columns`: the column with the text, of tables. The same seed gives the same bytes, with one thread.
    """
    given = {
        "method": method, "width": width, "window": window, "min_count": min_count, "most_words": most_words,
        "epochs": epochs, "negatives": negatives, "rate": rate, "sample": sample, "power": power, "seed": seed,
        "threads": threads, "split": split, "lower": lower,
    }  # fmt: skip
    check_arguments(VectorSettings, given)
    settings = VectorSettings(**given)
    names = [str(one) for one in ([files] if isinstance(files, str | Path) else files)]
    if bool(names) == (texts is not None):
        raise DataError("Give files, or texts=[...], one of them.")
    if texts is not None:
        corpus = corpus_of(lines_of(texts), **vocabulary_of(settings))
    else:
        on_read = None if listener is None else listener.on_read
        corpus = read_corpus(
            names, columns=(columns,) if columns else None, progress=on_read, **vocabulary_of(settings)
        )
    if listener is not None:
        listener.on_corpus(corpus, settings)
    return train_on(corpus, settings, listener=listener)


def vocabulary_of(settings: VectorSettings) -> dict[str, Any]:
    return {
        "min_count": settings.min_count,
        "most_words": settings.most_words,
        "split": settings.split,
        "lower": settings.lower,
    }


def lines_of(texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, str):
        raise DataError("Got one text; give a list of texts, or the name of a file as the first argument.")
    return (f"{text}\n" for text in texts)


def train_on(corpus: Corpus, settings: VectorSettings, *, listener: Listener | None = None) -> WordVectors:
    """Vectors of the words of a corpus."""
    if settings.method == "ppmi":
        from glassformer.vectors.ppmi import count_ppmi  # loads torch, which the kernel does not need

        matrix = count_ppmi(corpus, settings)
    else:
        matrix = learn_word2vec(corpus, settings, report=None if listener is None else listener.on_learning)
    if not np.isfinite(matrix).all():
        raise DataError(
            f"The vectors became NaN or infinite: the rate {settings.first_rate():g} is too large (--rate)."
        )
    return WordVectors(corpus.words, matrix, counts=corpus.counts, about=settings.model_dump())
