"""The words of running text, fast: for counting and word2vec, where punctuation is no word.

`text/word_spans.py` keeps punctuation and places, for labels of words; this reads 50 times as many words a second.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

LINE_END = "\n"
SPLITS = ("words", "spaces")

# Scripts without spaces: every sign is a word, as in text/word_spans.py.
_IDEOGRAPHS = ((0x3005, 0x3007), (0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF))
_LAST = 0x1F000  # letters with higher codes are ideographs
_JOINER = 0x200D


@cache
def _pattern() -> re.Pattern[str]:
    """Letters, digits and marks of any script, with apostrophes inside (don't, l’eau); and each line end."""
    letter = "".join(f"{chr(first)}-{chr(last)}" for first, last in _ranges(_is_letter))
    ideograph = "".join(f"{chr(first)}-{chr(last)}" for first, last in (*_IDEOGRAPHS, (0x20000, 0x3134F)))
    return re.compile(rf"[{letter}]+(?:['’][{letter}]+)*|[{ideograph}]|\n")


def is_word(text: str) -> bool:
    """Whether `text` has only letters, digits and marks, with apostrophes or hyphens inside."""
    return all(part and all(_belongs(ord(sign)) for sign in part) for part in _INSIDE.split(text))


def _is_letter(code: int) -> bool:
    return _belongs(code) and not any(first <= code <= last for first, last in _IDEOGRAPHS)


def _belongs(code: int) -> bool:
    return chr(code).isalnum() or code == _JOINER or unicodedata.category(chr(code))[0] == "M"


def _ranges(inside: Callable[[int], bool]) -> list[tuple[int, int]]:
    """The first and last code of each run of characters for which `inside` is true."""
    found, start = [], -1
    for code in range(ord("0"), _LAST):
        if inside(code):
            start = code if start < 0 else start
        elif start >= 0:
            found.append((start, code - 1))
            start = -1
    return found


_ASCII = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*|\n")
_INSIDE = re.compile(r"['’\u200c-]")  # u200c: between the parts of Persian words
_SPACES = re.compile(r"[^ \t\r\v\f\n\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|\n")


def splitter(*, split: str = "words", lower: bool = True) -> Callable[[str], list[str]]:
    """The function that gives the words of a text, and a LINE_END for each line end.

    `split`: "words" leaves punctuation out; "spaces" takes what is between spaces as it is.
    """

    def words_of(text: str) -> list[str]:
        text = text.lower() if lower else text
        if split == "spaces":
            return _SPACES.findall(text)
        return (_ASCII if text.isascii() else _pattern()).findall(text)

    return words_of
