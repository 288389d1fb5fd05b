"""What the page of a comparison of runs shows, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glassformer.evaluate.score import Score


@dataclass(frozen=True)
class ShownDifference:
    """A run against the first one, by one metric."""

    name: str
    metric: str
    value: float
    low: float
    high: float
    p: float
    words: str


@dataclass(frozen=True)
class ShownDifferent:
    """A sentence that the runs translate differently well; translations and their chrF by run."""

    source: str
    references: tuple[str, ...]
    translations: tuple[str, ...]
    chrf: tuple[float, ...]


@dataclass(frozen=True)
class ShownComparison:
    """Runs side by side."""

    names: Sequence[str]
    settings: Sequence[tuple[str, Sequence[str]]]  # those that differ
    curves: Sequence[Mapping[str, float | None]]  # "valid_bleu 1" is the BLEU of the second run
    scores: Sequence[Sequence[Score]]  # by run
    differences: Sequence[ShownDifference]
    sentences: Sequence[ShownDifferent]
    notes: Sequence[str]
