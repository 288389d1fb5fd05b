"""Searches for the path: alternates between finding it and learning from it, and looks far away for lost passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassformer.data.slips.evidence import learn, prior
from glassformer.data.slips.path import Judge, Run, likeliest
from glassformer.data.slips.sketches import Floats, Side

_ROUNDS = 3  # of learning from the path and finding it again
_SETTLED = 0.02  # stop if at most this share of lines changed their offset in a round
_PASSAGE = 1024  # lines correlated together
_SHORTEST = 200  # shorter passages look similar to some place in a large file by chance
_PASSAGES = 32  # at most: a limit on the time for two files that have nothing in common
_FITS, _FITS_WELL = 0.2, 0.6  # nats per line
_AWAY = 7  # lines
_DIRECTIONS = 16  # the strongest ones are enough
_NOWHERE = np.iinfo(np.int64).min // 2  # an offset that points to no line


Walk = tuple[Judge, list[Run]]


def settle(source: Side, target: Side) -> Walk:
    """The path, and the evidence for it.

    The search starts from `_halves`. If that fails, it starts from the path that the prior evidence finds.
    """
    ignorant = Judge(source, target, prior())
    path = _improve(ignorant, _halves(len(source), len(target)))
    if _is_mostly_lost(path):
        path = _less_lost(path, _improve(ignorant, likeliest(ignorant, may_be_nowhere=False)))
    if hints := _far(path[0], ignorant, path[1]):
        judge = ignorant if _is_mostly_lost(path) else path[0]
        path = _less_lost(path, _improve(ignorant, likeliest(judge, hints), hints))
    return path


def _halves(n_source: int, n_target: int) -> list[Run]:
    """The first half aligned from the start, the second from the end: with one slip, half of the lines are right."""
    half = n_source // 2
    return [Run(0, half, 0), Run(half, n_source, n_target - n_source)]


def _improve(ignorant: Judge, runs: list[Run], hints: Sequence[Run] = ()) -> Walk:
    """Learns from a path what pairs look like and finds the path again, until it no longer changes."""
    judge = ignorant
    for _ in range(_ROUNDS):
        lines, partners = _pairs(runs, len(judge.target))
        evidence = learn(judge.source, judge.target, lines, partners)
        if evidence is None:
            break
        judge = replace(judge, evidence=evidence)
        before, runs = runs, likeliest(judge, hints)
        if (_offsets(before) != _offsets(runs)).mean() <= _SETTLED:
            break
    return judge, runs if judge is not ignorant else likeliest(ignorant, may_be_nowhere=False)


def _is_mostly_lost(path: Walk) -> bool:
    return lost_lines(path[1]) > len(path[0].source) / 2


def _less_lost(one: Walk, other: Walk) -> Walk:
    return other if lost_lines(other[1]) < lost_lines(one[1]) else one


def _far(judge: Judge, ignorant: Judge, runs: list[Run]) -> list[Run]:
    """Far places for the lost passages, found with the learnt evidence or, if that fails, with the prior."""
    lost = [run for run in runs if run.offset is None]
    return _far_offsets(judge, lost) or _far_offsets(ignorant, lost)


def lost_lines(runs: list[Run]) -> int:
    return sum(run.last - run.first for run in runs if run.offset is None)


def _pairs(runs: list[Run], n_target: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The source lines that have a partner, and the partners."""
    offsets = _offsets(runs)
    partners = np.arange(len(offsets)) + offsets
    lines = np.flatnonzero((partners >= 0) & (partners < n_target))
    return lines, partners[lines]


def _offsets(runs: list[Run]) -> NDArray[np.int64]:
    return np.concatenate(
        [np.zeros(0, np.int64)]
        + [np.full(run.last - run.first, _NOWHERE if run.offset is None else run.offset) for run in runs]
    )


def _far_offsets(judge: Judge, lost: Sequence[Run]) -> list[Run]:
    """Lost passages that fit somewhere: very well, or well if another one fits at the same offset.

    A passage is correlated with the whole other side at once.
    """
    passages = list(_passages(lost))
    passages = passages[:: -(-len(passages) // _PASSAGES) or 1]
    if not passages:
        return []
    evidence = judge.evidence[0]
    strongest = np.argsort(evidence.product)[-_DIRECTIONS:]
    targets = np.concatenate(
        [
            evidence.of_targets(judge.target.window(start, min(start + _PASSAGE, len(judge.target))))[0][:, strongest]
            for start in range(0, len(judge.target), _PASSAGE)
        ]
    )
    size = 1 << (len(targets) + _PASSAGE).bit_length()
    spectrum = np.fft.rfft(targets, size, axis=0)
    found = []
    for passage in passages:
        left = evidence.of_sources(judge.source.rows(slice(passage.first, passage.last)))[0][:, strongest]
        offset = _best_lag(left, spectrum, size) - passage.first
        found.append((Run(passage.first, passage.last, offset), _fit(judge, passage, offset)))
    fitting = Counter(run.offset for run, nats in found if nats > _FITS)
    return [run for run, nats in found if nats > _FITS_WELL or (nats > _FITS and fitting[run.offset] > 1)]


def _fit(judge: Judge, passage: Run, offset: int) -> float:
    """Nats per line, minus those a few lines away: in a sorted file, many places are slightly similar."""
    here, below, above = (
        float(judge.at(passage.first, passage.last, offset + away).mean()) for away in (0, -_AWAY, _AWAY)
    )
    return min(here, here - below, here - above)


def _passages(lost: Sequence[Run]) -> Iterator[Run]:
    for run in lost:
        for first in range(run.first, run.last, _PASSAGE):
            if min(first + _PASSAGE, run.last) - first >= _SHORTEST:
                yield Run(first, min(first + _PASSAGE, run.last), None)


def _best_lag(left: Floats, spectrum: np.ndarray, size: int) -> int:
    """The target line at which the passage fits best."""
    product = (spectrum * np.fft.rfft(left, size, axis=0).conj()).sum(1)
    lag = int(np.fft.irfft(product, size).argmax())
    return lag if lag < size - _PASSAGE else lag - size
