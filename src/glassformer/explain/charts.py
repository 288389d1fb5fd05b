"""The charts and metrics of a page as plain data, so that the scripts of the page need to know no metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from glassformer.evaluate.metric import LOSS, Metric

LOWER, HIGHER = "lower is better", "higher is better"


@dataclass(frozen=True)
class ShownMetric:
    """What a page needs to know about a metric."""

    key: str
    label: str
    digits: int = 1
    unit: str = ""
    better: str = HIGHER
    low: float = 0.0  # the ends of the scale
    high: float | None = 100.0  # None: no upper end
    at_validations: bool = True


@dataclass(frozen=True)
class Chart:
    """Lines over the training steps."""

    key: str  # of its note
    title: str
    series: tuple[tuple[str, str], ...]  # column of the curves, name of the line
    better: str = ""
    digits: int | None = None  # None: as many as the value needs
    unit: str = ""
    zero: bool = False  # the axis begins at 0


def shown_metrics(metrics: Iterable[Metric]) -> list[ShownMetric]:
    return [
        ShownMetric(
            one.key,
            one.label,
            one.digits,
            one.unit,
            HIGHER if one.higher_is_better else LOWER,
            one.scale.low,
            one.scale.high,
            one.at_validations,
        )
        for one in metrics
    ]


def run_charts(metrics: Iterable[ShownMetric], held: str = "examples", tokens: str = "tokens") -> list[Chart]:
    """Loss, metrics at each validation, learning rate and speed. Metrics with the same scale share a chart."""
    loss = Chart("loss", "Loss", (("train_loss", "training"), ("valid_loss", "validation")), LOWER)
    rate = Chart("rate", "Learning rate", (("lr", "learning rate"),), zero=True)
    name = f"{tokens} per second"
    speed = Chart("speed", name.capitalize(), (("tokens_per_second", name),), zero=True)
    return [loss, *(score_chart(group, held) for group in by_scale(metrics)), rate, speed]


def by_scale(metrics: Iterable[ShownMetric]) -> list[list[ShownMetric]]:
    """The metrics measured at each validation, grouped by axis; a metric with an open scale has its own group."""
    groups: dict[tuple[object, ...], list[ShownMetric]] = {}
    for one in metrics:
        scale = (one.low, one.high, one.unit, one.digits, one.better, one.key if one.high is None else "")
        if one.at_validations and one.key != LOSS.key:  # the loss has a chart of its own, with the training loss
            groups.setdefault(scale, []).append(one)
    return list(groups.values())


def score_chart(group: Sequence[ShownMetric], held: str) -> Chart:
    first = group[0]
    title = f"Score on validation {held}" if len(group) > 1 else f"{capital(first.label)} on validation {held}"
    series = tuple((f"valid_{one.key}", one.label) for one in group)
    return Chart("score", title, series, first.better, first.digits, first.unit)


def compared_charts(metrics: Sequence[ShownMetric], names: Sequence[str], held: str = "examples") -> list[Chart]:
    """The same curve of several runs in one chart: the first metric, losses and speed."""
    known = [one for one in metrics[:1] if one.at_validations]
    rows: list[tuple[str, str, str, int | None]] = [
        (f"valid_{one.key}", f"{capital(one.label)} on validation {held}", one.better, one.digits) for one in known
    ]
    rows += [("valid_loss", "Validation loss", LOWER, None), ("train_loss", "Training loss", LOWER, None)]
    charts = [
        Chart(key, title, lines_of(key, names), better, digits, known[0].unit if digits is not None else "")
        for key, title, better, digits in rows
    ]
    return [
        *charts,
        Chart("speed", "Tokens per second", lines_of("tokens_per_second", names), zero=True),
    ]


def lines_of(key: str, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`valid_loss 1` is the column of the second run."""
    return tuple((f"{key} {i}", name) for i, name in enumerate(names))


def columns_of(charts: Iterable[Chart]) -> list[str]:
    """Every column of the curves that the charts draw, and the step."""
    return ["step", *dict.fromkeys(key for chart in charts for key, _ in chart.series)]


def capital(text: str) -> str:
    """A label with a capital first letter; a label with its own mixed spelling (chrX) is unchanged."""
    return text[:1].upper() + text[1:] if text.split(" ")[0].islower() else text
