"""Tables of the report of a model that writes texts: the worst outputs, and simple methods to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glassformer.evaluate.metric import Metric
from glassformer.evaluate.several import metrics_of
from glassformer.explain.report import ShownTable
from glassformer.tasks.evaluating import Evaluation

MOST_WORST, MOST_TEXT = 12, 400  # limits for the report


def worst_table(found: Evaluation, data: Any, metrics: Sequence[Metric]) -> list[ShownTable]:  # noqa: ARG001
    """The outputs with the lowest scores, by the main metric of each task that can judge one example."""
    rows: list[tuple[float, str, int]] = []
    for name, measure in zip(data.names, data.measures, strict=True):
        judge = next(metric for metric in metrics_of(measure) if metric.judges_one)
        own = [i for i, example in enumerate(found.examples) if example[0] == name]
        rows += [(value, judge.label, i) for value, i in zip(scores_of(judge, found, own), own, strict=True)]
    return table_of(sorted(rows)[:MOST_WORST], found)


def worst_by(metric: Metric, found: Evaluation) -> list[ShownTable]:
    """The same for a task with one metric."""
    places = list(range(len(found.examples)))
    rows = [(value, metric.label, i) for value, i in zip(scores_of(metric, found, places), places, strict=True)]
    return table_of(sorted(rows)[:MOST_WORST], found)


def scores_of(metric: Metric, found: Evaluation, places: Sequence[int]) -> list[float]:
    if not places:
        return []
    counts = metric.counts([found.predictions[i] for i in places], [found.examples[i] for i in places])
    values: list[float] = metric.score(counts).tolist()
    return values


def table_of(rows: Sequence[tuple[float, str, int]], found: Evaluation) -> list[ShownTable]:
    cells = []
    for value, label, i in rows:
        task, source, references = found.examples[i]
        prompt = f"{task}: {source}" if task else source
        wanted = " / ".join(references)
        cells.append((f"{label} {value:.1f}", found.predictions[i][:MOST_TEXT], wanted[:MOST_TEXT], prompt[:MOST_TEXT]))
    note = "The outputs with the lowest scores, with their references and inputs."
    head = ("Score", "Output", "References", "Input")
    return [ShownTable("worst", "The worst outputs", note, head, tuple(cells))] if cells else []


def baseline_table(found: Evaluation, model: str = "this model") -> list[ShownTable]:
    """The scores of the model beside those of simple methods."""
    if not found.baselines:
        return []
    own = {score.key: score.value for score in found.scores}
    compared: Mapping[str, Mapping[str, float]] = {model: own, **found.baselines}
    keys = list(next(iter(found.baselines.values())))
    labels = {score.key: score.name for score in found.scores}
    rows = tuple((name, *(f"{values[key]:.1f}" for key in keys)) for name, values in compared.items())
    note = "Simple methods that need no training, on the same examples."
    return [ShownTable("baselines", "Beside simple methods", note, ("", *(labels[key] for key in keys)), rows)]
