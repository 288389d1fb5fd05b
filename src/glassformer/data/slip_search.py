"""Offsets further away than the path looks: a passage is correlated with the whole of the other side at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from glassformer.data.slip_evidence import Floats
from glassformer.data.slip_path import COST, Judge, Run

_PASSAGE = 2048  # lines correlated at a time
_SHORTEST = 200  # fewer lines have a lookalike somewhere in a large file
_PASSAGES = 64  # at most, so that two files that have nothing in common are given up soon
_DIRECTIONS = 16  # the strongest ones do


def far_offsets(judge: Judge, lost: Sequence[Run]) -> list[Run]:
    """Lost passages for which a place was found after all, with its offset."""
    passages = list(_passages(lost))[:_PASSAGES]
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
        if float(judge.at(passage.first, passage.last, offset).sum()) > COST:
            found.append(Run(passage.first, passage.last, offset))
    return found


def _passages(lost: Sequence[Run]) -> Iterator[Run]:
    for run in lost:
        for first in range(run.first, run.last, _PASSAGE):
            if min(first + _PASSAGE, run.last) - first >= _SHORTEST:
                yield Run(first, min(first + _PASSAGE, run.last), None)


def _best_lag(left: Floats, spectrum: np.ndarray, size: int) -> int:
    """How many lines into the target the passage fits best."""
    product = (spectrum * np.fft.rfft(left, size, axis=0).conj()).sum(1)
    lag = int(np.fft.irfft(product, size).argmax())
    return lag if lag < size - _PASSAGE else lag - size
