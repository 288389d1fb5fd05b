"""A small language to learn in seconds: English clauses with their German translations, for controlled comparisons.

Sixty words, but what makes translation hard is in it: three genders and two cases, verbs that move to the end, a time
that moves over the object, and an "it" whose translation depends on which noun it means, which only its adjective says.
A text is one clause or several with "and" between them, so a text can have any length while its words stay the same.
The word alignment and the role of each English word are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from glassformer.data.phrasebook import Phrase

T = TypeVar("T")
Noun = tuple[str, str, str]  # English, German, gender

AGENTS: tuple[Noun, ...] = (
    ("dog", "Hund", "m"), ("cat", "Katze", "f"), ("horse", "Pferd", "n"), ("fox", "Fuchs", "m"), ("mouse", "Maus", "f"),
    ("sheep", "Schaf", "n"), ("bear", "Bär", "m"), ("cow", "Kuh", "f"), ("pig", "Schwein", "n"),
)  # fmt: skip
THINGS: tuple[Noun, ...] = (
    ("apple", "Apfel", "m"), ("pear", "Birne", "f"), ("bread", "Brot", "n"), ("cake", "Kuchen", "m"),
    ("soup", "Suppe", "f"), ("egg", "Ei", "n"),
)  # fmt: skip
VERBS = (("sees", "sieht"), ("finds", "findet"), ("smells", "riecht"), ("wants", "will"), ("likes", "mag"))
ADJECTIVES = (("old", "alte"), ("small", "kleine"), ("red", "rote"), ("new", "neue"))
TIMES = (("today", "heute"), ("often", "oft"), ("now", "jetzt"))
OF_AGENTS, OF_THINGS = (("hungry", "hungrig"), ("tired", "müde")), (("tasty", "lecker"), ("fresh", "frisch"))
NOMINATIVE, ACCUSATIVE = {"m": "der", "f": "die", "n": "das"}, {"m": "den", "f": "die", "n": "das"}
PRONOUNS = {"m": "er", "f": "sie", "n": "es"}
SUBJECT, OBJECT, OTHER = "subject", "object", "other"  # what a word is, or for "it", what it means


@dataclass(frozen=True)
class SmallText:
    """A text with its translation, and what each English word is."""

    phrase: Phrase
    roles: tuple[str, ...]  # of nouns and "it"; OTHER for all other words

    @property
    def words(self) -> list[str]:
        return self.phrase.source.split()


@dataclass
class Draft:
    """A text in the making. German words name the English words that they translate."""

    random: Random
    english: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    german: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    def one(self, options: Sequence[T]) -> T:
        return options[int(self.random.random() * len(options))]

    def say(self, word: str, role: str = OTHER) -> int:
        """Adds an English word; returns its place."""
        self.english.append(word)
        self.roles.append(role)
        return len(self.english) - 1

    def noun(self, noun: Noun, role: str) -> list[tuple[str, tuple[int, ...]]]:
        """Says a noun with its article and sometimes an adjective; returns the German words."""
        articles, ending = (NOMINATIVE, "") if role == SUBJECT else (ACCUSATIVE, "n" if noun[2] == "m" else "")
        german = [(articles[noun[2]], (self.say("the"),))]
        if self.random.random() < 0.3:
            adjective = self.one(ADJECTIVES)
            german.append((adjective[1] + ending, (self.say(adjective[0]),)))
        return [*german, (noun[1], (self.say(noun[0], role),))]

    def clause(self) -> None:
        subject, verb = self.one(AGENTS), self.one(VERBS)
        of_thing = self.random.random() < 0.6
        object_ = self.one(THINGS) if of_thing else self.one([one for one in AGENTS if one != subject])
        self.german += self.noun(subject, SUBJECT)
        self.german.append((verb[1], (self.say(verb[0]),)))
        seen = self.noun(object_, OBJECT)
        if self.random.random() < 0.4:
            time = self.one(TIMES)
            self.german.append((time[1], (self.say(time[0]),)))
        self.german += seen
        if of_thing and self.random.random() < 0.5:
            self.reason(subject, object_)

    def reason(self, subject: Noun, object_: Noun) -> None:
        """`because it is tasty`: the adjective says what "it" means, and its gender decides the pronoun."""
        role = self.one((SUBJECT, OBJECT))
        adjective = self.one(OF_AGENTS if role == SUBJECT else OF_THINGS)
        because, it, is_ = self.say("because"), self.say("it", role), self.say("is")
        place = self.say(adjective[0])
        pronoun = PRONOUNS[(subject if role == SUBJECT else object_)[2]]
        self.german += [("weil", (because,)), (pronoun, (it,)), (adjective[1], (place,)), ("ist", (is_,))]


def small_text(random: Random, clauses: int) -> SmallText:
    draft = Draft(random)
    for number in range(clauses):
        if number:
            draft.german.append(("und", (draft.say("and"),)))
        draft.clause()
    links = frozenset((source, target) for target, (_, sources) in enumerate(draft.german) for source in sources)
    german = " ".join(word for word, _ in draft.german)
    phrase = Phrase(" ".join(draft.english), (german,), links, links, f"{clauses} clauses", ())
    return SmallText(phrase, tuple(draft.roles))


def small_texts(
    count: int, *, clauses: tuple[int, int], seed: int, without: Sequence[SmallText] = ()
) -> list[SmallText]:
    """Different texts with at least `clauses[0]` and at most `clauses[1]` clauses, none of them in `without`."""
    random, seen, found = Random(seed), {one.phrase.source for one in without}, list[SmallText]()
    while len(found) < count:
        text = small_text(random, random.randint(*clauses))
        if text.phrase.source not in seen:
            seen.add(text.phrase.source)
            found.append(text)
    return found
