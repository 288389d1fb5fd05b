"""An exported translator, run by CTranslate2: no torch is loaded.

The folder holds CTranslate2's own files, our tokenizers beside them, and exported.json, which says how to decode.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glassformer.errors import ExportError, ModelError, SettingsError
from glassformer.evaluate.guard import CAREFUL_BEAM, CAREFUL_NO_REPEAT, CAREFUL_RATIO, what_is_wrong
from glassformer.text import Tokenizer

CARD = "exported.json"


@dataclass(frozen=True)
class Decoded:
    """One translation by an engine."""

    text: str
    tokens: tuple[str, ...]
    score: float  # log-probability, normalised by length
    finished: bool  # False: cut at the longest length allowed
    wrong: str = ""  # what the guard found
    mended: bool = False  # then this is from a second, more careful search, and sound


class Exported:
    """Translates with an exported model."""

    def __init__(self, folder: str | Path, *, threads: int = 0, compute: str = "float32") -> None:
        self.folder = Path(folder)
        card = self.folder / CARD
        if not card.is_file():
            raise ExportError(
                f"{self.folder} is no exported translator: it has no {CARD}. Make one with "
                "`glassformer export RUN --to ctranslate2 --out FOLDER`."
            )
        with refusals_in_words(self.folder):
            self.about: dict[str, Any] = json.loads(card.read_text(encoding="utf-8"))
            self.source, self.target = (Tokenizer.load(self.folder / name) for name in self.about["tokenizers"])
        engine = needed("ctranslate2")
        known = {*engine.get_supported_compute_types("cpu"), "auto"}
        if compute not in known:
            raise SettingsError(f"--compute {compute}: this machine can do {', '.join(sorted(known))}.")
        with refusals_in_words(self.folder):
            self.engine = engine.Translator(
                str(self.folder), device="cpu", inter_threads=1, intra_threads=threads, compute_type=compute
            )

    def candidates(
        self, texts: Sequence[str], *, beam: int | None = None, n_best: int = 1, guard: bool = True
    ) -> list[list[Decoded]]:
        """The n best translations of each text, best first; a blank text has the empty translation.

        The guard looks for translations that have gone wrong, and translates those again more carefully.
        """
        rows = self.source.encode_batch([text.strip() for text in texts])
        if beam is not None and beam < n_best:
            raise SettingsError(f"{n_best} translations need a beam at least as wide; got a beam of {beam}.")
        beam = max(self.about["beam"] if beam is None else beam, n_best)
        results = self.found(rows, beam, n_best, self.about)
        if not guard:
            return results
        judged = [self.judged(*one) for one in zip(texts, rows, results, strict=True)]
        again = [i for i, options in enumerate(judged) if rows[i] and options[0].wrong]
        careful = self.about | {
            "no_repeat": self.about["no_repeat"] or CAREFUL_NO_REPEAT,
            "min_ratio": max(self.about["min_ratio"], CAREFUL_RATIO),
        }
        wide = max(CAREFUL_BEAM, beam)
        for i, options in zip(again, self.found([rows[i] for i in again], wide, wide, careful), strict=True):
            new = [one for one in self.judged(texts[i], rows[i], options) if not one.wrong]
            judged[i] = mended(judged[i], new)[:n_best]
        return judged

    def judged(self, text: str, row: Sequence[int], options: Sequence[Decoded]) -> list[Decoded]:
        source = [self.source.token(i) for i in row]
        wrongs = (what_is_wrong(text, source, one.text, one.tokens, finished=one.finished) for one in options)
        return [replace(one, wrong=wrong) for one, wrong in zip(options, wrongs, strict=True)]

    def found(
        self, rows: Sequence[Sequence[int]], beam: int, n_best: int, settings: dict[str, Any]
    ) -> list[list[Decoded]]:
        results = [[Decoded("", (), 0.0, True)] for _ in rows]
        for index in self.batches(rows, beam):
            sentences = [[self.source.token(i) for i in rows[at]] for at in index]
            for at, options in zip(index, self.translated(sentences, beam, n_best, settings), strict=True):
                results[at] = options
        return results

    def translated(
        self, sentences: list[list[str]], beam: int, n_best: int, settings: dict[str, Any]
    ) -> list[list[Decoded]]:
        length = len(sentences[0]) + 1  # of all of them
        if length > self.about["positions"]:
            raise ModelError(
                f"A sentence has {length:,} tokens; this model has {self.about['positions']:,} positions. Split it."
            )
        limit = min(int(length * self.about["max_ratio"] + self.about["max_extra"]), self.about["positions"])
        with refusals_in_words(self.folder):
            found = self.engine.translate_batch(
                sentences,
                beam_size=beam,
                num_hypotheses=n_best,
                length_penalty=self.about["alpha"],
                max_decoding_length=limit,
                min_decoding_length=math.ceil((length - 1) * settings["min_ratio"]),
                no_repeat_ngram_size=settings["no_repeat"],
                max_input_length=0,
                return_scores=True,
            )
        return [
            [self.decoded(tokens, score, limit) for tokens, score in zip(one.hypotheses, one.scores, strict=True)]
            for one in found
        ]

    def decoded(self, tokens: Sequence[str], score: float, limit: int) -> Decoded:
        ids = [found for token in tokens if (found := self.target.id(token)) is not None]
        return Decoded(self.target.decode(ids), tuple(tokens), score, finished=len(tokens) < limit)

    def batches(self, rows: Sequence[Sequence[int]], beam: int) -> Iterator[list[int]]:
        """The places of the rows with text in them, those of one length together: the engine has one limit for all."""
        for length in sorted({len(row) for row in rows if row}, reverse=True):
            order = [i for i, row in enumerate(rows) if len(row) == length]
            size = max(1, self.about["batch_tokens"] // (beam * (length + 1)))
            yield from (order[start : start + size] for start in range(0, len(order), size))


def mended(found: Sequence[Decoded], new: Sequence[Decoded]) -> list[Decoded]:
    """The sound ones of both searches, the second's marked as such, and behind them what is not."""
    known = {one.tokens for one in found}
    added = [replace(one, wrong=found[0].wrong, mended=True) for one in new if one.tokens not in known]
    sound = sorted([*(one for one in found if not one.wrong), *added], key=lambda one: -one.score)
    return [*sound, *(one for one in found if one.wrong)]


@contextmanager
def refusals_in_words(folder: Path) -> Iterator[None]:
    """What the engine, or a damaged file, says."""
    try:
        yield
    except (RuntimeError, ValueError, KeyError, OSError) as error:
        raise ExportError(f"{folder} cannot be used: {error}. Export it again.") from None


def needed(name: str) -> Any:
    """A module of an optional package; an error that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ExportError(
            f"This needs the package {package!r} ({error}): pip install 'glassformer[{package}]'."
        ) from None
