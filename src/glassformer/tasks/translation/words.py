"""The words of a text, to find terms in it: between spaces and signs; in scripts without spaces, every letter."""

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


def normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def is_word_letter(letter: str) -> bool:
    """Whether it would make another word of a word beside it."""
    return (letter.isalnum() or letter == "_") and not UNSPACED_LETTER.match(letter)


def occurrences(words: Sequence[str | None], wanted: Sequence[str]) -> list[int]:
    """Where a sequence of words stands in another."""
    size = len(wanted)
    return [i for i in range(len(words) - size + 1) if list(words[i : i + size]) == list(wanted)]
