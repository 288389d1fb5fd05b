"""Random parts of sentences that make sense: noun phrases that fit, events with their adverbials."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from glassformer.data.phrasebook.adjectives import FITTING
from glassformer.data.phrasebook.adverbials import FREQUENCIES, HABITS, MEN, PLACES, TIMES, TOWNS, WOMEN, Adverb
from glassformer.data.phrasebook.clause import PREPOSITION, Clause
from glassformer.data.phrasebook.nominal import (
    Fixed,
    Name,
    Nominal,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    adverbial,
)
from glassformer.data.phrasebook.nouns import NOUNS, Noun
from glassformer.data.phrasebook.verbs import COMMON_VERBS, Modal, Verb

T = TypeVar("T")
_OWNERS = ("0", "1", "2", "2f", "3", "5")
_ACTIVITY_PLACES = {
    "work": ("office", "hospital", "library", "garden", "bank", "school", "hotel", "museum"),
    "sleep": ("bedroom", "room", "hotel"),
    "dance": ("kitchen", "park", "restaurant", "garden"),
    "swim": ("lake", "river"),
    "read": ("garden", "park", "library", "bedroom"),
    "eat": ("kitchen", "garden", "park", "restaurant"),
    "play": ("garden", "park"),
    "meet": ("park", "museum", "station", "restaurant", "library", "theatre"),
    "buy": ("city", "shop", "market"),
    "wait for": ("station", "airport", "restaurant", "park"),
    "talk to": ("garden", "kitchen", "office"),
}
_FAR = ("last week", "last year", "three weeks ago", "next week", "next year", "at the weekend")
_TIMES = {time: tuple(a for a in TIMES if time in a.times) for time in ("past", "now", "future")}
_TIMES["negated"] = tuple(a for a in _TIMES["future"] if a.english != "soon")
_NEAR_TIMES = {time: tuple(a for a in adverbs if a.english not in _FAR) for time, adverbs in _TIMES.items()}
_KNOWN = frozenset((
    "switched", "opened", "locked", "room", "crossed", "topic", "thought", "event", "public", "rented", "paid",
    "transport",
))  # fmt: skip
_MANY = frozenset((
    "food", "text", "clothes", "toy", "animal", "told", "music", "played", "tableware", "plant", "sent", "image",
))  # fmt: skip
_OWNABLE = frozenset((
    "clothes", "portable", "tableware", "vehicle", "pet", "text", "furniture", "device", "home",
    "gift", "image", "room", "toy", "wealth", "thought", "event",
))  # fmt: skip
_PARTICULAR = ("understand", "forget", "use", "know", "learn", "try on", "put on", "take off")  # a particular thing
_UNQUALIFIED = ("wash", "clean", "tidy up")  # "wash the clean dress"
_BY_FRAME: dict[str, list[Verb]] = {}
for _verb in COMMON_VERBS:
    _BY_FRAME.setdefault(_verb.frame, []).append(_verb)


class Draw:
    """A sentence under construction: its random numbers, the keys given out, the lemmas and pairs used."""

    def __init__(self, random: Random) -> None:
        self._next = random.random
        self._key = 0
        self.lemmas: list[str] = []
        self.pairs: list[tuple[str, str]] = []
        self.nouns: set[str] = set()

    def key(self) -> int:
        """Ten fresh keys; the first is returned."""
        self._key += 10
        return self._key

    def one(self, options: Sequence[T]) -> T:
        """One of `options`, all equally likely."""
        return options[int(self._next() * len(options))]

    def chance(self, probability: float) -> bool:
        """True with `probability`."""
        return self._next() < probability

    def number(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self._next() * (high - low + 1))

    # ------------------------------------------------------------ noun phrases

    def fresh(self, options: Sequence[Noun]) -> Noun:
        """A noun that this sentence does not have yet, if there is one."""
        noun = self.one(options)
        for _ in range(5):
            if noun.english not in self.nouns:
                break
            noun = self.one(options)
        self.nouns.add(noun.english)
        self.lemmas.append(noun.english)
        return noun

    def subject(self, options: Sequence[Noun], *, person: bool = True) -> Nominal:
        """Who does it: a pronoun, a name or a noun phrase out of `options`."""
        if person and NOUNS["man"] in options:
            if self.chance(0.45):
                return self.pronoun((0, 1, 2, 2, 3, 5))
            if self.chance(0.25):
                return self.name()
        return self.noun_phrase(self.fresh(options), None, agent=True)

    def pronoun(self, persons: Sequence[int]) -> Pronoun:
        """A pronoun of one of `persons`; the third singular is "he" or "she"."""
        return Pronoun(self.key(), self.one(persons), "f" if self.chance(0.5) else "m")

    def name(self) -> Name:
        """A first name."""
        woman = self.chance(0.5)
        text = self.one(WOMEN if woman else MEN)
        while text in self.lemmas:
            text = self.one(WOMEN if woman else MEN)
        self.lemmas.append(text)
        return Name(self.key(), text, "f" if woman else "m")

    def noun_phrase(self, noun: Noun, owner: Nominal | None, *, agent: bool = False, plain: bool = False) -> NounPhrase:
        """A noun with a determiner and, unless `plain`, sometimes an adjective; `owner` may possess it."""
        determiner, plural, count = self._determiner(noun, owner, agent)
        phrase = NounPhrase(self.key(), noun, determiner, plural, count=count)
        fitting = FITTING[noun.english]
        if fitting and not plain and "kin" not in noun.kinds and self.chance(0.25):
            adjective = self.one(fitting)
            if adjective.english != "ill":  # never comes before its noun
                phrase.adjective = adjective
                self.lemmas.append(adjective.english)
        return phrase

    def _determiner(self, noun: Noun, owner: Nominal | None, agent: bool) -> tuple[str, bool, int]:
        if "kin" in noun.kinds:
            return self._owner(owner), "single" not in noun.kinds and self.chance(0.15), 0
        if "owned" in noun.kinds:
            return self._owner(owner), self.chance(0.2), 0
        if "royal" in noun.kinds:
            return "the", False, 0
        if noun.mass:
            return ("none" if self.chance(0.6) and not agent else "the"), False, 0
        if agent:
            return self.one(_AGENT_DETERMINERS)
        determiner, plural, count = self.one(_OBJECT_DETERMINERS)
        if determiner in ("none", "number") and not noun.kinds & _MANY:
            determiner, plural, count = "the", False, 0
        elif determiner == "a" and noun.kinds & _KNOWN:
            determiner = "the"
        elif determiner == "owner":
            determiner = self._own(owner) if noun.kinds & _OWNABLE else "the"
        return determiner, plural and "transport" not in noun.kinds, self.number(2, 9) if count else 0

    def _owner(self, owner: Nominal | None) -> str:
        """Whose relative it is: usually the subject's, if it is clear who that is."""
        own = self._own(owner)
        return self.one(_OWNERS) if own == "the" or self.chance(0.2) else own

    def _own(self, owner: Nominal | None) -> str:
        """The subject's own, or "the" if it is not clear whether that is his, her or its."""
        if isinstance(owner, Pronoun):
            return "2f" if owner.person == 2 and owner.gender == "f" else str(owner.person)
        if owner is None:
            return "the"
        if owner.english_person() == 5:
            return "5"
        return {"m": "2", "f": "2f"}.get(owner.gender, "the")

    def generic(self, clause: Clause) -> None:
        """Make the object generic, as in habits: apples, milk."""
        part = clause.accusative
        if isinstance(part, NounPhrase) and not part.noun.kinds & (_KNOWN | {"kin", "owned", "royal", "person"}):
            part.determiner, part.plural, part.count = "none", not part.noun.mass, 0

    def object(self, verb: Verb, subject: Nominal, options: Sequence[Noun] | None = None) -> Nominal:
        """An object that fits `verb`; people may be pronouns or names."""
        noun = self.one(options or verb.objects)
        if noun.kinds & _HUMAN and not noun.kinds & {"infant", "royal"}:
            if self.chance(0.3):
                return self.pronoun(_OTHERS[subject.person if isinstance(subject, Pronoun) else 2])
            if self.chance(0.12):
                return self.name()
        noun = self.fresh(options or verb.objects)
        self.pairs.append((verb.name, noun.english))
        owner = subject if verb.name != "steal" else None
        phrase = self.noun_phrase(noun, owner, plain=verb.name in _UNQUALIFIED)
        if phrase.determiner in ("none", "number") and verb.name in _PARTICULAR and not noun.mass:
            phrase.determiner = "the"
        return phrase

    def forget_pairs(self) -> None:
        """Discard the objects drawn so far: the sentence will not have them."""
        gone = {noun for _, noun in self.pairs}
        self.lemmas = [lemma for lemma in self.lemmas if lemma not in gone]
        self.pairs = []

    # ------------------------------------------------------------ adverbials

    def adverb(self, options: Sequence[Adverb]) -> Fixed:
        """One of the adverbs of the lexicon."""
        adverb = self.one(options)
        self.lemmas.append(adverb.english)
        return adverbial(self.key(), adverb)

    def time(self, when: str, verb: Verb) -> Fixed | None:
        """An adverbial of time for past, now or future that fits `verb`, if there is one."""
        if when in ("future", "negated") and "sudden" in verb.flags:
            return None
        return self.adverb((_TIMES if "far" in verb.flags else _NEAR_TIMES)[when])

    def place(self, noun: Noun, *, goal: bool = False) -> Prepositional:
        """A place (dative) or a goal (accusative, or "zu" with the dative), as native speakers say it."""
        where, german_where, goes, german_goes = PLACES[noun.english]
        phrase = NounPhrase(self.key(), noun, "the")
        if not goal and noun.english in ("hotel", "restaurant", "village") and self.chance(0.4):
            phrase.determiner = "a"
        if goal:
            return Prepositional(self.key(), goes, tuple(german_goes.split()), "acc", phrase)
        return Prepositional(self.key(), where, (german_where,), "dat", phrase)

    def _water(self, noun: Noun) -> Prepositional:
        """People sit at the lake but swim in it."""
        return Prepositional(self.key(), "in", ("in",), "dat", NounPhrase(self.key(), noun, "the"))

    # ------------------------------------------------------------ events

    def verb(self, frames: Sequence[str] = ()) -> Verb:
        """A verb, of one of the `frames` if given."""
        return self.one(_BY_FRAME[self.one(frames)] if frames else COMMON_VERBS)

    def lasting_verb(self, frames: Sequence[str] = ()) -> Verb:
        """A verb for the present tense: not one that is over in an instant."""
        verb = self.verb(frames)
        while "point" in verb.flags:
            verb = self.verb(frames)
        return verb

    def planned_verb(self, frames: Sequence[str] = ()) -> Verb:
        """A verb for what people can intend: nobody plans to lose a key."""
        verb = self.verb(frames)
        while verb.flags & {"timeless", "mishap", "point", "sudden", "happens"}:
            verb = self.verb(frames)
        return verb

    def event(
        self, verb: Verb, tense: str, *, subject: Nominal | None = None, modal: Modal | None = None, bare: bool = False
    ) -> Clause:
        """A clause about `verb` in present, past, perfect or future; `bare` leaves adverbials out.

        Future is the English -ing form with an adverbial of time; it is the present in German.
        """
        self.lemmas.append(verb.name)
        if modal:
            self.lemmas.append(modal.name)
        subject = subject or self.subject(verb.subjects)
        clause = Clause(subject, verb, tense, modal, contracted=self.chance(0.3))
        self._fill(clause)
        if tense == "present" and not modal:
            self._present(clause, bare)
        elif not bare and "timeless" not in verb.flags and self.chance(0.45):
            clause.time = self.time("past" if tense == "past" else "future", verb)
        if not bare and clause.frequency is None and verb.name in _ACTIVITY_PLACES and self.chance(0.4):
            noun = self.fresh([NOUNS[name] for name in _ACTIVITY_PLACES[verb.name]])
            self.pairs.append((verb.name, noun.english))
            clause.place = self.place(noun) if verb.name != "swim" else self._water(noun)
        return clause

    def _present(self, clause: Clause, bare: bool) -> None:
        """English distinguishes what is happening now (-ing) from what is usual; German does not."""
        flags = clause.verb.flags
        if flags & {"timeless", "state"}:
            return
        if not bare and self.chance(0.35):
            self._habit(clause)
            return
        clause.tense = "progressive"
        if not bare and self.chance(0.45):
            now = self.chance(0.4) and "stay" not in flags
            clause.time = self.time("now" if now else "future", clause.verb)

    def _habit(self, clause: Clause) -> None:
        """Something that happens often or every day, with a generic object."""
        if self.chance(0.7) or clause.verb.frame == "place":
            clause.frequency = self.adverb(FREQUENCIES)
        else:
            clause.time = self.adverb(HABITS if "far" in clause.verb.flags else HABITS[:4])
        self.generic(clause)

    def _fill(self, clause: Clause) -> None:
        """Add the objects and complements that the verb governs."""
        verb, subject = clause.verb, clause.subject
        if verb.frame == "acc":
            clause.accusative = self.object(verb, subject)
        elif verb.frame == "dat":
            clause.dative = self.object(verb, subject)
        elif verb.frame in ("double", "to"):
            clause.dative = self.object(verb, subject, _RECEIVERS)
            clause.accusative = self.object(verb, subject)
        elif verb.frame == "prepositional":
            inner = self.object(verb, subject)
            clause.complement = Prepositional(PREPOSITION, "", (verb.preposition,), verb.case, inner)
        elif verb.frame in ("place", "goal"):
            clause.complement = self.where(verb)

    def where(self, verb: Verb) -> Phrase:
        """The place or goal that a verb needs."""
        if verb.name in ("travel", "live") and self.chance(0.4):
            return self._town(verb)
        if verb.name in ("go", "stay") and self.chance(0.15):
            key = self.key()
            self.lemmas.append("home")
            self.pairs.append((verb.name, "home"))
            return Fixed(key, "home", "nach Hause") if verb.name == "go" else Fixed(key, "at home", "zu Hause")
        noun = self.fresh(verb.objects)
        self.pairs.append((verb.name, noun.english))
        return self.place(noun, goal=verb.frame == "goal")

    def _town(self, verb: Verb) -> Fixed:
        """to Vienna / nach Wien, in Vienna / in Wien"""
        english, german = self.one(tuple(TOWNS.items()))
        self.lemmas.append(english)
        self.pairs.append((verb.name, english))
        source, target = ("to", "nach") if verb.frame == "goal" else ("in", "in")
        return Fixed(self.key(), f"{source} {english}", f"{target} {german}")


_HUMAN = frozenset(("person", "kin"))
_RECEIVERS = tuple(noun for noun in NOUNS.values() if noun.kinds & _HUMAN)
# The persons that a subject of each person may act on: not I on me or us, not you on you.
_OTHERS = ((1, 2, 2, 5), (0, 2, 2, 3, 5), (0, 1, 2, 3, 5), (1, 2, 2, 5), (0, 2, 2, 3, 5), (0, 1, 2, 3))
_AGENT_DETERMINERS = (("the", False, 0),) * 9 + (("the", True, 0),) * 3 + (("this", False, 0), ("a", False, 0))
_OBJECT_DETERMINERS = (
    (("a", False, 0),) * 6
    + (("the", False, 0),) * 6
    + (("owner", False, 0),) * 3
    + (("the", True, 0),) * 2
    + (("none", True, 0), ("this", False, 0), ("this", True, 0), ("number", True, 1))
)
