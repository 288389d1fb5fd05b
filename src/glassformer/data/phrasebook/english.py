"""English morphology: verb forms, the choice between "a" and "an", and numbers in words."""

from __future__ import annotations

_VOWELS = "aeiou"
_ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen",
]  # fmt: skip
_ONES += ["seventeen", "eighteen", "nineteen"]
_TENS = ["-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SUBJECTS = ("I", "you", "he", "we", "you", "they")
OBJECTS = ("me", "you", "him", "us", "you", "them")
POSSESSIVES = ("my", "your", "his", "our", "your", "their")


def article(following: str) -> str:
    """ "a" or "an", by the sound that follows."""
    return "an" if following[0] in _VOWELS and not following.startswith(("uni", "use", "one")) else "a"


def third_singular(verb: str) -> str:
    """The form with -s: eats, goes, carries."""
    if verb == "have":
        return "has"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def ing(verb: str, *, double: bool = False) -> str:
    """The form with -ing; `double` repeats the last consonant: sitting, swimming."""
    if verb in ("lie", "die", "tie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe")):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if double else "") + "ing"


def cardinal(number: int) -> str:
    """A cardinal number from 0 to 999,999 in words: twenty-one, three hundred and five."""
    if number >= 1000:
        thousands, rest = divmod(number, 1000)
        return cardinal(thousands) + " thousand" + (_tail(rest) if rest else "")
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _below_hundred(rest)
    return _ONES[hundreds] + " hundred" + (f" and {_below_hundred(rest)}" if rest else "")


def _tail(rest: int) -> str:
    return f" and {cardinal(rest)}" if rest < 100 else f" {cardinal(rest)}"


def _below_hundred(number: int) -> str:
    if number < 20:
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
