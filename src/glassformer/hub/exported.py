"""An exported translator, run by CTranslate2: no torch is loaded.

The folder has CTranslate2's files, our tokenizers, and exported.json, which says how to decode.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from glassformer import limits
from glassformer.errors import ExportError, ModelError, SettingsError
from glassformer.evaluate.guard import CAREFUL_BEAM, careful, guarded, joined_verdict, what_is_wrong
from glassformer.evaluate.lengths import Lengths
from glassformer.text import Tokenizer

CARD = "exported.json"
NUMBERS: dict[str, tuple[Any, int, int]] = {  # of the card, with the bounds of the settings that they come from
    "beam": (int, 1, limits.HYPOTHESES),
    "alpha": (int | float, 0, 5),
    "max_ratio": (int | float, 0, 100),
    "max_extra": (int, 0, limits.TOKENS),
    "min_ratio": (int | float, 0, 10),
    "no_repeat": (int, 0, limits.NO_REPEAT),
    "batch_tokens": (int, 1, limits.BATCH_TOKENS),
    "positions": (int, 1, limits.POSITIONS),
}
# Fields that the cards of older exports lack.
ADDED: dict[str, Any] = {"split_over": 64, "longest_sentence": 200, "language": None, "lengths": None}
NUMBERS |= {"split_over": (int, 0, limits.TOKENS), "longest_sentence": (int, 1, limits.TOKENS)}


@dataclass(frozen=True)
class Decoded:
    """One translation by an engine."""

    text: str
    tokens: tuple[str, ...]
    score: float  # log-probability, normalised by length
    finished: bool  # False: cut at the longest length allowed
    wrong: str = ""  # what the guard found
    repaired: bool = False  # True: a sound translation from a second, more careful search
    parts: int = 1  # how many parts of a long text were translated one by one


def refuse_exported(folder: Path) -> None:
    """An error that says what to do with an exported translator where a model of ours is needed."""
    if (folder / CARD).is_file():
        raise ExportError(
            f"{folder} is a translator exported for CTranslate2, which can only translate: glassformer translate "
            f"{folder} ... For everything else give the run it was exported from."
        )


class Exported:
    """Translates with an exported model."""

    def __init__(self, folder: str | Path, *, threads: int = 0, compute: str = "float32") -> None:
        self.folder = Path(folder)
        card = self.folder / CARD
        if not card.is_file():
            raise ExportError(
                f"{self.folder} is not an exported translator: it has no {CARD}. Make one with "
                "`glassformer export RUN --to ctranslate2 --out FOLDER`."
            )
        with engine_errors(self.folder):
            self.about: dict[str, Any] = checked_card(json.loads(card.read_text(encoding="utf-8")))
            self.source, self.target = (Tokenizer.load(self.folder / name) for name in self.about["tokenizers"])
        self.lengths = Lengths.read(self.about["lengths"])
        engine = needed("ctranslate2")
        known = {*engine.get_supported_compute_types("cpu"), "auto"}
        if compute not in known:
            raise SettingsError(f"--compute {compute}: this machine can do {', '.join(sorted(known))}.")
        with engine_errors(self.folder):
            self.engine = engine.Translator(
                str(self.folder), device="cpu", inter_threads=1, intra_threads=threads, compute_type=compute
            )

    def candidates(
        self, texts: Sequence[str], *, beam: int | None = None, n_best: int = 1, guard: bool = True, split: bool = True
    ) -> list[list[Decoded]]:
        """The n best translations of each text, best first; a blank text has the empty translation.

        The guard looks for wrong translations, and translates their texts again more carefully. Long texts are
        translated sentence by sentence, as the run does, unless `split` is False.
        """
        spans = [self.spans(text) if split else None for text in texts]
        parts = [
            text if own is None else text[start:end]
            for text, own in zip(texts, spans, strict=True)
            for start, end in own or [(0, 0)]
        ]
        each = iter(self.translations(parts, beam=beam, n_best=n_best, guard=guard))
        return [
            next(each) if own is None else self.joined(text, own, [next(each) for _ in own])
            for text, own in zip(texts, spans, strict=True)
        ]

    def spans(self, text: str) -> list[tuple[int, int]] | None:
        """The spans of the parts of a long text; None: it is not long."""
        over = self.about["split_over"]
        if not over or len(text.strip()) <= over:
            return None
        from glassformer.text.sentences import spans_to_translate

        return spans_to_translate(
            text,
            lambda part: len(self.source.encode(part)),
            over=over,
            longest=min(self.about["longest_sentence"], self.about["positions"] - 1),
            language=self.about["language"],
        )

    def joined(self, text: str, spans: Sequence[tuple[int, int]], found: Sequence[Sequence[Decoded]]) -> list[Decoded]:
        """The translations of a text from those of its parts: the best together, the second ones together, ..."""
        between = [text[one[1] : other[0]] for one, other in pairwise(spans)]
        count = max(map(len, found))
        return [
            together([own[min(rank, len(own) - 1)] for own in found], between, alpha=self.about["alpha"])
            for rank in range(count)
        ]

    def translations(self, texts: Sequence[str], *, beam: int | None, n_best: int, guard: bool) -> list[list[Decoded]]:
        """Translates each text as a whole."""
        rows = self.source.encode_batch([text.strip() for text in texts])
        if beam is not None and beam < n_best:
            raise SettingsError(f"{n_best} translations need a beam at least as wide; got a beam of {beam}.")
        beam = max(self.about["beam"] if beam is None else beam, n_best)
        results = self.found(rows, beam, n_best, self.about)
        if not guard:
            return results
        sources = [[self.source.token(i) for i in row] for row in rows]
        wide = max(CAREFUL_BEAM, beam)
        settings = self.about | careful(no_repeat=self.about["no_repeat"], min_ratio=self.about["min_ratio"])

        def judge(i: int, one: Decoded) -> str:
            return what_is_wrong(
                texts[i], sources[i], one.text, one.tokens, finished=one.finished, lengths=self.lengths
            )

        def search_again(places: list[int]) -> list[list[Decoded]]:
            return self.found([rows[i] for i in places], wide, wide, settings)

        return guarded(results, rows, judge, search_again, n_best=n_best)

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
        with engine_errors(self.folder):
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
        """The indices of non-empty rows, grouped by length: the engine has one length limit for a whole batch."""
        for length in sorted({len(row) for row in rows if row}, reverse=True):
            order = [i for i, row in enumerate(rows) if len(row) == length]
            size = max(1, self.about["batch_tokens"] // (beam * (length + 1)))
            yield from (order[start : start + size] for start in range(0, len(order), size))


def together(own: Sequence[Decoded], between: Sequence[str], *, alpha: float) -> Decoded:
    """Joins the translations of the parts to one, with the text between the parts."""
    sizes = [len(one.tokens) + one.finished for one in own]  # the end mark counts
    log_prob = sum(one.score * max(size, 1) ** alpha for one, size in zip(own, sizes, strict=True))
    wrong, repaired = joined_verdict(own)
    return Decoded(
        text="".join(one.text + space for one, space in zip(own, (*between, ""), strict=True)),
        tokens=tuple(token for one in own for token in one.tokens),
        score=log_prob / max(sum(sizes), 1) ** alpha,
        finished=all(one.finished for one in own),
        wrong=wrong,
        repaired=repaired,
        parts=len(own),
    )


@contextmanager
def engine_errors(folder: Path) -> Iterator[None]:
    """Turns errors of the engine, or of a damaged file, into an ExportError."""
    try:
        yield
    except (RuntimeError, ValueError, KeyError, OSError) as error:  # nested too deeply is a RuntimeError
        raise ExportError(f"{folder} cannot be used: {error}. Export it again.") from None


def checked_card(card: Any) -> dict[str, Any]:
    """The card of an export, checked against the bounds of the settings: it may have been edited."""
    if not isinstance(card, dict) or not isinstance(card.get("tokenizers"), list):
        raise ValueError(f"{CARD} was not written by an export")
    card = {**ADDED, **card}
    if not isinstance(card["language"], str | None):
        raise ValueError(f"{CARD}: language must be a code such as en, or null")
    for name, (kinds, least, most) in NUMBERS.items():
        value = card[name]
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            kind = "a whole number" if kinds is int else "a number"
            raise ValueError(f"{CARD}: {name} must be {kind} from {least:,} to {most:,}")
    return card


def needed(name: str) -> Any:
    """A module of an optional package; if it is missing, an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ExportError(
            f"This needs the package {package!r} ({error}): pip install 'glassformer[{package}]'."
        ) from None
