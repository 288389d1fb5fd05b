"""Italian noun phrases and pronouns: articles, agreement, possessives, and the prepositions that fuse with articles."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from glassformer.data.phrasebook.aligned import Choices, Keys, Token
from glassformer.data.phrasebook.italian import morphology
from glassformer.data.phrasebook.italian.expressions import BARE, PLACES, SPOTS
from glassformer.data.phrasebook.italian.nouns import ADJECTIVES, NOUNS, ItalianNoun
from glassformer.data.phrasebook.meaning import MissingWord
from glassformer.data.phrasebook.nominal import Name, Nominal, NounPhrase, Prepositional, Pronoun, Referring, address

_POSSESSIVES = ("mi", "tu", "su", "nostr", "vostr", "loro")
_POLITE, _PERSONS = 2, (1, 4, 2)  # tu, voi, Lei: the persons of the verb


class Agreement(NamedTuple):
    """What a verb or an adjective agrees with."""

    person: int
    gender: str
    plural: bool
    polite: bool = False


def agreement(nominal: Nominal, choices: Choices) -> Agreement:
    """Person, gender and number of a subject or an object."""
    if isinstance(nominal, Referring):
        assert nominal.antecedent is not None
        return agreement(nominal.antecedent, choices)
    if isinstance(nominal, NounPhrase):
        return Agreement(5 if nominal.plural else 2, noun_of(nominal, choices).gender, nominal.plural)
    if isinstance(nominal, Name):
        return Agreement(2, nominal.gender, False)
    if nominal.person == 1:
        to = address(choices)
        return Agreement(_PERSONS[to], "m", to == 1, to == _POLITE)
    return Agreement(nominal.person, "f" if nominal.person == 2 and nominal.gender == "f" else "m", nominal.person > 2)


def spoken_gender(nominal: Nominal, found: Agreement, choices: Choices) -> str:
    """The gender of I, you and we, which English does not say: masculine, or feminine as the other choice."""
    if isinstance(nominal, Pronoun) and not isinstance(nominal, Referring) and nominal.person in (0, 1, 3):
        return "mf"[choices.pick(f"woman {nominal.person}", 2)]
    return found.gender


def noun_of(phrase: NounPhrase, choices: Choices) -> ItalianNoun:
    """The noun, of the right gender where English does not distinguish men and women."""
    if phrase.noun.english not in NOUNS:
        raise MissingWord(phrase.noun.english)
    man, woman = NOUNS[phrase.noun.english]
    if woman is None or phrase.feminine is False:
        return man
    if phrase.feminine or choices.pick(f"gender {phrase.key}", 2):
        return woman
    return man


def elided(tokens: list[Token]) -> list[Token]:
    """Join l', un', dell', quest', c' with the next word."""
    found: list[Token] = []
    for token in tokens:
        if found and found[-1].text.endswith("'") and found[-1].text not in ("da'", "fa'", "va'", "di'", "sta'"):
            last = found.pop()
            token = Token(last.text + token.text, last.sure + token.sure, last.possible + token.possible)
        found.append(token)
    return found


def phrase_tokens(
    phrase: NounPhrase, choices: Choices, *, before: tuple[str, Keys] | None = None, none: str = ""
) -> list[Token]:
    """A noun phrase. `before` is a preposition with its keys, `none` what replaces a missing determiner.

    `none` is "" (nothing), "some" (delle mele) or "all" (le mele).
    """
    found = _phrase_words(phrase, choices, before=before, none=none)
    if phrase.determiner == "none":  # an article that English does not have
        found = [token if token.sure != (phrase.key + 2,) else token._replace(sure=()) for token in found]
    return [token if token.sure else token._replace(possible=(phrase.key,)) for token in found]


def _phrase_words(phrase: NounPhrase, choices: Choices, *, before: tuple[str, Keys] | None, none: str) -> list[Token]:
    noun, key = noun_of(phrase, choices), phrase.key
    core = _core(phrase, noun, choices)
    kind = "the" if phrase.determiner == "none" and none == "all" else phrase.determiner
    lead = [] if before is None else [Token(word, before[1]) for word in before[0].split()]
    gender, plural, following = noun.gender, phrase.plural, core[0].text
    if kind == "none" and none == "some":
        return [Token(morphology.contracted("di", morphology.definite(gender, plural, following)), (key,)), *core]
    if kind[0].isdigit():
        owner = _possessive(kind, gender, plural, choices)
        core.insert(0, Token(owner, (key + 2,)))
        alone = "kin" in phrase.noun.kinds and not plural and phrase.adjective is None and owner != "loro"
        kind, following = ("none" if alone else "the"), owner
    if kind == "none":
        return lead + core
    if kind != "the":
        return [*lead, Token(_determiner(phrase, kind, gender, following), (key + 2,)), *core]
    article = morphology.definite(gender, plural, following)
    if before is None:
        return [Token(article, (key + 2,)), *core]
    *first, last = before[0].split()
    fused = morphology.contracted(last, article).split()
    opening = [Token(word, before[1]) for word in first]
    if len(fused) == 1:
        return [*opening, Token(fused[0], (*before[1], key + 2)), *core]
    return [*opening, Token(fused[0], before[1]), Token(fused[1], (key + 2,)), *core]


def _core(phrase: NounPhrase, noun: ItalianNoun, choices: Choices) -> list[Token]:
    """The noun with its adjective."""
    plural, key = phrase.plural, phrase.key
    parts = [Token(word, (key,)) for word in (noun.plural if plural else noun.singular).split()]
    if phrase.adjective is None:
        return parts
    if phrase.adjective.english not in ADJECTIVES:
        raise MissingWord(phrase.adjective.english)
    adjective = ADJECTIVES[phrase.adjective.english]
    if adjective.before and not choices.pick(f"adjective {key}", 2):
        text = morphology.attributive(adjective.masculine, noun.gender, plural, parts[0].text)
        return [Token(text, (key + 1,)), *parts]
    return [*parts, Token(morphology.adjective(adjective.masculine, noun.gender, plural), (key + 1,))]


def _determiner(phrase: NounPhrase, kind: str, gender: str, following: str) -> str:
    if kind == "number":
        return morphology.NUMBERS[phrase.count]
    if kind == "many":
        return morphology.adjective("molto", gender, True)
    if kind == "this":
        form = morphology.adjective("questo", gender, phrase.plural)
        return "quest'" if not phrase.plural and morphology.definite(gender, False, following) == "l'" else form
    indefinite = morphology.indefinite(gender, following)
    return "ness" + indefinite if kind == "no" else indefinite


def _possessive(kind: str, gender: str, plural: bool, choices: Choices) -> str:
    person = int(kind[0])
    stem = _POSSESSIVES[person]
    if person == 1:
        stem = ("tu", "vostr", "Su")[address(choices)]
    if stem == "loro":
        return stem
    if stem in ("nostr", "vostr"):
        return stem + {"m": "oi"[plural], "f": "ae"[plural]}[gender]
    if gender == "f":
        return stem[:2] + ("e" if plural else "a")
    return {"mi": ("mio", "miei"), "tu": ("tuo", "tuoi"), "su": ("suo", "suoi"), "Su": ("Suo", "Suoi")}[stem][plural]


def after_preposition(word: str, keys: Keys, nominal: Nominal, choices: Choices, *, none: str = "") -> list[Token]:
    """A preposition with what follows it: dell'amico, con lui, a Maria."""
    if isinstance(nominal, NounPhrase):
        return phrase_tokens(nominal, choices, before=(word, keys), none=none)
    lead = [Token(part, keys) for part in word.split()]
    if isinstance(nominal, Name):
        lead = [token if keys else token._replace(possible=(nominal.key,)) for token in lead]
        return [*lead, Token(nominal.text, (nominal.key,))]
    lead = [token if keys else token._replace(possible=(nominal.key,)) for token in lead]
    found = agreement(nominal, choices)
    stressed = (
        "Lei" if found.polite else "lei" if found == Agreement(2, "f", False) else morphology.STRESSED[found.person]
    )
    if word in ("dietro", "sotto", "su"):
        lead.append(Token("di", keys))
    return [*lead, Token(stressed, (nominal.key,))]


def place_tokens(part: Prepositional, choices: Choices) -> list[Token]:
    """A place, a direction or an instrument: al cinema, sul tavolo, davanti alla porta, con un coltello."""
    word = part.english_preposition
    name = part.inner.noun.english if part.inner.noun else ""
    if word not in SPOTS:
        raise MissingWord(word)
    preposition = SPOTS[word]
    if word == "on" and name == "square":
        preposition = "in"
    elif word in ("in", "at", "to"):
        usual = PLACES.get(name, "in a").split()
        preposition = usual[1] if word == "to" else usual[0]
    if name == "river" or (name == "lake" and word == "in"):
        preposition = "in"  # people swim in it
    usually = isinstance(part.inner, NounPhrase) and _is_usual_place(part.inner, word)
    if isinstance(part.inner, NounPhrase) and usually and not choices.pick(f"place {part.key}", 2):
        plain = replace(part.inner, determiner="none")
        return after_preposition(BARE[name], (part.key,), plain, choices)
    return after_preposition(preposition, (part.key,), part.inner, choices)


def _is_usual_place(thing: NounPhrase, word: str) -> bool:
    """in cucina, in città, a scuola: no article, if nothing else is said of the place."""
    alone = thing.determiner == "the" and not thing.plural and thing.adjective is None
    inside = word in ("in", "at", "into") or (word == "to" and thing.noun.english != "city")  # viaggia in città: in it
    return alone and inside and thing.noun.english in BARE
