"""The class of each English word of a sentence of the phrasebook: article, noun, verb ...

Classes come from the tables of the grammar. A word that is in several of them ("clean", "her", "to") is decided by its
neighbours. The labels are right for the sentences of the grammar, not for all English.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from glassformer.data.phrasebook.adjectives import ADJECTIVES
from glassformer.data.phrasebook.adverbials import FREQUENCIES, MEN, MONTHS, SURNAMES, TOWNS, WOMEN
from glassformer.data.phrasebook.clause import CONTRACTED
from glassformer.data.phrasebook.english import OBJECTS, POSSESSIVES, SUBJECTS, cardinal
from glassformer.data.phrasebook.nouns import NOUNS
from glassformer.data.phrasebook.verbs import VERBS

NEGATED = "auxiliary with not"  # don't, cannot: two classes in one word
_TABLE = {
    "article": "a an the",
    "determiner": f"{' '.join(POSSESSIVES)} her this these no every many",
    "pronoun": f"{' '.join((*SUBJECTS, *OBJECTS))} she her it there everything all",
    "auxiliary": "am are is was were do does did can could must should will would have has had",
    NEGATED: f"{' '.join(CONTRACTED.values())} cannot",
    "negation": "not",
    "question word": "who whom what which why when where how",
    "preposition": "to at in on into of for from with about behind under past next front",
    "conjunction": "and but because although if whether that when than",
    "particle": "to on off up out away back asleep",
    "adverb": f"{' '.join(one.english for one in FREQUENCIES)} yesterday today tomorrow now right soon ago already "
    "just again too very much well home o'clock",
    "interjection": "please hello goodbye welcome oh yes no",
    "punctuation": ", . ? !",
    "name": "mr mrs monday tuesday wednesday thursday friday saturday sunday "
    + " ".join((*WOMEN, *MEN, *SURNAMES, *TOWNS, *MONTHS)),
    "number": "hundred thousand",
    "noun": "hour day days week weeks month year years morning evening night weekend euros half quarter home weather "
    "luck birthday name invitation help congratulations thanks",
    "adjective": "last next fine sorry proud sad surprised angry",
    "verb": "allowed want wants wanted excuse",
}
CLASSES = tuple(_TABLE)
_ASKED = frozenset(("know", "knows", "knew", "ask", "asks", "asked"))
_OBJECTS_BEGIN = frozenset(("article", "determiner", "adjective", "number", "noun"))
_BE = frozenset(("am", "are", "is", "was", "were"))
_MODALS = frozenset(("can", "could", "must", "should", "will", "cannot", *CONTRACTED.values()))
_CLAUSE_BEGINS = frozenset(("conjunction", "question word", "punctuation", ""))
_BETWEEN = (frozenset(("adverb",)), frozenset(("negation",)))  # has already eaten


@cache
def lexicon() -> dict[str, frozenset[str]]:
    """Every word form in lower case, with its classes."""
    found: dict[str, set[str]] = {}

    def add(name: str, forms: Sequence[str]) -> None:
        for form in " ".join(forms).lower().split():
            found.setdefault(form, set()).add(name)

    for name, forms in _TABLE.items():
        add(name, [forms])
    add("number", [cardinal(number) for number in range(100)])
    for adjective in ADJECTIVES.values():
        add("adjective", [adjective.english, adjective.comparative.removeprefix("more ")])
    add("adverb", ["more"])
    for noun in NOUNS.values():
        add("noun", [form for form in (noun.english, noun.plural) if form != "-"])
    for verb in VERBS.values():
        if verb.name != "be":
            add("verb", [verb.base, verb.third, verb.ing, verb.past, verb.participle])
    return {form: frozenset(classes) for form, classes in found.items()}


@cache
def _infinitives() -> frozenset[str]:
    return frozenset(verb.base for verb in VERBS.values())


@cache
def _participles() -> frozenset[str]:
    return frozenset(verb.participle for verb in VERBS.values())


@cache
def _givers() -> frozenset[str]:
    """The forms of verbs with two objects."""
    double = [verb for verb in VERBS.values() if verb.frame == "double"]
    return frozenset(form for one in double for form in (one.base, one.third, one.ing, one.past, one.participle))


def classes_of(sentence: Sequence[str]) -> tuple[str, ...]:
    """The class of each word of a sentence, split as `words` does; "" for a word that the grammar does not have."""
    low = [word.lower() for word in sentence]
    found: list[str] = []
    for place, word in enumerate(low):
        known = lexicon().get(word, frozenset())
        if word.removesuffix(".").isdigit():
            found.append("number")
        elif len(known) > 1:
            found.append(_chosen(low, place, found))
        else:
            found.append(next(iter(known), ""))
    return tuple(found)


def _chosen(low: Sequence[str], place: int, before: Sequence[str]) -> str:
    """The class of a word that has several. `before`: the classes of the words before it."""
    word = low[place]
    last, following = low[place - 1] if place else "", low[place + 1] if place + 1 < len(low) else ""
    if word == "to":
        return "particle" if following in _infinitives() and last != "next" else "preposition"
    if word == "on":
        return "particle" if last.startswith(("turn", "put", "try", "tri")) else "preposition"
    if word == "no":
        return "interjection" if following == "," else "determiner"
    if word == "next":
        return "preposition" if following == "to" else "adjective"
    if word == "home":
        return "noun" if last == "at" else "adverb"
    if word in ("help", "thanks"):
        return "noun" if before and before[-1] == "determiner" else "verb"
    rule = {"her": _of_her, "when": _of_when, "clean": _of_clean}.get(word, _of_have)
    return rule(low, place, before)


def _of_her(low: Sequence[str], place: int, _before: Sequence[str]) -> str:
    """her book, or her. In "gave her apples", where one object is needed before the apples, it is the pronoun."""
    rest = [lexicon().get(word, frozenset()) for word in low[place + 1 :]]
    size = next((i for i, known in enumerate(rest) if "adjective" not in known), len(rest))
    if size == len(rest) or "noun" not in rest[size]:
        return "pronoun"
    if place and low[place - 1] in _givers():
        second = rest[size + 1] if size + 1 < len(rest) else frozenset()
        return "determiner" if second & _OBJECTS_BEGIN else "pronoun"
    return "determiner"


def _of_when(low: Sequence[str], place: int, before: Sequence[str]) -> str:
    """A question, direct or after "know"; or what connects two clauses."""
    if place:
        return "question word" if low[place - 1] in _ASKED or before[-1] == "negation" else "conjunction"
    inverted = lexicon().get(low[1] if len(low) > 1 else "", frozenset()) & {"auxiliary", NEGATED}
    return "question word" if inverted else "conjunction"


def _of_have(low: Sequence[str], place: int, _before: Sequence[str]) -> str:
    """have eaten, have to; or have a dog."""
    following = next((word for word in low[place + 1 :] if lexicon().get(word) not in _BETWEEN), "")
    return "auxiliary" if following == "to" or following in _participles() else "verb"


def _of_clean(low: Sequence[str], place: int, before: Sequence[str]) -> str:
    """clean windows: they are clean, or somebody does it."""
    begins = next((i for i in range(place, 0, -1) if before[i - 1] in _CLAUSE_BEGINS), 0)
    clause, last = before[begins:], before[-1] if before else ""
    if last in ("particle", "interjection") or low[place - 1] in _MODALS or not clause:
        return "verb"
    if (
        "verb" in clause
        or last not in ("pronoun", "noun", "name", "adverb")
        or low[place - 1] in ("very", "too", "more")
    ):
        return "adjective"
    return "adjective" if _BE & set(low[begins:place]) else "verb"
