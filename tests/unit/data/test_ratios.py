"""The histogram of how long targets are against what is expected."""

from __future__ import annotations

import math

import numpy as np

from glassformer.data.checks.findings import Findings
from glassformer.data.checks.ratios import MIDDLE, STEPS, Ratios
from glassformer.data.checks.screen import screen
from glassformer.data.readers.records import Place, Record


def test_doublings_are_equally_far_apart_and_the_ends_hold_all_beyond() -> None:
    ratios = Ratios()
    ratios.add(np.log(np.array([1.0, 1.01, 2.0, 0.5, 1e9, 1e-9, 1e-8])))
    found = {int(place): int(ratios.counts[place]) for place in np.flatnonzero(ratios.counts)}
    assert found == {MIDDLE: 2, MIDDLE + STEPS: 1, MIDDLE - STEPS: 1, 2 * MIDDLE: 1, 0: 2}


def test_adding_nothing_changes_nothing() -> None:
    ratios = Ratios()
    ratios.add(np.zeros(0))
    assert not ratios.counts.any()


def test_every_usable_pair_is_counted_against_what_is_usual_in_the_corpus() -> None:
    """Targets twice as long as their sources are just as long as expected where all are."""
    pairs = [Record("a" * n, "b" * 2 * n, Place("x", n, 0)) for n in range(100, 170)]
    findings = Findings()
    list(screen([*pairs, Record("a" * 190, "b" * 90, Place("x", 171, 0))], findings=findings, examine=math.inf))
    assert findings.ratios.counts.sum() == 71
    assert findings.ratios.counts[MIDDLE] == 70
    far = MIDDLE + round(STEPS * math.log2((90 + 10) / (findings.profile.length_factor * 190 + 10)))
    assert findings.ratios.counts[far] == 1
