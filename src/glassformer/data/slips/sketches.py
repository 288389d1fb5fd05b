"""A line of text as 29 bytes: together with others, enough to judge whether two lines may be translations.

A sketch holds the length, the number of words, the commas, what the line ends with, and 192 bits, set by a hash of the
first letters of each word. Names and numbers set the same bit in both languages; which other bits correspond is learnt
from the lines.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

BITS = 192
LENGTH, WORDS, COMMAS, ENDING, FIRST_BIT = 0, 2, 3, 4, 5  # the byte where each begins; the length takes two bytes
SKETCH_BYTES = FIRST_BIT + BITS // 8
ENDINGS = 7  # nothing (a blank line), letter or digit, ".", "?", "!", ":" or comma, anything else

WIDTH = 3 + ENDINGS + BITS  # numbers that describe a line
Floats = NDArray[np.float32]

_SAMPLE = 24_000  # lines, for mean and standard deviation
_PREFIX = 5  # letters of a word that count: roughly its stem
_BLOCK = 16_384  # lines at a time, to limit the memory
_OTHER, _LETTER, _DIGIT, _ALONE, _COMMA, _CLOSING, _SPACE = range(7)  # kinds of characters
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # here every character is a word
_ENDING_OF = {".": 2, "。": 2, "．": 2, "…": 2, "।": 2, "۔": 2, "?": 3, "？": 3, "؟": 3, "!": 4, "！": 4}
_ENDING_OF |= dict.fromkeys(":：;；,，、،", 5)


def sketch(lines: Sequence[str]) -> NDArray[np.uint8]:
    """The sketches of lines, (N, SKETCH_BYTES)."""
    blocks = [_sketch_block(lines[start : start + _BLOCK]) for start in range(0, len(lines), _BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros((0, SKETCH_BYTES), np.uint8)


def _sketch_block(lines: Sequence[str]) -> NDArray[np.uint8]:
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    codes = np.frombuffer("".join(lines).encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds, folded, endings = _look_up(codes)
    line_of = np.repeat(np.arange(len(lines)), lengths)  # of each character
    starts = _word_starts(kinds, lengths)

    result = np.zeros((len(lines), SKETCH_BYTES), np.uint8)
    result[:, LENGTH : LENGTH + 2] = np.minimum(lengths, 65_535).astype("<u2")[:, None].view(np.uint8)
    result[:, WORDS] = np.minimum(np.bincount(line_of[starts], minlength=len(lines)), 255)
    commas = np.bincount(line_of[kinds == _COMMA], minlength=len(lines))
    result[:, COMMAS] = np.minimum(commas, 255)
    result[:, ENDING] = _line_endings(kinds, endings, line_of, len(lines))
    bits = np.zeros((len(lines), BITS), bool)
    bits[line_of[starts], _bit_of_word(starts, kinds, folded)] = True
    result[:, FIRST_BIT:] = np.packbits(bits, axis=1)
    return result


def _look_up(codes: NDArray[np.uint32]) -> tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint8]]:
    """Kind, plain lower-case letter and ending class of each character. Python code runs only for distinct ones."""
    present = np.zeros(0x110000, bool)
    present[codes] = True
    distinct = np.flatnonzero(present)
    place = np.zeros(0x110000, np.uint32)
    place[distinct] = np.arange(len(distinct))
    rows = [_describe(int(code)) for code in distinct]
    table = np.array(rows, np.uint32).reshape(-1, 3)
    where = place[codes]
    return table[:, 0].astype(np.uint8)[where], table[:, 1][where], table[:, 2].astype(np.uint8)[where]


@lru_cache(maxsize=1 << 14)
def _describe(code: int) -> tuple[int, int, int]:
    character = chr(code)
    letters = unicodedata.normalize("NFD", character.casefold())
    plain = ord(letters[0]) if all(map(unicodedata.combining, letters[1:])) else code  # Hangul must stay composed
    kind = _kind(character)
    ending = _ENDING_OF.get(character, 1 if kind in (_LETTER, _DIGIT, _ALONE) else 6)
    return kind, plain, ending


def _kind(character: str) -> int:
    category = unicodedata.category(character)
    if category[0] in "LM":
        return _ALONE if unicodedata.name(character, "").startswith(_UNSPACED) else _LETTER
    if category == "Nd":
        return _DIGIT
    if character in ",，、،":
        return _COMMA
    if category in ("Pe", "Pf", "Pi") or character in "\"'":
        return _CLOSING
    return _SPACE if character.isspace() else _OTHER


def _word_starts(kinds: NDArray[np.uint8], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where words begin: a run of letters, a run of digits, or a single character of an unspaced script."""
    wordy = (kinds >= _LETTER) & (kinds <= _ALONE)
    begins = wordy.copy()
    begins[1:] &= (kinds[1:] != kinds[:-1]) | (kinds[1:] == _ALONE)
    line_starts = (np.cumsum(lengths) - lengths)[lengths > 0]
    begins[line_starts] = wordy[line_starts]
    return np.flatnonzero(begins)


def _bit_of_word(starts: NDArray[np.int64], kinds: NDArray[np.uint8], folded: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """A fixed hash of the first letters of each word: the same in every run and on every machine."""
    begins = np.zeros(len(kinds) + _PREFIX, bool)
    begins[starts] = True
    wordy = np.zeros(len(kinds) + _PREFIX, bool)
    wordy[: len(kinds)] = (kinds >= _LETTER) & (kinds <= _ALONE)
    letters = np.concatenate([folded, np.zeros(_PREFIX, np.uint32)])
    hashed, inside = letters[starts], np.ones(len(starts), bool)
    for step in range(1, _PREFIX):
        inside &= wordy[starts + step] & ~begins[starts + step]
        hashed = hashed * np.uint32(0x01000193) ^ np.where(inside, letters[starts + step], np.uint32(0))
    hashed = (hashed ^ (hashed >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
    return (hashed >> np.uint32(8)) % np.uint32(BITS)


def _line_endings(
    kinds: NDArray[np.uint8], endings: NDArray[np.uint8], line_of: NDArray[np.int64], lines: int
) -> NDArray[np.uint8]:
    """The class of the last character that is neither white space nor a closing quote or bracket."""
    result = np.zeros(lines, np.uint8)
    relevant = np.flatnonzero((kinds != _SPACE) & (kinds != _CLOSING))
    result[line_of[relevant]] = endings[relevant]  # of several values for one line, the last is kept
    return result


def describe(sketches: NDArray[np.uint8]) -> Floats:
    """The features of each line, (N, WIDTH), not yet standardised."""
    result = np.empty((len(sketches), WIDTH), np.float32)
    lengths = sketches[:, LENGTH : LENGTH + 2].astype(np.float32) @ np.array([1, 256], np.float32)
    result[:, 0] = np.log(lengths + 3)
    result[:, 1] = np.log(sketches[:, WORDS] + np.float32(1))
    result[:, 2] = np.minimum(sketches[:, COMMAS], 5)
    result[:, 3 : 3 + ENDINGS] = sketches[:, ENDING, None] == np.arange(ENDINGS)
    result[:, 3 + ENDINGS :] = np.unpackbits(sketches[:, FIRST_BIT:], axis=1)
    return result


class Side:
    """The lines of one side as features with mean 0 and standard deviation 1, computed on demand."""

    def __init__(self, sketches: NDArray[np.uint8]) -> None:
        self.sketches = sketches
        sample = describe(sketches[:: max(1, len(sketches) // _SAMPLE)])
        self._mean = sample.mean(0) if len(sample) else np.zeros(WIDTH, np.float32)
        self._spread = sample.std(0) + np.float32(0.02) if len(sample) else np.ones(WIDTH, np.float32)
        self._worth = np.append(_worth(sketches), np.float32(0))

    def __len__(self) -> int:
        return len(self.sketches)

    def rows(self, lines: slice | NDArray[np.int64]) -> Floats:
        result = describe(self.sketches[lines])
        result -= self._mean
        result /= self._spread
        return result

    def worth(self, lines: NDArray[np.int64]) -> Floats:
        """The weight of the evidence of each line; 0 for lines that do not exist."""
        return self._worth[np.where((lines >= 0) & (lines < len(self)), lines, len(self))]

    def window(self, start: int, stop: int) -> Floats:
        """Rows start to stop; lines that do not exist are all zeros."""
        result = np.zeros((stop - start, WIDTH), np.float32)
        first, last = max(start, 0), min(stop, len(self))
        if first < last:
            result[first - start : last - start] = self.rows(slice(first, last))
        return result


def _worth(sketches: NDArray[np.uint8]) -> Floats:
    """1 / sqrt(n) for a line that occurs n times in a row: a repeated sentence adds little evidence."""
    differs = np.ones(len(sketches), bool)
    differs[1:] = (sketches[1:] != sketches[:-1]).any(1)
    starts = np.flatnonzero(differs)
    times = np.diff(np.append(starts, len(sketches)))
    return np.repeat(1 / np.sqrt(times), times).astype(np.float32)
