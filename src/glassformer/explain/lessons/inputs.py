"""What learners type: words, vectors and named values, checked."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.errors import SettingsError
from glassformer.printable import printable, shortened

MOST_WORDS = 512  # of a text: attention makes the square of this many numbers


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, cut at white space."""
    words = tuple(text.split())
    if not words:
        raise SettingsError("A text is empty. Give at least one word.")
    if len(words) > MOST_WORDS:
        raise SettingsError(
            f"A text has {len(words):,} words; a lesson takes at most {MOST_WORDS}. Give a shorter one."
        )
    return words


def one_text(texts: Sequence[str], name: str) -> str:
    """The only text of a lesson that takes one."""
    if len(texts) != 1:
        raise SettingsError(f"The lesson {name} takes one text, got {len(texts)}. Put the words between quotes.")
    return texts[0]


def two_texts(texts: Sequence[str], name: str) -> tuple[str, str]:
    """Both texts of a lesson that takes two."""
    if len(texts) != 2:
        raise SettingsError(f"The lesson {name} takes two texts, got {len(texts)}. Put each between quotes.")
    return texts[0], texts[1]


def word_vectors(words: Sequence[str], width: int, *, seed: int) -> Tensor:
    """A random vector for each word, a function of word and seed: static, the same in every text. (T, D)."""
    known = {word: _vector(word, width, seed) for word in dict.fromkeys(words)}
    return torch.stack([known[word] for word in words])


def _vector(word: str, width: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed((zlib.crc32(word.encode("utf-8", "replace")) << 20) ^ (seed % 2**52))
    return torch.randn(width, generator=generator, dtype=torch.float64)


def vector_of(text: str) -> tuple[float, ...]:
    """The numbers of `1,2` or `[1, 2]`."""
    try:
        values = tuple(float(part) for part in text.strip().strip("[]()").replace(",", " ").split())
    except ValueError:
        raise SettingsError(f"{shown(text)} is not a vector. Write numbers with commas: 1,2") from None
    if not values or not all(map(math.isfinite, values)) or max(map(abs, values)) > 1e100:
        raise SettingsError(f"{shown(text)} is not a vector of ordinary numbers. Write numbers with commas: 1,2")
    return values


def named_values(texts: Sequence[str], what: str) -> dict[str, str]:
    """`a=1` `b=2` as a dictionary."""
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise SettingsError(f"{shown(text)} is not {what}. Write name=value.")
        if name.strip() in found:
            raise SettingsError(f"{shown(name.strip())} is given twice. Give each name once.")
        found[name.strip()] = value.strip()
    return found


def numbered(words: Sequence[str]) -> list[str]:
    """Names for rows and columns: a word that occurs again gets its position, so that JSON keeps them apart."""
    return [word if words.count(word) == 1 else f"{word} {place}" for place, word in enumerate(words, start=1)]


def shown(text: str) -> str:
    return f"“{printable(shortened(text, width=40))}”"
