"""What is held out, and how the three parts are drawn.

The split holds out combinations, not sentences: pairs of a verb and its object ("repair", "radio") and pairs of a
construction and a lemma ("weil-clause", "repair"). Whether a combination is held out is a function of its letters
alone. Training sentences contain none of them. Each validation or test sentence contains at least one, while its
construction, its lemmas and every word form on both sides occur at least `MINIMUM` times in training: only the
combination is new.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from random import Random
from typing import TypeVar

from glassformer.data.phrasebook import constructions as simple
from glassformer.data.phrasebook import facts, greetings, sentences, situations
from glassformer.data.phrasebook.aligned import words
from glassformer.data.phrasebook.documents import DOCUMENT_PAIRS, DOCUMENT_SENTENCES
from glassformer.data.phrasebook.equivalents import with_contractions, with_ways, without_contractions
from glassformer.data.phrasebook.language import Language, language_named
from glassformer.data.phrasebook.meaning import MissingWord
from glassformer.data.phrasebook.nouns import NOUNS
from glassformer.data.phrasebook.phrase import Draft, Phrase
from glassformer.data.phrasebook.sampling import Draw
from glassformer.data.phrasebook.verbs import VERBS
from glassformer.errors import DataError

T = TypeVar("T")
Combination = tuple[str, str, str]
Progress = Callable[[int, int], None]  # phrases drawn so far, and in total
MINIMUM = 20  # how often each part of a test sentence occurs in training
_PAIR_RATE, _LEMMA_RATE = 80, 30  # per thousand
_FEW = 4  # verbs with fewer objects than this keep all of them in training

# Construction: how to draw one, and its weight in the mixture.
_GRAMMAR: dict[str, tuple[Callable[[Draw, str], Draft], int]] = {
    "present": (simple.present, 7),
    "perfect": (simple.perfect, 8),
    "present-perfect": (simple.present_perfect, 3),
    "dative-verb": (simple.framed("dat"), 3),
    "ditransitive": (simple.framed("double", "to"), 4),
    "prepositional": (simple.framed("prepositional"), 3),
    "direction": (simple.framed("goal"), 3),
    "location": (simple.framed("place"), 2),
    "modal": (simple.modal, 5),
    "modal-past": (simple.modal_past, 3),
    "future": (simple.future, 3),
    "fronted": (simple.fronted, 4),
    "nicht": (simple.negation(False), 4),
    "kein": (simple.negation(True), 3),
    "modal-negation": (simple.modal_negation, 3),
    "question": (simple.question, 5),
    "modal-question": (simple.modal_question, 3),
    "who-question": (simple.subject_question, 2),
    "what-question": (simple.what_question, 1),
    "which-question": (simple.noun_question, 2),
    "whom-question": (simple.whom_question, 1),
    "wem-question": (simple.dative_question, 1),
    "why-question": (simple.adverbial_question("why", "warum"), 2),
    "when-question": (simple.adverbial_question("when", "wann"), 2),
    "wo-question": (simple.adverbial_question("where", "wo"), 1),
    "where-question": (simple.where_question, 1),
    "imperative": (simple.imperative, 3),
    "gern": (simple.gern, 2),
    "weil-clause": (sentences.because, 5),
    "obwohl-clause": (sentences.although, 3),
    "aber-clause": (sentences.but, 2),
    "if-clause": (sentences.condition, 3),
    "when-clause": (sentences.whenever, 2),
    "als-clause": (sentences.childhood, 2),
    "dass-clause": (sentences.that, 5),
    "ob-clause": (sentences.whether, 3),
    "indirect-question": (sentences.indirect, 3),
    "it-clause": (sentences.pronoun_reason, 4),
    "predicate": (facts.predicate, 4),
    "predicate-question": (facts.predicate_question, 2),
    "comparison": (facts.comparison, 3),
    "profession": (facts.profession, 1),
    "existence": (facts.existence, 2),
    "position": (facts.position, 3),
    "placement": (facts.placement, 3),
    "possession": (facts.possession, 3),
    "belonging": (facts.belonging, 2),
    "gefallen": (facts.liking, 2),
    "price": (facts.price, 3),
    "age": (facts.age, 2),
    "clock-time": (facts.clock_time, 3),
    "date": (facts.date, 3),
    "predicate-noun": (situations.predicate_noun, 3),
    "fondness": (situations.fondness, 4),
    "instrument": (situations.instrument, 2),
    "tasting": (situations.tasting, 3),
    "whereabouts": (situations.whereabouts, 3),
    "greeting": (greetings.greeting, 6),
}
CONSTRUCTIONS: tuple[str, ...] = tuple(_GRAMMAR)
_MIXTURE = tuple(name for name, (_, weight) in _GRAMMAR.items() for _ in range(weight))
_OBJECTS: dict[str, set[str]] = {}
for _entry in VERBS.values():
    _OBJECTS.setdefault(_entry.name, set()).update(noun.english for noun in _entry.objects)
# Lemmas that make a construction what it is ("know" in "I do not know whether") cannot be held out from it.
_ESSENTIAL = frozenset(
    [
        "be",
        "have",
        "know",
        "like",
        "love",
        "cost",
        "belong to",
        "taste of",
        "put",
        "lie",
        "stand",
        "time",
        "money",
        "rain",
        "snow",
    ]
)
# If a noun decides the German verb (to put a glass is "stellen", a book "legen"), each must be in training.
_LEXICAL = frozenset(["placement", "put"])
_CONTENT = (frozenset(NOUNS) | {verb.name for verb in VERBS.values()}) - _ESSENTIAL
_DOCUMENT_LEMMAS = frozenset((phrase.construction, lemma) for phrase in DOCUMENT_SENTENCES for lemma in phrase.lemmas)


@dataclass(frozen=True, slots=True)
class Phrasebook:
    """The three parts; no English sentence is in two of them."""

    train: list[Phrase]
    valid: list[Phrase]
    test: list[Phrase]


def combinations(construction: str, lemmas: Iterable[str], pairs: Iterable[tuple[str, str]]) -> Iterator[Combination]:
    """What the split looks at: verb with object, construction with lemma."""
    for verb, noun in pairs:
        yield "pair", verb, noun
    for lemma in lemmas:
        if lemma in _CONTENT:
            yield "lemma", construction, lemma


def held_out(combination: Combination) -> bool:
    """True if this combination never occurs in training; depends only on its letters."""
    kind, first, second = combination
    if kind == "pair":
        if first in _LEXICAL or len(_OBJECTS.get(first, ())) < _FEW or (first, second) in DOCUMENT_PAIRS:
            return False
    elif first in _LEXICAL or (first, second) in _DOCUMENT_LEMMAS:
        return False
    share = zlib.crc32("|".join(combination).encode()) % 1000
    return share < (_PAIR_RATE if kind == "pair" else _LEMMA_RATE)


def draft_of(construction: str, random: Random) -> Draft:
    """One draft of a construction."""
    return _GRAMMAR[construction][0](Draw(random), construction)


def drafts(random: Random) -> Iterator[Draft]:
    """An endless stream of drafts from the mixture of constructions."""
    while True:
        name = _MIXTURE[int(random.random() * len(_MIXTURE))]
        yield draft_of(name, random)


def phrasebook(
    *,
    source: str = "en",
    target: str = "de",
    train: int = 60_000,
    valid: int = 500,
    test: int = 1_000,
    seed: int = 1,
    progress: Progress | None = None,
) -> Phrasebook:
    """Draw a phrasebook; the same languages, sizes and seed give the same one.

    One of `source` and `target` is en, the other one de, it or hi. The training part begins with the sentences of the
    documents, as many as fit. `progress` is called with the number of phrases drawn so far and the total.
    """
    make = Maker.of(source, target)
    for name, size in (("train", train), ("valid", valid), ("test", test)):
        if size < 0:
            raise DataError(f"The phrasebook cannot have {name}={size} phrases. Give a number of 0 or more.")
    total = train + valid + test
    random = Random(seed)
    documents = make.documents()
    known = documents[:train]
    seen = {phrase.source for phrase in documents}
    held: dict[Combination, bool] = {}
    report = None if progress is None else partial(_report, progress, seen, total)

    def learnable(draft: Draft) -> Phrase | None:
        return None if _is_new(draft, held) else make(draft, seen)

    learned = known + _distinct(random, train - len(known), seen, learnable, report)
    parts, forms = _frequent(_parts(phrase) for phrase in learned), _frequent(_forms(phrase) for phrase in learned)

    def testable(draft: Draft) -> Phrase | None:
        if not _is_new(draft, held) or not parts.issuperset((draft.construction, *draft.lemmas)):
            return None
        phrase = make(draft, seen)
        return phrase if phrase and forms.issuperset(_forms(phrase)) else None

    fresh = _distinct(random, valid + test, seen, testable, report)
    return Phrasebook(learned, fresh[:valid], fresh[valid:])


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes phrases of drafts, from one language into another."""

    language: Language | None  # None: German
    into_english: bool

    @classmethod
    def of(cls, source: str, target: str) -> Maker:
        """The maker for two languages, one of which is English."""
        if (source == "en") == (target == "en"):
            raise DataError(f"The phrasebook has English on one side; got {source!r} and {target!r}.")
        return cls(language_named(source if target == "en" else target), target == "en")

    def __call__(self, draft: Draft, seen: set[str]) -> Phrase | None:
        """The phrase, or None if its source has been seen or the language cannot say it."""
        if not self.into_english and draft.source in seen:
            return None
        try:
            phrase = draft.phrase(self.language, into_english=self.into_english)
        except MissingWord:
            return None
        return None if phrase.source in seen else phrase

    def documents(self) -> list[Phrase]:
        """The documents' sentences in this direction."""
        phrases = DOCUMENT_SENTENCES if self.language is None else self.language.DOCUMENT_SENTENCES
        return [turned(phrase) for phrase in phrases] if self.into_english else list(phrases)


def document_sentences(*, source: str = "en", target: str = "de") -> list[Phrase]:
    """The sentences of the documents in two languages, one of which is English."""
    return Maker.of(source, target).documents()


def turned(phrase: Phrase) -> Phrase:
    """The phrase in the other direction: its first reference is the source."""
    sure, possible = (frozenset((j, i) for i, j in links) for links in (phrase.sure, phrase.possible))
    wordings = with_contractions(with_ways([phrase.source, without_contractions(phrase.source)]))
    references = tuple(dict.fromkeys(wordings))
    return replace(phrase, source=phrase.references[0], references=references, sure=sure, possible=possible)


def _is_new(draft: Draft, held: dict[Combination, bool]) -> bool:
    for combination in combinations(draft.construction, draft.lemmas, draft.pairs):
        if combination not in held:
            held[combination] = held_out(combination)
        if held[combination]:
            return True
    return False


def _parts(phrase: Phrase) -> Iterable[str]:
    return (phrase.construction, *phrase.lemmas)


def _forms(phrase: Phrase) -> Iterable[tuple[str, str]]:
    """The word forms of both sides, as a model sees them: capitals count."""
    yield from (("source", word) for word in words(phrase.source))
    yield from (("target", word) for word in words(phrase.references[0]))


def _frequent(parts: Iterable[Iterable[T]]) -> set[T]:
    counts = Counter(chain.from_iterable(parts))
    return {part for part, count in counts.items() if count >= MINIMUM}


def _distinct(
    random: Random,
    size: int,
    seen: set[str],
    accept: Callable[[Draft], Phrase | None],
    report: Callable[[], None] | None,
) -> list[Phrase]:
    """Draw `size` phrases that `accept` makes of drafts, with new source sentences; adds those to `seen`."""
    found: list[Phrase] = []
    limit = 60 * size + 20_000
    for tries, draft in enumerate(drafts(random)):
        if len(found) >= size:
            break
        if tries >= limit:
            raise DataError(_too_few(size, len(found)))
        if phrase := accept(draft):
            seen.add(phrase.source)
            found.append(phrase)
            if report is not None and len(found) % 500 == 0:
                report()
    return found


def _report(progress: Progress, seen: set[str], total: int) -> None:
    progress(min(len(seen), total), total)


def _too_few(size: int, found: int) -> str:
    return (
        f"The phrasebook found only {found:,} of {size:,} phrases that keep its promises (new sentences; each word and "
        f"construction of a test sentence at least {MINIMUM} times in training). Ask for fewer phrases, or for a "
        "larger training part."
    )
