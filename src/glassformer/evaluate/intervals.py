"""The score of a model with its 95% confidence interval: the range to expect on other examples of the same kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from glassformer.evaluate.metric import Counts, Measured, Metric, check_alike, percent_of
from glassformer.evaluate.score import Score

RESAMPLES, SEED = 1000, 12345
Z = 1.96  # of a normal distribution: 95% is within


def score_with_interval(
    metric: Metric,
    predictions: Sequence[Any],
    examples: Sequence[Any],
    *,
    resamples: int = RESAMPLES,
    decoding: str = "",
) -> Score:
    """The score of all examples, with an interval by a seeded bootstrap; that of a share of the examples is Wilson's.

    Metrics of losses take (N, 2) losses as predictions. If the field has its own way to compute the interval
    (sacreBLEU's), that is used, with its signature.
    """
    check_alike(predictions, examples)
    if metric.own_interval is not None:
        return replace(metric.own_interval(predictions, examples, resamples), decoding=decoding)
    found = Measured(metric, metric.counts(predictions, examples))
    low, high = share_interval(found) or widened(found, bootstrap(found, resamples=resamples))
    signature = metric.signature(examples) if metric.signature else ""
    return Score(metric.label, found.total, low, high, signature, len(examples), decoding, key=metric.key)


def share_interval(found: Measured) -> tuple[float, float] | None:
    """Wilson's interval in percent, if the score is the share of the examples that are right; None if it is not.

    A bootstrap of examples that are all right has no width. So this is also the interval of a share of parts, such as
    words, if the parts of all examples are right, or wrong: it counts the examples.
    """
    if found.metric.score is not percent_of:
        return None
    right, parts = found.values[:, 0], found.values[:, 1]
    all_alike = bool(np.all(parts > 0)) and (np.all(right == parts) or not right.any())
    if not all_alike and not (np.all(parts == 1) and np.all((right == 0) | (right == 1))):
        return None
    low, high = wilson(int(np.count_nonzero(right)), len(right))
    return 100 * low, 100 * high


def bootstrap(found: Measured, *, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[float, float]:
    """95% interval: N of the N examples are drawn with replacement, `resamples` times."""
    random, count = np.random.default_rng(seed), len(found.values)
    sums = np.stack([drawn_sum(found.values, random.integers(0, count, count)) for _ in range(resamples)])
    low, high = np.percentile(found.metric.score(sums), [2.5, 97.5]).tolist()
    return low, high


def widened(found: Measured, interval: tuple[float, float]) -> tuple[float, float]:
    """The interval, with a width if all examples are right, or all wrong: resamples of them are all alike.

    Wilson's limit for n right examples is n / (n + z^2): the score after z^2 = 3.84 wrong ones. The same number is
    added here, where it changes the score most: all in one class, taken for one other. So the limit is that of
    accuracy if classes are equally frequent, and farther away if the score depends on a class with few examples.
    """
    ways = found.metric.exceptions(found.values) if found.metric.exceptions else None
    if ways is None:
        return interval
    scores = found.metric.score(found.values.sum(axis=0) + Z * Z * ways)
    return min(interval[0], float(scores.min())), max(interval[1], float(scores.max()))


def drawn_sum(values: Counts, drawn: np.ndarray) -> Counts:
    """(counts,) The sum over the drawn examples; an index may occur several times."""
    times: Counts = np.bincount(drawn, minlength=len(values)).astype(np.float64)
    total: Counts = times @ values
    return total


def wilson(right: int, count: int) -> tuple[float, float]:
    """The 95% interval of a share, by Wilson (1927); it holds for few examples and for shares near 0 and 1."""
    z, share = Z, right / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return max(0.0, middle - half), min(1.0, middle + half)
