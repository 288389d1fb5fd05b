"""A block of sentence pairs, with properties that several checks share. Each is computed once, when first needed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from glassformer.data.checks.seen import Hashes, hashes_of
from glassformer.text.folding import folded

SIDES = ("source", "target")


class Block:
    """Sentence pairs in columns: `texts[0]` are the sources, `texts[1]` the targets."""

    def __init__(self, sources: list[str], targets: list[str]) -> None:
        self.texts = (sources, targets)

    def __len__(self) -> int:
        return len(self.texts[0])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Characters of each pair's two sides."""
        return np.array([list(map(len, texts)) for texts in self.texts], dtype=np.int64).T  # (pairs, sides)

    @cached_property
    def alphabets(self) -> tuple[frozenset[str], frozenset[str]]:
        """All characters of each side. Most checks can skip the block by looking only at these."""
        return frozenset("".join(self.texts[0])), frozenset("".join(self.texts[1]))

    @cached_property
    def words(self) -> tuple[list[list[str]], list[list[str]]]:
        """The lower-case words of each line, split at spaces."""
        return _words_of(self.texts[0]), _words_of(self.texts[1])

    @cached_property
    def folded(self) -> tuple[list[str], list[str]]:
        return list(map(folded, self.texts[0])), list(map(folded, self.texts[1]))

    @cached_property
    def pair_hashes(self) -> Hashes:
        """Hashes of the pairs, unchanged."""
        return hashes_of(map("\0".join, zip(*self.texts, strict=True)))

    @cached_property
    def source_hashes(self) -> Hashes:
        """Hashes of the sources, ignoring case, punctuation and spaces."""
        return hashes_of(self.folded[0])

    @cached_property
    def folded_hashes(self) -> Hashes:
        """Hashes of the pairs, ignoring case, punctuation and spaces."""
        return hashes_of(map("\0".join, zip(*self.folded, strict=True)))

    def rows_with(self, side: int, signs: Iterable[str]) -> list[int]:
        """The rows whose text on this side contains one of these characters."""
        present = self.alphabets[side].intersection(signs)
        if not present:
            return []
        found = re.compile("[" + re.escape("".join(sorted(present))) + "]").search
        return [row for row, text in enumerate(self.texts[side]) if found(text)]


def _words_of(texts: list[str]) -> list[list[str]]:
    return [text.lower().split() for text in texts]
