"""Requests: how many hypotheses, and constraints on the translations.

Sampling instead of a search, words that must or must not occur, a forced beginning, a glossary: each becomes a chooser
or a rule of the search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from glassformer.config import check_arguments
from glassformer.data.batches import Index
from glassformer.decode.rules import AtMostOnce
from glassformer.decode.search import Rule
from glassformer.decode.settings import DecodeSettings, GenerationSettings
from glassformer.decode.terms import BestWithTerms, Term, tokens_of
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.guard import CAREFUL_BEAM, careful
from glassformer.tasks.model import described
from glassformer.tasks.sampling import Sampling, check_sampling, words_given
from glassformer.tasks.text_generator import Decoding, batches_by_length
from glassformer.tasks.translation.glossary import Glossary
from glassformer.tasks.translation.spelling import Speller
from glassformer.text import Tokenizer
from glassformer.text.masks import mask_ids

WIDEST_FOR_TERMS = 20
MOST_LETTERS = 20  # in a token, so that a long text is refused before it is tokenized
MOST_GIVEN = 100  # tokens: the time of a search grows with their square


@dataclass(frozen=True)
class Constraints:
    """All constraints; without any, the search returns the best translations."""

    sampling: Sampling | None = None
    begin: str = ""  # every translation begins with this
    say: str | Sequence[str] = ()  # words that every translation must contain
    ban: str | Sequence[str] = ()  # words that no translation may contain
    glossary: Glossary | None = None
    keep_placeholders: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        if not all(word.strip() for word in (*self.say, *self.ban)):
            raise SettingsError("Got a blank word that must, or must not, occur. Give words.")
        if (letters := sum(map(len, self.say))) > MOST_GIVEN * MOST_LETTERS:
            raise SettingsError(f"The words that every translation must contain have {letters:,} letters. Give fewer.")
        for word in self.ban:
            if any(re.search(rf"(?<!\w){re.escape(word.strip())}(?!\w)", said) for said in (*self.say, self.begin)):
                raise SettingsError(f"{word.strip()!r} is both required and banned. Leave out one of the two.")
        if self.sampling and (self.say or self.glossary or self.keep_placeholders):
            raise SettingsError(
                "Sampling cannot force words: a glossary, required words and placeholders need a search. "
                "Leave out one of the two."
            )

    def _check_types(self) -> None:
        for name in ("say", "ban"):
            object.__setattr__(self, name, words_given(name, getattr(self, name)))
        glossary: object = self.glossary
        if glossary is not None and not isinstance(glossary, Glossary):
            file = isinstance(glossary, str | Path)
            way = "gf.Glossary.read(file)" if file else 'gf.Glossary({"dog": "Hund"})'
            raise SettingsError(f"glossary = {described(glossary)}: give a Glossary, for example {way}.")
        check_sampling(self.sampling)
        begin: object = self.begin
        if not isinstance(begin, str):
            raise SettingsError(f"begin = {described(begin)}: give the text (str) that every translation begins with.")

    def given_terms(self, speller: Speller) -> list[Term]:
        """The words that every translation must contain."""
        terms = [speller.term((word.strip(),)) for word in self.say]
        if (size := tokens_of(terms)) > MOST_GIVEN:
            raise SettingsError(
                f"The words that every translation must contain have {size:,} tokens; at most {MOST_GIVEN} are allowed."
            )
        return terms


NO_CONSTRAINTS = Constraints()


@dataclass(frozen=True)
class Request:
    """How to translate: the settings, how many hypotheses, and constraints."""

    settings: DecodeSettings
    beam: int | None = None  # None: as in the settings
    n_best: int = 1
    constraints: Constraints = NO_CONSTRAINTS

    def __post_init__(self) -> None:
        constraints: object = self.constraints
        if not isinstance(constraints, Constraints):
            raise SettingsError(
                f'constraints = {described(constraints)}: give gf.Constraints(...), e.g. gf.Constraints(ban="Hund").'
            )
        check_arguments(GenerationSettings, {"n_best": self.n_best})
        if self.beam is not None:
            check_arguments(DecodeSettings, {"beam": self.beam})
        if self.beam is not None and self.beam < self.n_best and not self.constraints.sampling:
            raise SettingsError(f"{self.n_best} translations need a beam at least as wide; got a beam of {self.beam}.")

    @property
    def width(self) -> int:
        """The number of hypotheses that the search follows."""
        if self.constraints.sampling:
            return self.n_best
        return max(self.settings.beam if self.beam is None else self.beam, self.n_best)

    @property
    def words(self) -> str:
        """The kind of search, to show to people."""
        return "greedy" if self.width == 1 else f"beam {self.width}"

    def careful(self) -> Request:
        """The same for a sentence whose translation is wrong: no repeated n-grams, not too short, a wide beam."""
        settings, width = self.settings, max(CAREFUL_BEAM, self.width)
        changed = careful(no_repeat=settings.no_repeat, min_ratio=settings.min_ratio)
        return replace(self, settings=settings.model_copy(update=changed), beam=width, n_best=width)

    @property
    def decoding(self) -> Decoding:
        settings = self.settings
        return Decoding(
            width=self.width,
            n_best=self.n_best,
            sampling=self.constraints.sampling,
            refill=settings.refill,
            ranked=settings.ranked,
            no_repeat=settings.no_repeat,
            repetition_penalty=settings.repetition_penalty,
            ban=self.constraints.ban,
        )

    def widths(self, terms: Sequence[Sequence[Term]]) -> Index:
        """The beam width of each sentence. It depends only on the sentence's own terms, not on others in the batch."""
        wide = [max(self.width, min(WIDEST_FOR_TERMS, CAREFUL_BEAM + tokens_of(own))) for own in terms]
        return np.array([width if own else self.width for width, own in zip(wide, terms, strict=True)])

    def limits(self, batch: Sentences, prefix: int, longest: int | None) -> Index:
        """The most tokens of each translation, including the end mark; terms and a given beginning always fit."""
        limits = (batch.lengths * self.settings.max_ratio + self.settings.max_extra).astype(np.int64)
        needed = np.array([prefix + tokens_of(own) + 1 if own or prefix else 0 for own in batch.terms])
        limits = np.maximum(limits, 2 * needed)
        if longest is None:
            return limits
        if (most := int(needed.max(initial=0))) > longest:
            raise DataError(f"Required words and beginning need {most} tokens; this model has {longest} positions.")
        return np.minimum(limits, longest)

    def min_lengths(self, batch: Sentences) -> Index | None:
        """The fewest tokens of each translation; None: any number."""
        ratio = self.settings.min_ratio
        return np.ceil((batch.lengths - 1) * ratio).astype(np.int64) if ratio > 0 else None

    def batches_of(self, rows: Sequence[Sequence[int]], bound: Sequence[bool] | None = None) -> Iterator[list[int]]:
        """Batches of the indices of rows with text, rows of similar length together, by a budget of tokens.

        Sentences with terms (`bound`) are not mixed with others: their beams are wider.
        """
        bound = [False] * len(rows) if bound is None else bound
        for with_terms in (False, True):
            places = [i for i, row in enumerate(rows) if row and bound[i] == with_terms]
            width = max(self.width, WIDEST_FOR_TERMS) if with_terms else self.width
            lengths = [len(rows[i]) for i in places]
            for index in batches_by_length(lengths, tokens=self.settings.batch_tokens, width=width, extra=1):
                yield [places[i] for i in index]


@dataclass(frozen=True)
class Sentences:
    """Sentences to be translated."""

    texts: Sequence[str]
    rows: Sequence[Sequence[int]]  # their ids
    numbers: Sequence[int]  # their indices among all sentences that are translated
    terms: Sequence[Sequence[Term]]  # the terms that each translation must contain
    masks: Sequence[int] = ()  # how many masks each has; empty: none has any

    @classmethod
    def of_ids(cls, rows: Sequence[Sequence[int]]) -> Sentences:
        """Sentences whose text is unknown, only their ids."""
        return cls([""] * len(rows), rows, range(len(rows)), [()] * len(rows))

    @property
    def lengths(self) -> Index:
        """Including the end mark."""
        return np.array([len(row) + 1 for row in self.rows], dtype=np.int64)

    def some(self, places: Sequence[int]) -> Sentences:
        return Sentences(
            texts=[self.texts[i] for i in places],
            rows=[self.rows[i] for i in places],
            numbers=[self.numbers[i] for i in places],
            terms=[self.terms[i] for i in places],
            masks=[self.masks[i] for i in places] if self.masks else (),
        )


def term_chooser(
    request: Request, batch: Sentences, *, limits: Index, prefix: int, speller: Speller
) -> BestWithTerms | None:
    """The chooser of a batch with terms; None: no sentence has any."""
    if not any(batch.terms):
        return None
    prefixes = np.full(len(batch.rows), prefix)
    return BestWithTerms(request.widths(batch.terms), batch.terms, limits, prefixes, speller.vocabulary)


def mask_rules(batch: Sentences, target: Tokenizer) -> list[Rule]:
    """A translation has only the masks of its source, each once."""
    masks = mask_ids(target)
    return [AtMostOnce(masks, np.array(batch.masks or [0] * len(batch.rows)))] if masks else []
