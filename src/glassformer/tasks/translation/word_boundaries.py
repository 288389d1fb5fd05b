"""The words of a text, to find terms in it: separated by spaces and punctuation; without spaces, every character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

# Scripts without spaces between words: Thai, Lao; Burmese; Khmer; Japanese; Chinese.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]")
UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True)
class Word:
    text: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    return [Word(found.group(), found.start(), found.end()) for found in WORD.finditer(normal(text))]


def tokens_of(text: str) -> list[Word]:
    """The words between spaces, with punctuation around them as separate tokens; hyphens stay inside words.

    Unlike `words_of`, it never splits inside a word of any script. In scripts without spaces, every character is one.
    """
    found: list[Word] = []
    for chunk in re.finditer(r"\S+", text):
        start, end = chunk.span()
        left = next((i for i in range(start, end) if not is_sign(text[i])), end)
        right = next((i for i in range(end, left, -1) if not is_sign(text[i - 1])), left)
        found += [Word(text[i], i, i + 1) for i in range(start, left)]
        found += _of_core(text, left, right)
        found += [Word(text[i], i, i + 1) for i in range(right, end)]
    return found


def _of_core(text: str, start: int, end: int) -> list[Word]:
    core = text[start:end]
    if not UNSPACED_LETTER.search(core):
        return [Word(core, start, end)] if core else []
    parts = re.finditer(rf"[{UNSPACED}]|[^{UNSPACED}]+", core)
    return [Word(part.group(), start + part.start(), start + part.end()) for part in parts]


def is_sign(letter: str) -> bool:
    return unicodedata.category(letter)[0] in "PS"


def normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def is_word_letter(letter: str) -> bool:
    """Whether it would change a word next to it into another word."""
    return (letter.isalnum() or letter == "_") and not UNSPACED_LETTER.match(letter)


def occurrences(words: Sequence[str | None], wanted: Sequence[str]) -> list[int]:
    """The positions of a sequence of words in another."""
    size = len(wanted)
    return [i for i in range(len(words) - size + 1) if list(words[i : i + size]) == list(wanted)]
