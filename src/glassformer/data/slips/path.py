"""The most likely path through two files: which target line belongs to each source line, block by block.

The offset of a source line is the number of its target line minus its own. A path keeps an offset as long as the
evidence allows, because each change has a cost. It may also be "nowhere", if nothing on the other side fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.typing import NDArray

from glassformer.data.slips.evidence import NEAR, Evidence, clip, in_odd_fold
from glassformer.data.slips.sketches import Floats, Side

COST = 16.0  # nats for a change of the offset: about one slip in ten million lines

_TOLL = 0.1  # nats per line for having an offset: without enough evidence for one, the path is nowhere
_STEP = 4  # lines per step of the path
_BLOCK = 32  # lines multiplied together
_CHUNK = 512  # lines whose candidate offsets have the same centre


@dataclass(frozen=True)
class Judge:
    """The evidence that a source line and a target line are a pair, for any two lines."""

    source: Side
    target: Side
    evidence: tuple[Evidence, ...]  # one for all lines, or one for the even folds and one for the odd folds

    def at(self, first: int, last: int, offset: int) -> Floats:
        """The evidence for source lines first to last (exclusive) at one offset; 0 where there is no target line."""
        parts = [self._at(start, min(start + _CHUNK, last), offset) for start in range(first, last, _CHUNK)]
        return np.concatenate([np.zeros(0, np.float32), *parts])

    def _at(self, first: int, last: int, offset: int) -> Floats:
        lines = np.arange(first, last)
        x, y = self.source.rows(slice(first, last)), self.target.window(first + offset, last + offset)
        nats = _by_fold(lines, [evidence.of_pairs(x, y) for evidence in self.evidence])
        return clip(nats) * self.source.worth(lines) * self.target.worth(lines + offset)

    def band(self, first: int, lowest: int, width: int) -> Floats:
        """The evidence for the chunk that begins at line `first`, at `width` offsets from `lowest`: (_CHUNK, width)."""
        lines = first + np.arange(_CHUNK + width - 1)
        x = self.source.window(first, first + _CHUNK)
        y = self.target.window(first + lowest, first + lowest + len(lines))
        nats = _by_fold(lines[:_CHUNK, None], [_band(evidence, x, y) for evidence in self.evidence])
        beside = sliding_window_view(self.target.worth(lines + lowest), width)
        return clip(nats) * self.source.worth(lines[:_CHUNK])[:, None] * beside


def _by_fold(lines: NDArray[np.int64], nats: Sequence[Floats]) -> Floats:
    """For each line, the value from the evidence that judges its fold."""
    return nats[0] if len(nats) == 1 else np.where(in_odd_fold(lines), nats[1], nats[0])


def _band(evidence: Evidence, x: Floats, y: Floats) -> Floats:
    """Evidence for row r of x with rows r to r + width of y, for every r: (len(x), width)."""
    left, of_x = evidence.of_sources(x)
    right, of_y = evidence.of_targets(y)
    width = len(y) - len(x) + 1
    beside = sliding_window_view(right, _BLOCK + width - 1, axis=0)[::_BLOCK]  # (blocks, D, _BLOCK + width - 1)
    square = left.reshape(len(beside), _BLOCK, -1) @ beside  # more than needed, but in one fast product
    block, row, item = square.strides
    between = as_strided(square, (len(beside), _BLOCK, width), (block, row + item, item))  # its diagonals
    return between.reshape(len(x), width) + of_x[:, None] + sliding_window_view(of_y, width)


@dataclass(frozen=True)
class Run:
    """Source lines first to last (exclusive), paired with the target lines at this offset; None: with none."""

    first: int
    last: int
    offset: int | None


@dataclass
class _Leg:
    """The path's back-pointers for one chunk, one row per step."""

    first: int
    offsets: NDArray[np.int64]
    changed: NDArray[np.bool_]  # (steps, offsets): came here from another offset
    lost: NDArray[np.bool_]  # (steps,): came to nowhere from an offset
    found: NDArray[np.bool_]  # (steps,): a change came from nowhere; else from `best`
    best: NDArray[np.int64]  # (steps,): the best offset before the step


def likeliest(judge: Judge, hints: Sequence[Run] = (), *, may_be_nowhere: bool = True) -> list[Run]:
    """The runs of the best path, in order; together they cover all source lines. `hints` are far offsets to try."""
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
        nats[: len(judge.source) - first] -= np.float32(_TOLL)
        leg, nowhere = _walk(first, offsets, nats.reshape(-1, _STEP, len(offsets)).sum(1), values, nowhere)
        legs.append(leg)
    values = values - np.where(offsets == last_offset, 0, COST)
    end = None if nowhere - COST / 2 > values.max() else int(offsets[values.argmax()])
    return _runs(legs, end, len(judge.source))


def _ranges(*middles: int) -> list[tuple[int, int]]:
    """(lowest, width) of the offsets around the middles; overlapping ranges are merged."""
    ranges: list[tuple[int, int]] = []
    for middle in sorted(middles):
        low, high = middle - NEAR, middle + NEAR
        if ranges and low <= sum(ranges[-1]):
            low = ranges.pop()[0]
        ranges.append((low, high - low + 1))
    return ranges


def _carried(offsets: NDArray[np.int64], values: NDArray[np.float64], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values of the offsets in `wanted`; a new offset can only be reached by a change."""
    place = np.minimum(np.searchsorted(offsets, wanted), len(offsets) - 1)
    return np.where(offsets[place] == wanted, values[place], -np.inf)


def _walk(
    first: int, offsets: NDArray[np.int64], nats: Floats, values: NDArray[np.float64], nowhere: float
) -> tuple[_Leg, float]:
    """A Viterbi step for each row of nats; updates `values` in place."""
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
    """Traces the path back from its end."""
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
    """The last step before `step` at which the path changed to this offset, and from where."""
    came = leg.lost if offset is None else leg.changed[:, np.searchsorted(leg.offsets, offset)]
    steps = np.flatnonzero(came[:step])
    if not len(steps):
        return None
    last = int(steps[-1])
    return last, None if offset is not None and leg.found[last] else int(leg.best[last])
