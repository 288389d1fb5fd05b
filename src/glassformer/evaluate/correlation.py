"""Scores of predicted numbers: Pearson's and Spearman's correlation.

An example's last element is its true number; a prediction is a number. Spearman's correlation is Pearson's of the
ranks, with the mean rank for equal numbers. Its interval ranks every resample again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.evaluate.classes import CORRELATION
from glassformer.evaluate.intervals import SEED
from glassformer.evaluate.metric import Counts, Metric
from glassformer.evaluate.score import Score

Numbers = NDArray[np.float64]
TINY = 1e-12  # relative; a smaller variance is rounding


def true_numbers(examples: Sequence[Sequence[Any]]) -> Numbers:
    """The last element of each example."""
    return np.array([float(example[-1]) for example in examples])


def pearson_counts(predictions: Sequence[float], examples: Sequence[Any]) -> Counts:
    """(N, 6): x, y, x^2, y^2, x y and 1, both measured from the mean, which changes no correlation."""
    return products_of(np.asarray(predictions, dtype=np.float64), true_numbers(examples))


def spearman_counts(predictions: Sequence[float], examples: Sequence[Any]) -> Counts:
    """The same of the ranks among all examples."""
    return products_of(ranks(np.asarray(predictions, dtype=np.float64)), ranks(true_numbers(examples)))


def products_of(x: Numbers, y: Numbers) -> Counts:
    x, y = x - x.mean(), y - y.mean()
    return np.stack([x, y, x * x, y * y, x * y, np.ones_like(x)], axis=1)


def ranks(values: Numbers) -> Numbers:
    """The rank of each number from 1; equal numbers share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    shared: Numbers = (last - (count - 1) / 2)[place]
    return shared


def pearson(summed: Counts) -> Numbers:
    """(trials, 6) -> the correlation of each trial; 0 where either side is constant."""
    x, y, xx, yy, xy, n = summed.T
    n = np.maximum(n, 1)
    covariance, var_x, var_y = xy - x * y / n, xx - x * x / n, yy - y * y / n
    known = (var_x > TINY * xx) & (var_y > TINY * yy) & (var_x > 0) & (var_y > 0)
    spread = np.sqrt(np.where(known, var_x * var_y, 1.0))
    found: Numbers = np.clip(np.where(known, covariance / spread, 0.0), -1.0, 1.0)
    return found


def spearman_interval(predictions: Sequence[float], examples: Sequence[Any], resamples: int) -> Score:
    """Spearman's correlation with its 95% interval by the bootstrap; the ranks are those of each resample."""
    x, y = np.asarray(predictions, dtype=np.float64), true_numbers(examples)
    value = float(pearson(products_of(ranks(x), ranks(y)).sum(axis=0, keepdims=True))[0])
    random, count = np.random.default_rng(SEED), len(x)
    drawn = (random.integers(0, count, count) for _ in range(resamples))
    sums = np.stack([products_of(ranks(x[one]), ranks(y[one])).sum(axis=0) for one in drawn])
    low, high = np.percentile(pearson(sums), [2.5, 97.5]).tolist()
    return Score(SPEARMAN.label, value, low, high, "", count, key=SPEARMAN.key)


PEARSON = Metric("pearson", "Pearson correlation", pearson, pearson_counts, digits=3, scale=CORRELATION)
SPEARMAN = Metric(
    "spearman",
    "Spearman correlation",
    pearson,
    spearman_counts,
    digits=3,
    scale=CORRELATION,
    own_interval=spearman_interval,
)
