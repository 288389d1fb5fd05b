"""A claim, how it is measured, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from glassformer.tasks.experiments.claims.bench import Bench
from glassformer.tasks.experiments.repeated import Repeated

CONFIRMED, NOT_CONFIRMED, DEPENDS = "confirmed", "not confirmed", "depends"
VERDICTS = (CONFIRMED, NOT_CONFIRMED, DEPENDS)


@dataclass(frozen=True)
class Lines:
    """A line chart of a finding."""

    title: str
    across: str
    lines: Mapping[str, tuple[tuple[float, float], ...]]  # name -> points


@dataclass(frozen=True)
class Finding:
    """What an experiment found. The verdict follows from the numbers by a rule in the code."""

    verdict: str
    why: str  # a sentence with the numbers that decide
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: Mapping[str, Any] = field(default_factory=dict)  # the numbers of every seed, for other programs
    lines: tuple[Lines, ...] = ()


@dataclass(frozen=True)
class Claim:
    """One row of the page."""

    key: str
    says: str  # the claim
    how: str  # the experiment and the rule of the verdict
    settings: Mapping[str, Any]  # of its runs, in addition to those that all claims share
    measure: Callable[[Bench], Finding]


def plain_values(found: Mapping[str, Repeated]) -> dict[str, list[float]]:
    return {key: [round(value, 4) for value in one.values] for key, one in found.items()}


def is_above(difference: Repeated, margin: float = 0.0) -> bool:
    """Whether the whole interval is above the margin; the value, for a single seed."""
    interval = difference.interval
    return (difference.mean if interval is None else interval[0]) > margin


def is_within(difference: Repeated, margin: float) -> bool:
    """Whether the whole interval is between -margin and margin."""
    low, high = difference.interval or (difference.mean, difference.mean)
    return -margin <= low and high <= margin


def steps_to_reach(curve: Sequence[tuple[int, float]], loss: float) -> int | None:
    """The first validation with a loss at most this; None if there is none."""
    return next((step for step, value in curve if value <= loss), None)
