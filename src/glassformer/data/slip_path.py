"""The likeliest way through two files: which target line stands beside each source line, block by block.

The offset of a source line is the number of its target line minus its own. A path holds an offset for as long as the
evidence allows, because each change costs; it may also be nowhere, where nothing on the other side fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.typing import NDArray

from glassformer.data.slip_evidence import FOLD, NEAR, WIDTH, Floats, Pair, Side, clip

COST = 16.0  # nats for a change of the offset: about one slip in ten million lines

_TOLL = 0.1  # nats a line for being somewhere: an offset must be worth it, else the path rests nowhere
_STEP = 4  # lines that the path takes at a time
_CHUNK = 16 * FOLD  # lines whose offsets lie around the same middle


@dataclass(frozen=True)
class Judge:
    """The evidence for any source line beside any target line."""

    source: Side
    target: Side
    evidence: Pair

    def at(self, first: int, last: int, offset: int) -> Floats:
        """Of source lines first to last (exclusive), all at one offset; nought where there is no target line."""
        parts = [self._at(start, min(start + _CHUNK, last), offset) for start in range(first, last, _CHUNK)]
        return np.concatenate([np.zeros(0, np.float32), *parts])

    def _at(self, first: int, last: int, offset: int) -> Floats:
        lines = np.arange(first, last)
        x, y = self.source.rows(slice(first, last)), self.target.window(first + offset, last + offset)
        odd = (lines // FOLD) % 2 == 1
        nats = np.where(odd, self.evidence[1].of_pairs(x, y), self.evidence[0].of_pairs(x, y))
        return self._inside(clip(nats), lines + offset)

    def band(self, first: int, lowest: int, width: int) -> Floats:
        """Of a whole chunk from line `first` on, at `width` offsets from `lowest` on: (_CHUNK, width)."""
        x = self.source.window(first, first + _CHUNK).reshape(-1, FOLD, WIDTH)
        y = self.target.window(first + lowest, first + lowest + _CHUNK + width - 1)
        nats = np.empty((len(x), FOLD, width), np.float32)
        for parity, evidence in enumerate(self.evidence):
            left, of_x = evidence.of_sources(x[parity::2].reshape(-1, WIDTH))
            right, of_y = evidence.of_targets(y)
            here = nats[parity::2]
            here[:] = _diagonals(left.reshape(len(here), FOLD, -1), right[parity * FOLD :], width)
            here += of_x.reshape(len(here), FOLD, 1)
            here += sliding_window_view(of_y, width).reshape(-1, FOLD, width)[parity::2]
        lines = first + np.arange(_CHUNK)[:, None]
        return self._inside(clip(nats.reshape(_CHUNK, width)), lines + lowest + np.arange(width))

    def _inside(self, nats: Floats, target_lines: NDArray[np.int64]) -> Floats:
        nats[(target_lines < 0) | (target_lines >= len(self.target))] = 0
        return nats


def _diagonals(left: Floats, right: Floats, width: int) -> Floats:
    """Row r of every other fold times rows r to r + width of what lies beside it, (folds, FOLD, width)."""
    windows = sliding_window_view(right, FOLD + width - 1, axis=0)[:: 2 * FOLD]  # (folds, D, FOLD + width - 1)
    square = left @ windows  # more than is asked for, but one fast product
    fold, row, item = square.strides
    return as_strided(square, (len(square), FOLD, width), (fold, row + item, item))


@dataclass(frozen=True)
class Run:
    """Source lines first to last (exclusive) beside the target lines at this offset; None: beside none."""

    first: int
    last: int
    offset: int | None


@dataclass
class _Leg:
    """What the path remembers of one chunk, one row a step."""

    first: int
    offsets: NDArray[np.int64]
    changed: NDArray[np.bool_]  # (steps, offsets): came here from another offset
    lost: NDArray[np.bool_]  # came to nowhere from an offset
    found: NDArray[np.bool_]  # those who changed came from nowhere, else from `best`
    best: NDArray[np.int64]  # the offset that was the best before the step


def likeliest(judge: Judge, hints: Sequence[Run] = (), *, may_be_nowhere: bool = True) -> list[Run]:
    """The runs of the best path, in order; together they are all source lines. Hints name far offsets to look at."""
    last_offset = len(judge.target) - len(judge.source)
    offsets, values, nowhere = np.array([0]), np.zeros(1), -COST / 2 if may_be_nowhere else -np.inf
    legs: list[_Leg] = []
    for first in range(0, len(judge.source), _CHUNK):
        far = [hint.offset or 0 for hint in hints if hint.first < first + _CHUNK and hint.last > first]
        ranges = _ranges(int(offsets[values.argmax()]), last_offset, *far)
        wanted = np.concatenate([np.arange(low, low + width) for low, width in ranges])
        values = _carried(offsets, values, wanted)
        offsets = wanted
        nats = np.concatenate([judge.band(first, low, width) for low, width in ranges], axis=1)
        nats -= _TOLL
        nats[len(judge.source) - first :] = 0
        leg, nowhere = _walk(first, offsets, nats.reshape(-1, _STEP, len(offsets)).sum(1), values, nowhere)
        legs.append(leg)
    values = values - np.where(offsets == last_offset, 0, COST)
    end = None if nowhere - COST / 2 > values.max() else int(offsets[values.argmax()])
    return _runs(legs, end, len(judge.source))


def _ranges(*middles: int) -> list[tuple[int, int]]:
    """(lowest, width) of the offsets around the middles, overlaps joined."""
    ranges: list[tuple[int, int]] = []
    for middle in sorted(middles):
        low, high = middle - NEAR, middle + NEAR
        if ranges and low <= sum(ranges[-1]):
            low = ranges.pop()[0]
        ranges.append((low, high - low + 1))
    return ranges


def _carried(offsets: NDArray[np.int64], values: NDArray[np.float64], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values of the wanted offsets; those that are new can only be come to by a change."""
    place = np.minimum(np.searchsorted(offsets, wanted), len(offsets) - 1)
    return np.where(offsets[place] == wanted, values[place], -np.inf)


def _walk(
    first: int, offsets: NDArray[np.int64], nats: Floats, values: NDArray[np.float64], nowhere: float
) -> tuple[_Leg, float]:
    """Viterbi's step for each row of nats; `values` is brought up to date in place."""
    steps = len(nats)
    empty = np.zeros(steps, bool)
    leg = _Leg(first, offsets, np.empty((steps, len(offsets)), bool), empty, empty.copy(), np.empty(steps, np.int64))
    for step, gain in enumerate(nats):
        best = int(values.argmax())
        top = float(values[best])
        entry = max(top - COST, nowhere - COST / 2)
        leg.best[step] = offsets[best]
        leg.found[step] = entry > top - COST
        leg.lost[step] = top - COST / 2 > nowhere
        np.less(values, entry, out=leg.changed[step])
        nowhere = max(nowhere, top - COST / 2) if nowhere > -np.inf else nowhere
        np.maximum(values, entry, out=values)
        values += gain
    return leg, nowhere


def _runs(legs: list[_Leg], end: int | None, lines: int) -> list[Run]:
    """The path back from its end."""
    runs: list[Run] = []
    offset, last = end, lines
    for leg in reversed(legs):
        step = len(leg.best)
        while (change := _last_change(leg, step, offset)) is not None:
            step, before = change
            first = leg.first + step * _STEP
            if first < last:
                runs.append(Run(first, last, offset))
                last = first
            offset = before
    return [*([Run(0, last, offset)] if last else []), *reversed(runs)]


def _last_change(leg: _Leg, step: int, offset: int | None) -> tuple[int, int | None] | None:
    """The last step before `step` at which the path came to this offset, and from where."""
    came = leg.lost if offset is None else leg.changed[:, np.searchsorted(leg.offsets, offset)]
    steps = np.flatnonzero(came[:step])
    if not len(steps):
        return None
    last = int(steps[-1])
    return last, None if offset is not None and leg.found[last] else int(leg.best[last])
