"""Which units of an input are learnt from, which are held out: one byte a unit, so the input can be streamed again."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassformer.data.checks.folding import folded
from glassformer.data.readers.records import Record
from glassformer.errors import DataError

LEFT_OUT, TRAIN, HELD = 0, 1, 2
USUAL_SHARE, USUAL_MOST = 0.02, 1000  # of the sentences, where nobody said how many to hold out
CHANGED = "The files were changed while they were read. Start again when nobody writes to them."

Parts = NDArray[np.uint8]


@dataclass(frozen=True)
class HoldOut:
    """How much to hold out: a share, or the usual one of at most 1,000 pairs."""

    seed: int
    share: float | None = None

    def wanted(self, pairs: int) -> int:
        """How many of so many pairs to hold out."""
        share = min(USUAL_SHARE, USUAL_MOST / max(1, pairs)) if self.share is None else self.share
        return max(1, round(share * pairs))

    def number(self, source: str) -> int:
        """0 to 2**32 by a hash of the sentence itself: a repeated one, also in other case, stays on one side."""
        digest = hashlib.blake2b(f"{self.seed} {folded(source)}".encode("utf-8", "surrogatepass"), digest_size=4)
        return int.from_bytes(digest.digest(), "big")


def select(screened: Iterable[tuple[Record, str | None]], hold_out: HoldOut | None) -> Parts:
    """One part for every unit: left out with a reason, learnt from, or held out (one at least, if there is any)."""
    used, numbers = array("B"), array("I")
    for record, reason in screened:
        used.append(LEFT_OUT if reason else TRAIN)
        if hold_out is not None:
            numbers.append(2**32 - 1 if reason else hold_out.number(record.source))
    parts: Parts = np.frombuffer(used, dtype=np.uint8).copy()
    if hold_out is not None and parts.any():
        places = np.frombuffer(numbers, dtype=np.uint32)
        held = held_numbers(places[parts == TRAIN], hold_out.wanted(int(parts.sum())))
        parts[np.isin(places, held) & (parts == TRAIN)] = HELD
    return parts


def held_numbers(numbers: NDArray[np.uint32], wanted: int) -> list[int]:
    """The smallest numbers, as many as fit: one that many pairs share (a repeated sentence) may be too many."""
    held: list[int] = []
    values, counts = np.unique(numbers, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        if count <= wanted:
            held.append(value)
            wanted -= count
        if not wanted:
            break
    return held or [int(values[counts.argmin()])]


def chosen(records: Iterable[Record], parts: Parts, part: int) -> Iterator[tuple[str, str]]:
    """The sentences of one part, in a stream. Another number of units than before is an error."""
    told = iter(parts.tobytes())  # a byte a unit, not an object
    for record in records:
        found = next(told, None)
        if found is None:
            raise DataError(CHANGED)
        if found == part:
            yield record.source, record.target
    if next(told, None) is not None:
        raise DataError(CHANGED)
