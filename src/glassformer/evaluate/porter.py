"""Porter's stemmer (1980) with the usual later changes: English words without their endings, for ROUGE.

"connected", "connecting" and "connection" all become "connect". Letters are lower case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

REMEMBERED = 100_000  # words
Condition = Callable[[str], bool]  # on what is left without the ending
Rule = tuple[str, str, Condition]  # an ending, what replaces it, and when

IRREGULAR = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "innings": "inning",
    "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning",
    "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip


def is_consonant(word: str, place: int) -> bool:
    if word[place] == "y":  # a vowel after a consonant
        return place == 0 or not is_consonant(word, place - 1)
    return word[place] not in "aeiou"


def shape(word: str) -> str:
    """The word as c and v, consonants and vowels."""
    found = ""
    for letter in word:
        found += "c" if letter not in "aeiouy" or (letter == "y" and not found.endswith("c")) else "v"
    return found


def measure(stem: str) -> int:
    """How often a consonant follows a vowel."""
    return shape(stem).count("vc")


def has_vowel(stem: str) -> bool:
    return "v" in shape(stem)


def ends_short(word: str) -> bool:
    """Whether it ends like "hop": consonant, vowel, consonant, the last none of w, x, y; or is like "at"."""
    form = shape(word)
    return form == "vc" or (form.endswith("cvc") and word[-1] not in "wxy")


def ends_double(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and is_consonant(word, len(word) - 1)


def always(stem: str) -> bool:  # noqa: ARG001 (a condition)
    return True


def some(stem: str) -> bool:
    return measure(stem) > 0


def several(stem: str) -> bool:
    return measure(stem) > 1


def rules(endings: str, when: Condition) -> list[Rule]:
    """ "ational:ate tional:tion" as rules."""
    pairs = (one.partition(":") for one in endings.split())
    return [(ending, new, when) for ending, _, new in pairs]


def applied(word: str, chosen: Sequence[Rule]) -> str:
    """The first rule whose ending fits decides, also if its condition does not hold."""
    for ending, new, when in chosen:
        if word.endswith(ending):
            stem = word[: len(word) - len(ending)]
            return stem + new if when(stem) else word
    return word


PLURALS = rules("sses:ss ies:i ss:ss s:", always)
SUFFIXES = rules(
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
    "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble fulli:ful",
    some,
)
LOGI: list[Rule] = [("logi", "log", lambda stem: some(stem + "l"))]
DERIVED = rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:", some)
ION: list[Rule] = [("ion", "", lambda stem: several(stem) and stem[-1] in "st")]
LAST = [
    *rules("al: ance: ence: er: ic: able: ible: ant: ement: ment: ent:", several),
    *ION,
    *rules("ou: ism: ate: iti: ous: ive: ize:", several),
]


def without_plural(word: str) -> str:
    return word[:-1] if len(word) == 4 and word.endswith("ies") else applied(word, PLURALS)


def without_tense(word: str) -> str:
    """agreed -> agree, hopping -> hop, hoping -> hope."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if some(word[:-3]) else word
    for ending in ("ed", "ing"):
        stem = word[: -len(ending)]
        if word.endswith(ending) and has_vowel(stem):
            return completed(stem)
    return word


def completed(stem: str) -> str:
    """What is left without "ed" or "ing", as a word."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if ends_double(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if measure(stem) == 1 and ends_short(stem) else stem


def with_i(word: str) -> str:
    """happy -> happi, but by, say."""
    stem = word[:-1]
    return stem + "i" if word.endswith("y") and len(stem) > 1 and is_consonant(stem, len(stem) - 1) else word


def without_suffix(word: str) -> str:
    if word.endswith("alli") and some(word[:-4]):
        return without_suffix(word[:-2])
    return applied(word, [*SUFFIXES, *LOGI])


def without_e(word: str) -> str:
    stem = word[:-1]
    if word.endswith("e") and (measure(stem) > 1 or (measure(stem) == 1 and not ends_short(stem))):
        return stem
    return word


def without_double_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and measure(word[:-1]) > 1 else word


@lru_cache(REMEMBERED)
def stemmed(word: str) -> str:
    """The stem of a word in lower case."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = without_suffix(with_i(without_tense(without_plural(word))))
    word = applied(applied(word, DERIVED), LAST)
    return without_double_l(without_e(word))
