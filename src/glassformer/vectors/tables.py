"""A few sentences as tables of counts, to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.errors import DataError
from glassformer.vectors.corpus import Corpus, corpus_of
from glassformer.vectors.counting import bag_of_words, cooccurrences, one_hot, pmi, tf_idf
from glassformer.vectors.training import lines_of

EXAMPLE = (
    "the king lives in a castle and the king is rich",
    "the queen lives in a castle and the queen is rich",
    "the king is a brother of the prince",
    "a farmer is in the field and the cow is in the field",
    "the milk of the cow is in a bucket",
    "a farmer is a friend of the cow",
    "the train is at the station and a driver is in the train",
    "the station is a place for the train",
)
KINDS = ("one-hot", "bag-of-words", "co-occurrence", "tf-idf", "pmi")
MOST_VOCABULARY = 5000  # a dense table of these words still fits in memory
NEAREST = 3
DROWNED = 8  # words whose company is compared


@dataclass(frozen=True)
class ShownTable:
    """A table with names for rows and columns, and what it means."""

    kind: str
    title: str
    meaning: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    digits: int = 0


@dataclass(frozen=True)
class Tables:
    """All tables of some sentences. `drowned`: a word, its company by raw counts, and by PMI."""

    words: tuple[str, ...]
    counts: tuple[int, ...]
    left_out: int
    tables: list[ShownTable]
    drowned: list[tuple[str, str, str]]

    def to_dict(self, kinds: Sequence[str]) -> dict[str, Any]:
        shown = {
            one.kind: {"rows": one.rows, "columns": one.columns, "values": one.values.tolist()}
            for one in self.tables
            if one.kind in kinds
        }
        company = [{"word": word, "by_count": a.split(", "), "by_pmi": b.split(", ")} for word, a, b in self.drowned]
        return {"words": self.words, "counts": self.counts, "tables": shown, "company": company}


def tables_of(texts: Sequence[str], *, window: int = 5, most_words: int = 12, lower: bool = True) -> Tables:
    """The five tables of some sentences; at most `most_words` words are shown."""
    if not texts:
        raise DataError("No sentence was given.")
    corpus = corpus_of(
        lines_of(" ".join(text.split()) for text in texts), min_count=1, lower=lower, origin="the sentences"
    )
    if len(corpus.words) > MOST_VOCABULARY:
        raise DataError(f"Got {len(corpus.words):,} different words; tables are for at most {MOST_VOCABULARY:,}.")
    shown = min(most_words, len(corpus.words))
    names, texts_named = corpus.words[:shown], tuple(f"text {i + 1}" for i in range(len(texts)))
    bags, met = bag_of_words(corpus), cooccurrences(corpus, window=window)
    counted, informative = met.dense(), pmi(met).dense()
    near = f"{window} words on each side"
    parts = [
        ("one-hot", "One-hot", "a vector of its own for each word; all equally far apart", names, one_hot(shown), 0),
        (
            "bag-of-words",
            "Bag of words",
            "how often each word is in each text; the order is lost",
            texts_named,
            bags,
            0,
        ),
        (
            "tf-idf",
            "TF-IDF",
            "count x log(texts / texts with the word); 0 if all have it",
            texts_named,
            tf_idf(bags),
            2,
        ),
        ("co-occurrence", f"Co-occurrence, {near}", "how often two words are near each other", names, counted, 0),
        (
            "pmi",
            f"Positive PMI, {near}",
            "log of how much more often two words meet than by chance",
            names,
            informative,
            2,
        ),
    ]
    tables = [
        ShownTable(kind, title, meaning, rows, names, values[: len(rows), :shown], digits)
        for kind, title, meaning, rows, values, digits in parts
    ]
    left_out = len(corpus.words) - shown
    return Tables(names, tuple(corpus.counts[:shown].tolist()), left_out, tables, drowned(corpus, counted, informative))


def drowned(
    corpus: Corpus, counted: NDArray[np.float64], informative: NDArray[np.float64]
) -> list[tuple[str, str, str]]:
    """The company of words that are not among the most frequent, by raw counts and by PMI."""
    order = sorted(range(len(corpus.words)), key=lambda i: corpus.counts[i])
    chosen = sorted(order[: max(1, len(order) // 2)], key=lambda i: -corpus.counts[i])[:DROWNED]
    return [(corpus.words[i], company(corpus, counted[i]), company(corpus, informative[i])) for i in chosen]


def company(corpus: Corpus, row: NDArray[np.float64]) -> str:
    best = sorted(np.flatnonzero(row > 0), key=lambda i: (-row[i], -corpus.counts[i]))[:NEAREST]
    return ", ".join(corpus.words[i] for i in best)
