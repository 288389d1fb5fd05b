"""Which units of an input are for training and which are held out: one byte per unit, so the input can be streamed."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from glassformer.data.readers.records import Record
from glassformer.errors import DataError
from glassformer.text.folding import folded

R = TypeVar("R")
LEFT_OUT, TRAIN, HELD = 0, 1, 2
NO_NUMBER = 2**32 - 1  # for units that are not used
USUAL_SHARE, USUAL_MOST = 0.02, 1000  # of the examples, if no share is given
USUAL_LEAST, SMALL_SHARE = 50, 0.1  # for little data: fewer examples would measure nothing
CHANGED = "The files were changed while they were read. Start again when nothing writes to them."

Parts = NDArray[np.uint8]


@dataclass(frozen=True)
class HoldOut:
    """How much to hold out: a share, or the default of 2%, at most 1,000 pairs."""

    seed: int
    share: float | None = None

    def count(self, pairs: int) -> int:
        """How many of `pairs` pairs to hold out."""
        if self.share is not None:
            return max(1, round(self.share * pairs))
        usual = min(USUAL_SHARE * pairs, USUAL_MOST)
        return max(1, round(max(usual, min(USUAL_LEAST, SMALL_SHARE * pairs))))

    def number(self, source: str) -> int:
        """A hash of the sentence, 0 to 2**32. Repeated sentences, also in another case, stay in the same part."""
        digest = hashlib.blake2b(f"{self.seed} {folded(source)}".encode("utf-8", "surrogatepass"), digest_size=4)
        return int.from_bytes(digest.digest(), "big")


def select(screened: Iterable[tuple[Record, str | None]], hold_out: HoldOut | None) -> Parts:
    """The part of every unit: left out (with a reason), training, or held out (at least one, if there is any)."""
    used, numbers = array("B"), array("I")
    for record, reason in screened:
        used.append(LEFT_OUT if reason else TRAIN)
        if hold_out is not None:
            numbers.append(NO_NUMBER if reason else hold_out.number(record.source))
    return divided(used, numbers, hold_out)


def divided(used: array[int], numbers: array[int], hold_out: HoldOut | None) -> Parts:
    """The parts of units that are used (1) or not (0). Units with the smallest numbers are held out."""
    parts: Parts = np.frombuffer(used, dtype=np.uint8).copy()
    if hold_out is not None and parts.any():
        places = np.frombuffer(numbers, dtype=np.uint32)
        held = held_numbers(places[parts == TRAIN], hold_out.count(int(parts.sum())))
        parts[np.isin(places, held) & (parts == TRAIN)] = HELD
    return parts


def divided_by_class(used: array[int], numbers: array[int], classes: array[int], hold_out: HoldOut | None) -> Parts:
    """The same, with each class in proportion. Every class keeps a unit for training. Equal texts stay together."""
    parts: Parts = np.frombuffer(used, dtype=np.uint8).copy()
    if hold_out is None or not parts.any():
        return parts
    learnt = parts == TRAIN
    places, kinds = np.frombuffer(numbers, dtype=np.uint32)[learnt], np.frombuffer(classes, dtype=np.uint16)[learnt]
    sizes = np.bincount(kinds)
    wanted = in_proportion(hold_out.count(len(places)), sizes)
    groups = np.split(places[np.argsort(kinds, kind="stable")], np.cumsum(sizes)[:-1])
    held = [
        number for group, most in zip(groups, wanted, strict=True) if most for number in fitting_numbers(group, most)
    ]
    parts[np.flatnonzero(learnt)[np.isin(places, held or held_numbers(places, 1))]] = HELD
    return parts


def in_proportion(total: int, sizes: NDArray[np.int64]) -> list[int]:
    """Distributes `total` over classes of these sizes by largest remainders; each class keeps one.

    If the total is large enough, each class of two or more gets one.
    """
    exact = total * sizes / sizes.sum()
    least = (sizes > 1).astype(np.int64)
    least = least if least.sum() <= total else np.zeros_like(sizes)
    shares = np.maximum(np.floor(exact).astype(np.int64), least)
    while (over := int(shares.sum()) - total) > 0:  # those that have most beyond their share give one back
        surplus = np.where(shares > least, shares - exact, -np.inf)
        shares[np.argsort(-surplus, kind="stable")[: min(over, int((shares > least).sum()))]] -= 1
    shares[np.argsort(-(exact - shares), kind="stable")[: total - int(shares.sum())]] += 1
    return np.minimum(shares, np.maximum(sizes - 1, 0)).tolist()


def held_numbers(numbers: NDArray[np.uint32], wanted: int) -> list[int]:
    """The smallest numbers, as many as fit; if none fits, the number that the fewest units share."""
    if held := fitting_numbers(numbers, wanted):
        return held
    values, counts = np.unique(numbers, return_counts=True)
    return [int(values[counts.argmin()])]


def fitting_numbers(numbers: NDArray[np.uint32], wanted: int) -> list[int]:
    """The smallest numbers, as many as fit. A number shared by many units (a repeated sentence) may not fit."""
    held: list[int] = []
    values, counts = np.unique(numbers, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        if count <= wanted:
            held.append(value)
            wanted -= count
        if not wanted:
            break
    return held


def chosen(records: Iterable[Record], parts: Parts, part: int) -> Iterator[tuple[str, str]]:
    """A stream of the sentences of one part. Raises an error if the number of units has changed."""
    for record in picked(records, parts, part):
        yield record.source, record.target


def picked(units: Iterable[R], parts: Parts, part: int) -> Iterator[R]:
    """A stream of the units of one part. Raises an error if the number of units has changed."""
    expected = iter(parts.tobytes())  # one byte per unit, not an object
    for unit in units:
        found = next(expected, None)
        if found is None:
            raise DataError(CHANGED)
        if found == part:
            yield unit
    if next(expected, None) is not None:
        raise DataError(CHANGED)
