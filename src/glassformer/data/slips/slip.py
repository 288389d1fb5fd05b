"""Finds where two sides that should be line-by-line translations go out of step, and how to realign them.

One missing or extra line on one side gives every later line a wrong partner. No single line shows it, but thousands
together do. `SlipFeatures` keeps 29 bytes for each line of each side, however long. What distinguishes a pair from two
unrelated lines is learnt from the file itself, so it works across languages and scripts (see evidence.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassformer.data.slips.path import COST, Judge, Run
from glassformer.data.slips.search import settle
from glassformer.data.slips.sketches import SKETCH_BYTES, Floats, Side, sketch

_REACH = 2048  # lines on either side of where the path changes
_TOLERANCE = 10  # lines: a place this near counts as right
_SURE = 0.999  # the highest confidence: the evidence treats lines as independent, which they are not quite


@dataclass(frozen=True, slots=True)
class Slip:
    """Lines count from 1. Lines before this slip pair as before; source_line and target_line are no longer a pair.

    From here on, a source line's partner is `offset` lines further in the target, up to and including
    until_source_line. If that is before source_line, there are no such lines: one side is just longer.
    """

    source_line: int
    target_line: int
    offset: int
    until_source_line: int
    confidence: float  # that there is a slip within a few lines of here (10, less in small files)
    earliest: int  # with 90% probability the slip is at or after this source line
    latest: int  # and at or before this one

    @property
    def surplus(self) -> int:
        """Lines without a partner here: target lines if positive, source lines if negative."""
        return self.offset - (self.target_line - self.source_line)

    @property
    def is_placed(self) -> bool:
        """False if the lines are too similar, or too few, to say where the slip is."""
        return self.confidence > 0.5


@dataclass(frozen=True)
class Pairing:
    """Which lines are pairs: source and target ranges of equal length, counted from 0; and lines without a partner."""

    together: list[tuple[range, range]]
    source_alone: list[range]
    target_alone: list[range]


class SlipFeatures:
    """Reads the lines of both sides block by block and keeps 29 bytes of each."""

    def __init__(self) -> None:
        self._source: list[NDArray[np.uint8]] = []
        self._target: list[NDArray[np.uint8]] = []
        self._settled: tuple[Judge, list[Run]] | None = None

    def add(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Adds lines of both sides; the two blocks may differ in length."""
        self.add_source(source)
        self.add_target(target)

    def add_source(self, lines: Sequence[str]) -> None:
        self._source.append(sketch(lines))
        self._settled = None

    def add_target(self, lines: Sequence[str]) -> None:
        self._target.append(sketch(lines))
        self._settled = None

    def slips(self) -> list[Slip]:
        """All slips in order; [] if nothing contradicts line-by-line pairing. For different counts, the best guess.

        The last slip's offset is the difference of the counts.
        """
        judge, runs = self._settle()
        return _slips(judge, _segments(runs, len(judge.target) - len(judge.source), len(judge.source)))

    def _settle(self) -> tuple[Judge, list[Run]]:
        self._source, self._target = [_joined(self._source)], [_joined(self._target)]
        self._settled = self._settled or settle(Side(self._source[0]), Side(self._target[0]))
        return self._settled


def realign(slips: Sequence[Slip], n_source: int, n_target: int) -> Pairing:
    """The pairing that the slips imply: every line is in it once, with or without a partner."""
    pairing = Pairing([], [], [])
    source = target = 0
    for slip in slips:
        length = min(slip.source_line - 1, n_source) - source
        length = max(0, min(length, n_target - target))
        source, target = _pair_up(pairing, source, target, length)
        source, target = _leave_out(pairing, source, target, slip.offset, n_source, n_target)
    source, target = _pair_up(pairing, source, target, min(n_source - source, n_target - target))
    _leave_out(pairing, source, target, n_target - n_source, n_source, n_target)
    return pairing


def _pair_up(pairing: Pairing, source: int, target: int, length: int) -> tuple[int, int]:
    if length:
        pairing.together.append((range(source, source + length), range(target, target + length)))
    return source + length, target + length


def _leave_out(
    pairing: Pairing, source: int, target: int, offset: int, n_source: int, n_target: int
) -> tuple[int, int]:
    """Skips lines of one side until the offset is right."""
    next_source, next_target = min(max(source, target - offset), n_source), min(max(target, source + offset), n_target)
    if next_source > source:
        pairing.source_alone.append(range(source, next_source))
    if next_target > target:
        pairing.target_alone.append(range(target, next_target))
    return next_source, next_target


def _joined(blocks: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    return np.concatenate([np.zeros((0, SKETCH_BYTES), np.uint8), *blocks])


def _segments(runs: list[Run], last_offset: int, lines: int) -> list[Run]:
    """The runs that have an offset, each extended to the next, equal neighbours merged. The first has offset 0."""
    segments = [Run(0, 0, 0)]
    for run in [*runs, Run(lines, lines, last_offset)]:
        if run.offset is None or run.offset == segments[-1].offset:
            segments[-1] = Run(segments[-1].first, run.last, segments[-1].offset)
        else:
            segments.append(run)
    return segments


def _slips(judge: Judge, segments: list[Run]) -> list[Slip]:
    slips: list[Slip] = []
    begin = 0
    for before, after, later in zip(segments, segments[1:], [*segments[2:], None], strict=False):
        change = _Change(begin, max(begin, after.last), _offset(before), _offset(after))
        saved = 0 if later is None else 2 if later.offset == before.offset else 1
        slip = change.place(judge, near=after.first, stay=COST * saved)
        begin = min(slip.source_line - 1 + max(0, -slip.surplus), len(judge.source))
        slips.append(slip)
    ends = [slip.source_line - 1 for slip in slips[1:]] + [len(judge.source)]
    return [_until(slip, end) for slip, end in zip(slips, ends, strict=False)]


def _until(slip: Slip, end: int) -> Slip:
    first_pair = slip.source_line + max(0, -slip.surplus)
    return replace(slip, until_source_line=end if end >= first_pair else slip.source_line - 1)


def _offset(segment: Run) -> int:
    assert segment.offset is not None
    return segment.offset


@dataclass(frozen=True)
class _Change:
    """A change of the offset, somewhere from source line `first` to `last` (counted from 0)."""

    first: int
    last: int
    before: int
    after: int

    @property
    def alone(self) -> int:
        """Source lines that the change leaves without a partner."""
        return max(0, self.before - self.after)

    def place(self, judge: Judge, *, near: int, stay: float) -> Slip:
        """The most likely place, searched around `near`, and further away if that is not conclusive.

        `stay` is what not changing at all would save, in nats.
        """
        reach = _REACH
        while True:
            first, last = max(self.first, near - reach - self.alone), min(self.last, near + reach + self.alone)
            slip = replace(self, first=first, last=last)._place(judge, stay)
            clear_before = first == self.first or slip.earliest > first + reach // 2
            clear_after = last == self.last or slip.latest < last - self.alone - reach // 2
            if clear_before and clear_after:
                return slip
            reach *= 8

    def _place(self, judge: Judge, stay: float) -> Slip:
        nats, unchanged = self._profile(judge)
        best = int(nats.argmax())
        likely = np.exp(nats - nats[best])
        total = likely.sum() + np.exp(min(unchanged + stay - nats[best], 700.0)) * (stay > 0)
        near = min(_TOLERANCE, len(judge.source) // 50)
        inner = np.searchsorted(np.cumsum(likely) / likely.sum(), [0.05, 0.95])
        earliest, latest = (self.first + 1 + min(int(place), len(nats) - 1) for place in inner)
        line = self.first + best + 1
        confidence = min(float(likely[max(0, best - near) : best + near + 1].sum() / total), _SURE)
        return Slip(line, line + self.before, self.after, len(judge.source), confidence, earliest, latest)

    def _profile(self, judge: Judge) -> tuple[NDArray[np.float64], float]:
        """The nats of a change at each place, without the lines that get no partner; and of no change."""
        before = _summed(judge.at(self.first, self.last, self.before))
        after = _summed(judge.at(self.first, self.last, self.after))
        places = max(1, len(before) - self.alone)
        resumed = np.minimum(np.arange(places) + self.alone, len(after) - 1)
        return before[:places] + after[-1] - after[resumed], float(before[-1])


def _summed(nats: Floats) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(nats, dtype=np.float64)])
