"""What the page of a comparison of runs shows, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glassformer.evaluate.score import Score
from glassformer.explain.charts import Chart, ShownMetric


@dataclass(frozen=True)
class ShownDifference:
    """A run compared with the first one, by one metric; without interval and p if there are too few examples."""

    name: str
    metric: str
    value: float
    low: float | None
    high: float | None
    p: float | None
    words: str


@dataclass(frozen=True)
class ShownDifferent:
    """An example on which the runs differ; one prediction and score per run."""

    source: str
    references: tuple[str, ...]
    predictions: tuple[str, ...]  # empty if only losses are measured
    scores: tuple[float, ...]


@dataclass(frozen=True)
class ShownComparison:
    """Runs side by side."""

    names: Sequence[str]
    settings: Sequence[tuple[str, Sequence[str]]]  # those that differ
    curves: Sequence[Mapping[str, float | None]]  # "valid_loss 1" is the loss of the second run
    scores: Sequence[Sequence[Score]]  # by run
    differences: Sequence[ShownDifference]
    sentences: Sequence[ShownDifferent]
    notes: Sequence[str]
    metrics: Sequence[ShownMetric] = ()
    charts: Sequence[Chart] = ()
    judged_by: ShownMetric | None = None  # the metric of `sentences`
