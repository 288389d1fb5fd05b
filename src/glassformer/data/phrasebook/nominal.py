"""Noun phrases, pronouns, names and prepositional phrases in both languages."""

from __future__ import annotations

from dataclasses import dataclass

from glassformer.data.phrasebook import english, german
from glassformer.data.phrasebook.adjectives import Adjective
from glassformer.data.phrasebook.adverbials import Adverb
from glassformer.data.phrasebook.aligned import Choices, Token, tokens
from glassformer.data.phrasebook.nouns import Noun

_OWNERS = ("mein", "dein", "sein", "unser", "euer", "ihr")
_PERSONS = frozenset(("person", "kin", "royal"))
_ADDRESSES = (1, 4, 5)  # du, ihr, Sie: the persons of the verb


def address(choices: Choices) -> int:
    """How "you" is addressed in this rendering: 0 du, 1 ihr, 2 Sie."""
    return choices.pick("address", 3)


class _Nominal:
    """What can be a subject or an object. Only pronouns have cases in English, only noun phrases take "kein"."""

    __slots__ = ()

    def english(self) -> list[Token]:
        """The English words as an object."""
        raise NotImplementedError

    def english_subject(self) -> list[Token]:
        """The English words as a subject."""
        return self.english()

    def german(self, case: str, choices: Choices) -> list[Token]:
        """The German words in `case`."""
        raise NotImplementedError

    def german_negated(self, case: str, choices: Choices) -> list[Token]:
        """The German words in `case`, with the clause's negation in them if they can take it."""
        return self.german(case, choices)


@dataclass(slots=True)
class Pronoun(_Nominal):
    """A personal pronoun; `person` is 0 to 5 (1 is any "you"), `gender` matters for the third person."""

    key: int
    person: int
    gender: str = "m"
    noun: None = None

    definite = True
    pronominal = True

    def english(self) -> list[Token]:
        """me, her."""
        return [Token(self._third("her") or english.OBJECTS[self.person], (self.key,))]

    def english_subject(self) -> list[Token]:
        """I, she."""
        return [Token(self._third("she") or english.SUBJECTS[self.person], (self.key,))]

    def _third(self, feminine: str) -> str:
        if self.person != 2 or self.gender == "m":
            return ""
        return feminine if self.gender == "f" else "it"

    def german(self, case: str, choices: Choices) -> list[Token]:
        """ich, mich, mir."""
        person = self.german_person(choices)
        text = german.PRONOUNS[case][person]
        if self.person == 2:
            text = german.third_person(self.gender, case)
        elif self.person == 1 and person == 5:
            text = text.capitalize()
        return [Token(text, (self.key,))]

    def english_person(self) -> int:
        """The person that the English verb agrees with."""
        return self.person

    def german_person(self, choices: Choices) -> int:
        """The person that the German verb agrees with."""
        return _ADDRESSES[address(choices)] if self.person == 1 else self.person


@dataclass(slots=True)
class Referring(Pronoun):
    """ "it" or "they" for a noun of the same sentence: German uses that noun's gender."""

    antecedent: NounPhrase | None = None

    def english_subject(self) -> list[Token]:
        """it, they."""
        assert self.antecedent is not None
        return [Token("they" if self.antecedent.plural else "it", (self.key,))]

    def german(self, case: str, choices: Choices) -> list[Token]:
        """er, sie or es, by the gender of the noun."""
        assert self.antecedent is not None
        return [Token(german.third_person(self.antecedent.german_gender(choices), case), (self.key,))]


@dataclass(slots=True)
class Name(_Nominal):
    """A person's name."""

    key: int
    text: str
    gender: str
    noun: None = None

    definite = True
    pronominal = False

    def english(self) -> list[Token]:
        """The name."""
        return [Token(self.text, (self.key,))]

    def german(self, _case: str, _choices: Choices) -> list[Token]:
        """The name, in all cases."""
        return [Token(self.text, (self.key,))]

    def english_person(self) -> int:
        """He or she."""
        return 2

    def german_person(self, _choices: Choices) -> int:
        """Er or sie."""
        return 2


@dataclass(slots=True)
class NounPhrase(_Nominal):
    """Determiner, number, adjective, noun. `key` and the next two numbers are the keys of its words.

    `determiner` is one of the, a, this, no, none, number, many or an owner: "0" (my) to "5" (their), "2f" (her).
    """

    key: int
    noun: Noun
    determiner: str
    plural: bool = False
    adjective: Adjective | None = None
    count: int = 0
    feminine: bool | None = None  # None: English does not say, both are correct

    pronominal = False

    @property
    def definite(self) -> bool:
        """True for the, this, my: known things, which German negates with "nicht"."""
        return self.determiner not in ("a", "none", "number", "no")

    @property
    def gender(self) -> str:
        """The gender of the person for "he" or "she"; "n" where it is unclear, and for animals and things."""
        if (self.noun.feminine and self.feminine is None) or not self.noun.kinds & _PERSONS:
            return "n"
        return "f" if self.feminine else self.noun.gender

    def english_person(self) -> int:
        """The third person, singular or plural."""
        return 5 if self.plural else 2

    def german_person(self, _choices: Choices) -> int:
        """The third person, singular or plural."""
        return 5 if self.plural else 2

    def _german_noun(self, choices: Choices) -> Noun:
        woman = self.noun.feminine
        if woman is None or self.feminine is False:
            return self.noun
        if self.feminine or choices.pick(f"gender {self.key}", 2):
            return woman
        return self.noun

    def german_gender(self, choices: Choices) -> str:
        """m, f, n or p, as the articles need it."""
        return "p" if self.plural else self._german_noun(choices).gender

    def english(self) -> list[Token]:
        """The phrase; it has no cases."""
        key = self.key
        noun = self.noun.plural if self.plural else self.noun.english
        parts = tokens(noun, key)
        if self.adjective:
            parts.insert(0, Token(self.adjective.english, (key + 1,)))
        return self._english_determiner(parts[0].text) + parts

    def _english_determiner(self, following: str) -> list[Token]:
        kind, key = self.determiner, (self.key + 2,)
        if kind == "none":
            return []
        if kind == "number":
            return [Token(word, key) for word in english.cardinal(self.count).split()]
        if kind == "a":
            return [Token(english.article(following), key)]
        if kind == "this":
            return [Token("these" if self.plural else "this", key)]
        if kind[0].isdigit():
            return [Token("her" if kind == "2f" else english.POSSESSIVES[int(kind[0])], key)]
        return tokens(kind, *key)

    def german(self, case: str, choices: Choices) -> list[Token]:
        """The phrase in `case`."""
        return self._declined(case, choices, negated=False)

    def german_negated(self, case: str, choices: Choices) -> list[Token]:
        """The phrase with "kein" for an indefinite article or none."""
        return self._declined(case, choices, negated=True)

    def _declined(self, case: str, choices: Choices, *, negated: bool) -> list[Token]:
        noun = self._german_noun(choices)
        gender = "p" if self.plural else noun.gender
        determiner, pattern = self._german_determiner(gender, case, choices, negated)
        parts = determiner
        if self.adjective:
            text = german.adjective(self.adjective.stem, pattern, gender, case)
            parts.append(Token(text, (self.key + 1,)))
        if self.plural:
            text = german.dative_plural(noun.german_plural) if case == "dat" else noun.german_plural
        else:
            text = noun.german if case == "nom" else noun.oblique
        parts.append(Token(text, (self.key,)))
        return parts

    def _german_determiner(self, gender: str, case: str, choices: Choices, negated: bool) -> tuple[list[Token], str]:
        kind, key = self.determiner, self.key + 2
        if negated and kind in ("a", "none"):
            return [Token(german.ein_word("kein", gender, case), (NEGATION, key))], "mixed"
        if kind == "the":
            return [Token(german.definite(gender, case), (key,))], "weak"
        if kind == "a":
            return [Token(german.ein_word("ein", gender, case), (key,))], "mixed"
        if kind == "no":
            return [Token(german.ein_word("kein", gender, case), (key,))], "mixed"
        if kind == "this":
            return [Token(german.der_word("dies", gender, case), (key,))], "weak"
        if kind == "number":
            return [Token(german.cardinal(self.count), (key,))], "strong"
        if kind == "many":
            return [Token(german.adjective("viel", "strong", gender, case), (key,))], "strong"
        if kind == "none":
            return [], "strong"
        return [Token(german.ein_word(_owner(kind, choices), gender, case), (key,))], "mixed"


NEGATION = -1  # the key of the clause's negation


def _owner(kind: str, choices: Choices) -> str:
    person = int(kind[0])
    if person == 1:
        return ("dein", "euer", "Ihr")[address(choices)]
    return "ihr" if kind == "2f" else _OWNERS[person]


Nominal = Pronoun | Referring | Name | NounPhrase


@dataclass(slots=True)
class Prepositional:
    """A preposition with its noun phrase. The German one fuses with the article where native speakers do so."""

    key: int
    english_preposition: str
    german_prepositions: tuple[str, ...]
    case: str
    inner: Nominal

    def english(self) -> list[Token]:
        """in the garden."""
        return tokens(self.english_preposition, self.key) + self.inner.english()

    def german(self, choices: Choices) -> list[Token]:
        """im Garten."""
        options = self.german_prepositions
        which = choices.pick(f"preposition {self.key}", len(options)) if len(options) > 1 else 0
        preposition = options[which]
        case = "dat" if preposition in ("zu", "mit", "von", "bei", "nach") else self.case
        parts = self.inner.german(case, choices)
        fused = german.CONTRACTIONS.get((preposition, parts[0].text))
        if fused and isinstance(self.inner, NounPhrase):
            return [Token(fused, (self.key, *parts[0].sure)), *parts[1:]]
        return [Token(preposition, (self.key,)), *parts]


def linked(key: int, size: int, target: str) -> list[Token]:
    """The words of `target` with their links to the `size` words of a fixed phrase, as `Fixed` describes them."""
    if ":" in target:
        pairs = [word.partition(":") for word in target.split()]
        return [Token(word, tuple(key + int(digit) - 1 for digit in digits)) for word, _, digits in pairs if word]
    words = target.split()
    if size == len(words):
        return [Token(word, (key + place,)) for place, word in enumerate(words)]
    return [Token(word, tuple(range(key, key + size))) for word in words]


@dataclass(slots=True)
class Fixed:
    """A phrase of fixed wording in both languages: an adverb, "at home", a predicate.

    If both sides have the same number of words, they are linked one to one, otherwise all to all. A German word may
    say which English words it translates: "vor:3 zwei:1 Tagen:2" for "two days ago".
    """

    key: int
    source: str
    target: str
    variants: tuple[str, ...] = ()

    def english(self) -> list[Token]:
        """The English wording."""
        return [Token(word, (self.key + place,)) for place, word in enumerate(self.source.split())]

    def german(self, choices: Choices) -> list[Token]:
        """The German wording."""
        target = self.target
        if self.variants:
            which = choices.pick(f"wording {self.key}", 1 + len(self.variants))
            target = (target, *self.variants)[which]
        return linked(self.key, len(self.source.split()), target)


@dataclass(slots=True)
class PredicateNoun:
    """What somebody or something is: "a good teacher", "friends". The nominative in German."""

    key: int
    inner: NounPhrase

    def english(self) -> list[Token]:
        """a lovely cat"""
        return self.inner.english()

    def german(self, choices: Choices) -> list[Token]:
        """eine liebe Katze"""
        return self.inner.german("nom", choices)


def adverbial(key: int, adverb: Adverb) -> Fixed:
    """An adverb of the lexicon as a phrase."""
    return Fixed(key, adverb.english, adverb.german, adverb.variants)


Phrase = Prepositional | Fixed | PredicateNoun
