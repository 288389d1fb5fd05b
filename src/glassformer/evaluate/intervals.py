"""The score of a model with its 95% confidence interval: the range to expect on other examples of the same kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from glassformer.evaluate.metric import Counts, Measured, Metric, check_alike
from glassformer.evaluate.score import Score

RESAMPLES, SEED = 1000, 12345


def score_with_interval(
    metric: Metric,
    predictions: Sequence[Any],
    examples: Sequence[Any],
    *,
    resamples: int = RESAMPLES,
    decoding: str = "",
) -> Score:
    """The score of all examples, with an interval by a seeded bootstrap.

    Metrics of losses take (N, 2) losses as predictions. If the field has its own way to compute the interval
    (sacreBLEU's), that is used, with its signature.
    """
    check_alike(predictions, examples)
    if metric.own_interval is not None:
        return replace(metric.own_interval(predictions, examples, resamples), decoding=decoding)
    found = Measured(metric, metric.counts(predictions, examples))
    low, high = bootstrap(found, resamples=resamples)
    signature = metric.signature(examples) if metric.signature else ""
    return Score(metric.label, found.total, low, high, signature, len(examples), decoding, key=metric.key)


def bootstrap(found: Measured, *, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[float, float]:
    """95% interval: N of the N examples are drawn with replacement, `resamples` times."""
    random, count = np.random.default_rng(seed), len(found.values)
    sums = np.stack([drawn_sum(found.values, random.integers(0, count, count)) for _ in range(resamples)])
    low, high = np.percentile(found.metric.score(sums), [2.5, 97.5]).tolist()
    return low, high


def drawn_sum(values: Counts, drawn: np.ndarray) -> Counts:
    """(counts,) The sum over the drawn examples; an index may occur several times."""
    times: Counts = np.bincount(drawn, minlength=len(values)).astype(np.float64)
    total: Counts = times @ values
    return total
