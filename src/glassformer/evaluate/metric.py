"""A metric: its name, whether higher or lower is better, and how it is computed from the counts of single examples.

Counts of examples add up, and the score of their sum is the score of all examples together. So intervals, paired tests
and the choice of the weights to keep work for every metric in the same way (evaluate/significance.py).

An example is what a task reads. Metrics use its last element, the correct answer: the references of a text, or its
label. If a metric needs more than the examples (a language, the names of all classes), a function makes it
(`translation_metrics(language)`, `class_metrics(labels)`). Such metrics have the same keys, labels and directions as
those made without that information.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glassformer.errors import DataError

if TYPE_CHECKING:
    from glassformer.evaluate.score import Score

Counts = NDArray[np.float64]  # (examples, counts), or (trials, counts) when summed
ScoreOf = Callable[[Counts], NDArray[np.float64]]  # (trials, counts) -> (trials,)

AUTO = "auto"  # best_by: the loss and the headline metric decide together


@dataclass(frozen=True)
class Scale:
    """What the values of a metric mean, for charts and for reports in words. None: unknown."""

    low: float = 0.0  # the ends of the scale
    high: float | None = 100.0  # None: no upper end
    words: tuple[tuple[float, str], ...] = ()  # (value, what at least this value means), best first
    excellent: float | None = None  # from here on, there is little to gain
    fair: float | None = None  # below this, more data is likely to help
    weak: float | None = None  # below this, the model is hardly usable
    gain: float = 0.0  # smaller changes between validations are no trend
    noise: float = 0.0  # divided by the root of the number of examples: a change that is often chance


@dataclass(frozen=True)
class Metric:
    """One way to measure a model. Only evaluate/ and the tasks refer to a metric by its name."""

    key: str  # in settings and records: best_by = "accuracy", "valid_accuracy"
    label: str  # the name that people read
    score: ScoreOf
    counts: Callable[[Any, Any], Counts]  # (predictions, examples), or (losses, pool) if `from_losses` -> (N, counts)
    higher_is_better: bool = True
    digits: int = 1  # decimals that are shown
    unit: str = ""  # "%"
    margin: float = 0.0  # differences this small do not matter, even if they are significant
    from_losses: bool = False  # counted from the validation losses (N, 2 or more), not from predictions
    at_validations: bool = True  # measured at each validation, not only at the end
    judges_one: bool = False  # the score of a single example is meaningful
    scale: Scale = Scale()
    signature: Callable[[Sequence[Any]], str] | None = (
        None  # examples -> how it is computed, so that others can compare
    )
    applies: Callable[[Sequence[Any]], bool] | None = None  # examples -> whether any of them is measured; None: all are
    # If all examples are right, or all wrong: (ways, counts), what an example of the other kind may add; None if not
    exceptions: Callable[[Counts], Counts | None] | None = None
    # Where the field has a fixed way to compute the interval: (predictions, examples, resamples) -> Score
    own_interval: Callable[[Sequence[Any], Sequence[Any], int], Score] | None = None

    def shown(self, value: float) -> str:
        """The number as text, with its unit."""
        return f"{value:.{self.digits}f}{self.unit}"

    def gain(self, before: float, after: float) -> float:
        """How much better `after` is; negative if it is worse."""
        return after - before if self.higher_is_better else before - after

    def reaches(self, value: float, level: float | None) -> bool:
        """Whether a value is at least as good as `level`; always False if the level is None."""
        return level is not None and self.gain(level, value) >= 0

    def words(self, value: float) -> str:
        """What a value means in words; empty if unknown."""
        words = self.scale.words
        found = (text for level, text in words if self.reaches(value, level))
        return next(found, words[-1][1]) if words else ""


@dataclass(frozen=True)
class Measured:
    """A metric with the counts of each example."""

    metric: Metric
    values: Counts  # (N, counts)

    @property
    def total(self) -> float:
        """The score of all examples together."""
        return float(self.metric.score(self.values.sum(axis=0, keepdims=True))[0])


def measured(
    metrics: Iterable[Metric],
    predictions: Sequence[Any],
    examples: Sequence[Any],
    losses: Sequence[Any] | Counts | None = None,
) -> dict[str, Measured]:
    """Each metric with its counts, by key. Metrics of losses are left out if no losses are given."""
    found = {}
    for metric in metrics:
        given: Any = losses if metric.from_losses else predictions
        if given is not None:
            check_alike(given, examples)
            found[metric.key] = Measured(metric, metric.counts(given, examples))
    return found


def check_alike(predictions: Sequence[Any] | Counts, examples: Sequence[Any]) -> None:
    if not len(predictions) or len(predictions) != len(examples):
        raise DataError(
            f"Got {len(predictions):,} predictions and {len(examples):,} examples; give the same number of each, at "
            "least one."
        )


def mean_of(summed: Counts) -> NDArray[np.float64]:
    """[sum, number] -> the mean: for example a loss per token."""
    return summed[:, 0] / np.maximum(summed[:, 1], 1)


def percent_of(summed: Counts) -> NDArray[np.float64]:
    """[correct, number] -> the percentage that is correct."""
    return 100 * summed[:, 0] / np.maximum(summed[:, 1], 1)


def as_counted(losses: Sequence[Any], examples: Sequence[Any]) -> Counts:  # noqa: ARG001 (a metric's signature)
    """The losses unchanged: (N, 2 or more), sum and weight of each example first."""
    return np.asarray(losses, dtype=np.float64)


# Every task is validated by its loss: the mean over all targets, without label smoothing or dropout.
LOSS = Metric(
    "loss",
    "validation loss",
    mean_of,
    as_counted,
    higher_is_better=False,
    digits=3,
    margin=0.01,
    from_losses=True,
    judges_one=True,
    scale=Scale(high=None),
)


def by_key(metrics: Iterable[Metric]) -> dict[str, Metric]:
    """The loss and these metrics by their keys, in this order."""
    return {metric.key: metric for metric in (LOSS, *metrics)}


def headline(metrics: Iterable[Metric]) -> Metric | None:
    """The task's main metric besides the loss: the first one computed from predictions at each validation."""
    return next((metric for metric in metrics if metric.at_validations and not metric.from_losses), None)


def check_best_by(best_by: str, metrics: Iterable[Metric]) -> None:
    """Raises a ValueError, for the validator of a recipe, if `train.best_by` is not a metric of the task."""
    known = [AUTO, *(key for key, metric in by_key(metrics).items() if metric.at_validations)]
    if best_by in known:
        return
    lowered: Mapping[str, str] = {name.lower(): name for name in known}
    close = difflib.get_close_matches(best_by.lower(), list(lowered), n=1, cutoff=0.6)
    hint = f" Did you mean {lowered[close[0]]!r}?" if close else ""
    raise ValueError(f"train.best_by = {best_by!r} is not a metric of this task.{hint} Allowed: {', '.join(known)}")
