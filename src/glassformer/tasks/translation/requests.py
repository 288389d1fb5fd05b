"""What is asked for: how many hypotheses, and what else a translation must be besides a good one.

Lots instead of the best, words that must or must not be said, a beginning, a glossary: each wish becomes a chooser or a
rule of the search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from glassformer.data.batches import Index
from glassformer.decode import Best, BestRefilled, Sample
from glassformer.decode.rules import AtLeast, Prefix
from glassformer.decode.search import Chooser, Rule
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.terms import BestWithTerms, Term, tokens_of
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.guard import CAREFUL_BEAM, CAREFUL_NO_REPEAT, CAREFUL_RATIO
from glassformer.tasks.asking import Lots, rules_of_speech
from glassformer.tasks.translation.glossary import Glossary
from glassformer.tasks.translation.placeholders import is_tag, placeholders
from glassformer.tasks.translation.spelling import Speller

WIDEST_FOR_TERMS = 20


@dataclass(frozen=True)
class Wishes:
    """All of them; without any the best translations are searched for."""

    lots: Lots | None = None
    begin: str = ""  # every translation begins so
    say: tuple[str, ...] = ()  # words that every translation must have
    ban: tuple[str, ...] = ()  # words that none may have
    glossary: Glossary | None = None
    keep_placeholders: bool = False

    def __post_init__(self) -> None:
        if not all(word.strip() for word in (*self.say, *self.ban)):
            raise SettingsError("Got a blank word that must, or must not, be said. Give words.")
        for word in self.ban:
            if any(re.search(rf"(?<!\w){re.escape(word.strip())}(?!\w)", said) for said in (*self.say, self.begin)):
                raise SettingsError(f"{word.strip()!r} must be said and must not be said. Leave one of the two out.")
        if self.lots and (self.say or self.glossary or self.keep_placeholders):
            raise SettingsError(
                "Samples are drawn freely: what must be said (a glossary, given words, placeholders) needs a search. "
                "Leave one of the two out."
            )

    def terms_for(self, source: str, speller: Speller) -> list[Term]:
        """What the translation of a text must say."""
        given = [speller.term((word.strip(),)) for word in self.say]
        found = [speller.term(forms) for _, forms in self.glossary.found_in(source)] if self.glossary else []
        marks = placeholders(source) if self.keep_placeholders else []
        return [*given, *found, *(speller.term((mark,), ordered=is_tag(mark)) for mark in marks)]


NO_WISHES = Wishes()


@dataclass(frozen=True)
class Request:
    """How to translate: the settings, how many hypotheses, and wishes."""

    settings: DecodeSettings
    beam: int | None = None  # None: as the settings have it
    n_best: int = 1
    wishes: Wishes = NO_WISHES

    def __post_init__(self) -> None:
        if self.beam is not None and self.beam < self.n_best and not self.wishes.lots:
            raise SettingsError(f"{self.n_best} translations need a beam at least as wide; got a beam of {self.beam}.")

    @property
    def width(self) -> int:
        """Hypotheses that are followed."""
        if self.wishes.lots:
            return self.n_best
        return max(self.settings.beam if self.beam is None else self.beam, self.n_best)

    def careful(self) -> Request:
        """The same for a sentence that has gone wrong: no three tokens twice, not nothing at all, a wide beam."""
        settings = self.settings
        careful = {
            "no_repeat": settings.no_repeat or CAREFUL_NO_REPEAT,
            "min_ratio": max(settings.min_ratio, CAREFUL_RATIO),
        }
        width = max(CAREFUL_BEAM, self.width)
        return replace(self, settings=settings.model_copy(update=careful), beam=width, n_best=width)

    def widths(self, terms: Sequence[Sequence[Term]]) -> Index:
        """Of sentences that must say these; each by its own terms, whoever its neighbours are."""
        wide = [max(self.width, min(WIDEST_FOR_TERMS, CAREFUL_BEAM + tokens_of(own))) for own in terms]
        return np.array([width if own else self.width for width, own in zip(wide, terms, strict=True)])

    def limits(self, batch: Sentences, prefix: int, longest: int | None) -> Index:
        """How many tokens each translation may have, end mark included: terms and what is given always fit."""
        limits = (batch.lengths * self.settings.max_ratio + self.settings.max_extra).astype(np.int64)
        needed = np.array([prefix + tokens_of(own) + 1 if own or prefix else 0 for own in batch.terms])
        limits = np.maximum(limits, 2 * needed)
        if longest is None:
            return limits
        if (most := int(needed.max(initial=0))) > longest:
            raise DataError(f"What must be said takes {most} tokens, and this model has {longest} positions.")
        return np.minimum(limits, longest)

    def batches_of(self, rows: Sequence[Sequence[int]], bound: Sequence[bool] | None = None) -> Iterator[list[int]]:
        """The indices of the rows with text in them, alike in length together, by a budget of tokens.

        Sentences that are `bound` by terms are not mixed with others: their beams are wider.
        """
        bound = [False] * len(rows) if bound is None else bound
        for kind in (False, True):
            order = sorted((i for i, row in enumerate(rows) if row and bound[i] == kind), key=lambda i: -len(rows[i]))
            width = max(self.width, WIDEST_FOR_TERMS) if kind else self.width
            while order:
                size = max(1, self.settings.batch_tokens // (width * (len(rows[order[0]]) + 1)))
                yield order[:size]
                order = order[size:]


@dataclass(frozen=True)
class Sentences:
    """Sentences to be translated."""

    texts: Sequence[str]
    rows: Sequence[Sequence[int]]  # their ids
    numbers: Sequence[int]  # their places in the whole of what is translated
    terms: Sequence[Sequence[Term]]  # what each must say

    @classmethod
    def of_ids(cls, rows: Sequence[Sequence[int]]) -> Sentences:
        """Of which only the ids are known."""
        return cls([""] * len(rows), rows, range(len(rows)), [()] * len(rows))

    @property
    def lengths(self) -> Index:
        """With the end mark."""
        return np.array([len(row) + 1 for row in self.rows], dtype=np.int64)

    def some(self, places: Sequence[int]) -> Sentences:
        return Sentences(
            texts=[self.texts[i] for i in places],
            rows=[self.rows[i] for i in places],
            numbers=[self.numbers[i] for i in places],
            terms=[self.terms[i] for i in places],
        )


def chooser_for(request: Request, batch: Sentences, *, limits: Index, prefix: int, speller: Speller) -> Chooser:
    lots, width = request.wishes.lots, request.width
    if lots is not None:
        return Sample(width, batch.numbers, lots.seed, lots.temperature, lots.top_k, lots.top_p)
    if not any(batch.terms):
        return BestRefilled(width, speller.eos) if request.settings.refill and width > 1 else Best(width)
    begins = np.full(len(batch.rows), prefix)
    return BestWithTerms(request.widths(batch.terms), batch.terms, limits, begins, speller.vocabulary)


def rules_for(request: Request, batch: Sentences, prefix: Sequence[int], speller: Speller) -> Iterator[Rule]:
    """The rules that wishes and settings make."""
    settings, ban = request.settings, request.wishes.ban
    if settings.min_ratio > 0:
        yield AtLeast(np.ceil((batch.lengths - 1) * settings.min_ratio).astype(np.int64), speller.eos)
    yield from rules_of_speech(
        speller.tokenizer,
        no_repeat=settings.no_repeat,
        repetition_penalty=settings.repetition_penalty,
        ban=ban,
    )
    if prefix:
        yield Prefix([prefix] * len(batch.rows))
