"""The words of a running text, as files with one word per line have them: punctuation at the ends is a word of its own.

Nothing is lost: between two words there is only white space.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

WordSpan = tuple[int, int]  # first character, and one past the last

# Scripts without spaces: every sign is a word. Kana, ideographs and their marks.
_IDEOGRAPH = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_CHUNK = re.compile(rf"[{_IDEOGRAPH}]|[^\s{_IDEOGRAPH}]+")
_PARTS = re.compile(r"[—–…\"“”„«»()\[\]{}<>]|[^—–…\"“”„«»()\[\]{}<>]+")  # these signs part words wherever they are
_ABBREVIATION = re.compile(r"(?:\w\.)+|(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Inc|Ltd|Co|Corp|No|vs|etc|Vol|Gen|Sen|Rep|Gov)\.")
_CLITIC = re.compile(r"['’](?:s|S|re|ve|ll|d|m)$")


def word_spans(text: str) -> list[WordSpan]:
    """The span of each word in the text."""
    return [span for chunk in _CHUNK.finditer(text) for span in _chunk_words(chunk[0], chunk.start())]


def _chunk_words(chunk: str, start: int) -> Iterator[WordSpan]:
    for part in _PARTS.finditer(chunk):
        yield from _part_words(part[0], start + part.start())


def _part_words(part: str, start: int) -> Iterator[WordSpan]:
    """Signs at both ends, one word each; the rest is a word, without its 's."""
    first, last = 0, len(part)
    while first < last and _is_sign(part[first]):
        yield start + first, start + first + 1
        first += 1
    after: list[WordSpan] = []
    while last > first and _is_sign(part[last - 1]) and not _ABBREVIATION.fullmatch(part[first:last]):
        after.append((start + last - 1, start + last))
        last -= 1
    if last > first:
        cut = _CLITIC.search(part, first, last)
        middle = cut.start() if cut and cut.start() > first else last
        yield start + first, start + middle
        if middle < last:
            yield start + middle, start + last
    yield from reversed(after)


def _is_sign(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "PS"
