"""Hashes of the held-out texts, to count those that are also in the training data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from glassformer.data.checks.seen import hashes_of, is_in
from glassformer.text.folding import folded


class HeldTexts:
    """One held-out part, such as "valid". Case, punctuation and spaces do not matter."""

    def __init__(self, name: str, texts: Iterable[str]) -> None:
        hashes = hashes_of(map(folded, texts))
        self.name = name
        self.examples = len(hashes)
        self._hashes, self._counts = np.unique(hashes, return_counts=True)
        self._met = np.zeros(len(self._hashes), dtype=np.bool_)

    def match(self, texts: Sequence[str]) -> list[int]:
        """Indices of the texts that are held out. The part remembers which of its own texts were found."""
        hashes = hashes_of(map(folded, texts))
        hits = is_in(hashes, self._hashes)
        self._met |= is_in(self._hashes, np.sort(hashes[hits]))
        return np.flatnonzero(hits).tolist()

    @property
    def in_train(self) -> int:
        """How many held-out examples have a text that is in the training data."""
        return int(self._counts[self._met].sum())

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "examples": self.examples, "texts_in_train": self.in_train}
