"""Hindi noun phrases and pronouns: direct and oblique forms, postpositions, possessives, agreement."""

from __future__ import annotations

from typing import NamedTuple

from glassformer.data.phrasebook.aligned import Choices, Keys, Token
from glassformer.data.phrasebook.hindi import morphology
from glassformer.data.phrasebook.hindi.expressions import NAMES, ON, SPOTS
from glassformer.data.phrasebook.hindi.nouns import ADJECTIVES, LIVING_OLD, NOUNS, HindiNoun
from glassformer.data.phrasebook.meaning import MissingWord
from glassformer.data.phrasebook.nominal import Name, Nominal, NounPhrase, Prepositional, Pronoun, Referring

HUMAN = frozenset(("person", "kin", "royal", "infant", "scholar", "job", "owned"))
_LIVING = HUMAN | {"animal"}
_PERSONS = (0, 4, 2, 3, 1, 5)  # I, you (आप), he, we, -, they


class Agreement(NamedTuple):
    """What a verb or an adjective agrees with. `person` numbers the Hindi pronouns."""

    person: int
    gender: str
    plural: bool


def familiar(choices: Choices) -> bool:
    """True for तुम: to people called by their first name and to children; without a name it is the other choice."""
    called = choices.made("address")
    return called < 2 if called is not None else choices.pick("familiar", 2) == 1


def pronoun_person(one: Pronoun, choices: Choices) -> int:
    """The Hindi person: "you" is आप or तुम."""
    return 1 if one.person == 1 and familiar(choices) else _PERSONS[one.person]


def agreement(nominal: Nominal, choices: Choices) -> Agreement:
    """Person, gender and number. I, we and you may be women: that is the other choice."""
    if isinstance(nominal, Referring):
        assert nominal.antecedent is not None
        return agreement(nominal.antecedent, choices)
    if isinstance(nominal, NounPhrase):
        noun = noun_of(nominal, choices)
        plural = nominal.plural or noun.honoured
        return Agreement(5 if plural else 2, noun.gender, plural)
    if isinstance(nominal, Name):
        return Agreement(2, nominal.gender, False)
    person = pronoun_person(nominal, choices)
    if nominal.person in (0, 1, 3):
        return Agreement(person, "mf"[choices.pick(f"woman {nominal.person}", 2)], person != 0)
    return Agreement(person, "f" if nominal.person == 2 and nominal.gender == "f" else "m", person == 5)


def noun_of(phrase: NounPhrase, choices: Choices) -> HindiNoun:
    """The noun, of the right gender where English does not distinguish men and women."""
    if phrase.noun.english not in NOUNS:
        raise MissingWord(phrase.noun.english)
    man, woman = NOUNS[phrase.noun.english]
    if woman is None or phrase.feminine is False:
        return man
    if phrase.feminine or choices.pick(f"gender {phrase.key}", 2):
        return woman
    return man


def phrase_tokens(
    phrase: NounPhrase, choices: Choices, *, after: tuple[str, Keys] | None = None, owner: Nominal | None = None
) -> list[Token]:
    """A noun phrase, with a postposition and its keys. What belongs to `owner`, the subject, is अपना."""
    noun, key, oblique = noun_of(phrase, choices), phrase.key, after is not None
    plural = phrase.plural
    words = [Token(word, (key,)) for word in noun.form(plural=plural, oblique=oblique).split()]
    honoured = plural or noun.honoured
    if phrase.adjective is not None:
        text = attribute(phrase.adjective.english, phrase)
        text = " ".join(morphology.agreeing(word, noun.gender, honoured, oblique=oblique) for word in text.split())
        words = [*(Token(word, (key + 1,)) for word in text.split()), *words]
    words = _determiner(phrase, noun, choices, owner, oblique) + words
    return words + (_following(after[0], after[1], key) if after else [])


def _following(word: str, keys: Keys, key: int) -> list[Token]:
    """A postposition; one that English has no word for may be linked to its noun."""
    return [Token(part, keys, () if keys else (key,)) for part in word.split()]


def attribute(name: str, phrase: NounPhrase) -> str:
    """The adjective for a thing: old people are बूढ़ा, old things पुराना."""
    if name not in ADJECTIVES:
        raise MissingWord(name)
    return LIVING_OLD if name == "old" and phrase.noun.kinds & _LIVING else ADJECTIVES[name]


def _determiner(
    phrase: NounPhrase, noun: HindiNoun, choices: Choices, owner: Nominal | None, oblique: bool
) -> list[Token]:
    kind, key = phrase.determiner, phrase.key + 2
    if kind in ("the", "none"):
        return []
    if kind == "a":
        return [Token("एक", (key,))]
    if kind == "no":
        return [Token("किसी" if oblique else "कोई", (key,))]
    if kind == "this":
        form = ("इन" if phrase.plural else "इस") if oblique else "ये" if phrase.plural or noun.honoured else "यह"
        return [Token(form, (key,))]
    if kind == "number":
        return [Token(morphology.NUMBERS[phrase.count], (key,))]
    if kind == "many":
        return [Token("बहुत", (key,)), Token(morphology.agreeing("सा", noun.gender, True, oblique=oblique), (key,))]
    stem = _possessive(kind, choices, owner)
    honoured = phrase.plural or noun.honoured
    return [Token(morphology.agreeing(stem, noun.gender, honoured, oblique=oblique), (key,))]


def _possessive(kind: str, choices: Choices, owner: Nominal | None) -> str:
    """अपना for the subject's own things; मेरा, आपका, उसका for others."""
    person, gender = int(kind[0]), "f" if kind == "2f" else "m"
    if isinstance(owner, Referring):
        owner = owner.antecedent
    if owner is not None:
        if isinstance(owner, Pronoun):
            own = owner.person == person and (person != 2 or owner.gender == gender)
        else:
            own = owner.english_person() == person and (person == 5 or owner.gender == gender)
        if own:
            return "अपना"
    if person == 1:
        return morphology.POSSESSIVES[1 if familiar(choices) else 4]
    return morphology.POSSESSIVES[_PERSONS[person]]


def marked(nominal: Nominal, word: str, keys: Keys, choices: Choices, owner: Nominal | None = None) -> list[Token]:
    """Anything with a postposition: लड़के को, उससे, मेरे साथ, अन्ना के पास."""
    if isinstance(nominal, NounPhrase):
        return phrase_tokens(nominal, choices, after=(word, keys), owner=owner)
    if isinstance(nominal, Name):
        return [Token(NAMES[nominal.text], (nominal.key,)), *_following(word, keys, nominal.key)]
    if isinstance(nominal, Referring):
        person = agreement(nominal, choices).person
    else:
        person = pronoun_person(nominal, choices)
    own = (nominal.key,)
    first, *rest = word.split()
    if first == "को":
        return [Token(morphology.TO[person], (*own, *keys))]
    if first == "ने":
        return [Token(morphology.ERGATIVE[person], (*own, *keys))]
    if first in ("के", "की", "का"):
        stem = morphology.POSSESSIVES[person]
        form = {"के": morphology.agreeing(stem, "m", True), "की": morphology.agreeing(stem, "f", False), "का": stem}[
            first
        ]
        return [Token(form, (*own, *(keys if not rest else ()))), *_following(" ".join(rest), keys, nominal.key)]
    if first == "से":
        return [Token(morphology.OBLIQUE[person] + first, (*own, *keys))]
    return [Token(morphology.OBLIQUE[person], own), *_following(word, keys, nominal.key)]


def direct(nominal: Nominal, choices: Choices, owner: Nominal | None = None) -> list[Token]:
    """Anything without a postposition."""
    if isinstance(nominal, NounPhrase):
        return phrase_tokens(nominal, choices, owner=owner)
    if isinstance(nominal, Name):
        return [Token(NAMES[nominal.text], (nominal.key,))]
    if isinstance(nominal, Referring):
        return [Token(morphology.DIRECT[agreement(nominal, choices).person], (nominal.key,))]
    return [Token(morphology.DIRECT[pronoun_person(nominal, choices)], (nominal.key,))]


def place_tokens(part: Prepositional, choices: Choices, owner: Nominal | None = None) -> list[Token]:
    """A place, a direction (no postposition) or an instrument: बाज़ार में, मेज़ पर, पार्क, चाकू से."""
    word, name = part.english_preposition, part.inner.noun.english if part.inner.noun else ""
    if word == "to":
        assert isinstance(part.inner, NounPhrase)
        tokens = phrase_tokens(part.inner, choices, after=("", ()), owner=owner)
        return [*tokens[:-1], tokens[-1]._replace(possible=(part.key,))] if tokens else tokens
    if word not in SPOTS:
        raise MissingWord(word)
    postposition = "पर" if word in ("in", "at") and name in ON else SPOTS[word]
    if word == "in" and name == "lake":
        postposition = "में"
    return marked(part.inner, postposition, (part.key,), choices, owner)
