"""The pattern of capitals of a word. A vocabulary in lower case loses it; `model.casing` keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# Numbers of the patterns. 0 is everything without letters and digits, special tokens and padding.
PATTERNS = ("none", "lower", "First", "First, at the start of a sentence", "CAPITALS", "C.", "miXed", "digits", "a1")
NONE, LOWER, FIRST, BEGINNING, CAPITALS, ONE, MIXED, DIGITS, WITH_DIGITS = range(len(PATTERNS))
ENDS = frozenset(".!?:")  # a word after one of these begins a sentence, as far as its capital says
QUOTES = frozenset("\"'`“”„«»‘’(")


def patterns(words: Sequence[str]) -> Iterator[int]:
    """The pattern of each word of a text."""
    begins = True
    for word in words:
        found = pattern(word)
        yield BEGINNING if found == FIRST and begins else found
        if not all(sign in QUOTES for sign in word):
            begins = word[-1:] in ENDS and found == NONE


def pattern(word: str) -> int:
    letters = [sign for sign in word if sign.isalpha()]
    if not letters:
        return DIGITS if any(sign.isdigit() for sign in word) else NONE
    if any(sign.isdigit() for sign in word):
        return WITH_DIGITS
    capitals = sum(sign.isupper() or sign.istitle() for sign in letters)
    if not capitals:
        return LOWER
    if capitals == len(letters):
        return ONE if capitals == 1 else CAPITALS
    return FIRST if capitals == 1 and (letters[0].isupper() or letters[0].istitle()) else MIXED
