"""Remembers which texts were seen before: many millions of them, with 8 bytes each."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Flags = NDArray[np.bool_]


def hashes_of(texts: Iterable[str]) -> Hashes:
    """A 64-bit hash of each text. Among ten million texts, the probability of a collision is about 3 in a million."""
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64, copy=False)


class SeenHashes:
    """A growing set of hashes: a few sorted arrays; two of similar size are merged into one.

    There are at most about log2(n) arrays, so a lookup costs a few binary searches, and adding n hashes costs n log n
    in total.
    """

    def __init__(self) -> None:
        self._runs: list[Hashes] = []  # longest first

    def __len__(self) -> int:
        return sum(len(run) for run in self._runs)

    def add(self, hashes: Hashes) -> Flags:
        """Adds all of them. True for each that was seen before, also earlier in the same `hashes`."""
        values, first, where = np.unique(hashes, return_index=True, return_inverse=True)
        old = self._holds(values)
        seen = old[where]
        repeated = np.ones(len(hashes), dtype=np.bool_)
        repeated[first] = False
        self._insert(values[~old])
        return seen | repeated

    def __contains__(self, value: int) -> bool:
        return bool(self._holds(np.array([value], dtype=np.uint64))[0])

    def _holds(self, values: Hashes) -> Flags:
        found = np.zeros(len(values), dtype=np.bool_)
        for run in self._runs:
            found |= is_in(values, run)
        return found

    def _insert(self, values: Hashes) -> None:
        if len(values) == 0:
            return
        while self._runs and len(self._runs[-1]) < 2 * len(values):
            values = np.concatenate([self._runs.pop(), values])
            values.sort(kind="stable")  # merges the two sorted halves
        self._runs.append(values)


def is_in(values: Hashes, ordered: Hashes) -> Flags:
    """Which of the `values` are in a sorted array."""
    if len(ordered) == 0:
        return np.zeros(len(values), dtype=np.bool_)
    spots = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[spots] == values)
