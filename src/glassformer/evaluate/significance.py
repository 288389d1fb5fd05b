"""Whether one model is better than another: both predict the same examples, and their difference is tested.

The p-value comes from paired approximate randomization (Noreen 1989; Riezler and Maxwell 2005): if both models were
equally good, it would not matter which of them made a prediction. So their predictions are swapped at random, example
by example, and the p-value is the share of trials with a difference at least as large as the real one. The interval
comes from the paired bootstrap (Koehn 2004). Both work on the counts of each example, for any metric, and are seeded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.evaluate.metric import Counts, Metric, ScoreOf

TRIALS, RESAMPLES, SEED = 10_000, 2_000, 12345
CELLS = 4_000_000  # the most cells, trials by examples, that are in memory at a time
FEW = 10  # examples: with fewer, chance decides, and a bootstrap of them looks more precise than it is
TIE = 1e-9  # differences that are equal except for rounding count as equal


@dataclass(frozen=True)
class Difference:
    """Two models on the same examples, by one metric."""

    metric: str  # its label
    first: float
    second: float
    p: float  # probability of a difference at least this large, in either direction, if both were equally good
    low: float  # 95% interval of second - first
    high: float
    sentences: int  # examples
    signature: str = ""
    key: str = ""  # of the metric
    higher_is_better: bool = True
    digits: int = 1
    unit: str = "sentences"  # what the examples are called

    @property
    def value(self) -> float:
        return self.second - self.first

    @property
    def decides(self) -> bool:
        """Whether there are enough examples for the p-value and the interval to mean anything."""
        return self.sentences >= FEW


def difference(
    metric: Metric, first: Counts, second: Counts, *, about: str = "", unit: str = "sentences"
) -> Difference:
    """The two scores, the p-value of their difference, and its interval; `about` is the metric's own signature."""
    score = metric.score
    one, other = (float(score(counts.sum(axis=0, keepdims=True))[0]) for counts in (first, second))
    low, high = bootstrap_interval(first, second, score)
    return Difference(
        metric.label,
        one,
        other,
        randomization_p(first, second, score),
        low,
        high,
        len(first),
        f"{about or metric.key}|ar:{TRIALS}|bs:{RESAMPLES}|seed:{SEED}",
        key=metric.key,
        higher_is_better=metric.higher_is_better,
        digits=metric.digits,
        unit=unit,
    )


def randomization_p(
    first: Counts, second: Counts, score: ScoreOf, *, trials: int | None = None, seed: int = SEED
) -> float:
    """The share of random swaps with at least the real difference; the real one counts as one of them."""
    trials = trials or TRIALS
    real = abs(_score_gap(first, second, score))
    random, hits = np.random.default_rng(seed), 0
    for size in _chunks(trials, len(first)):
        kept = random.integers(2, size=(size, len(first)), dtype=bool).astype(np.float64)
        gap = score(kept @ first + (1 - kept) @ second) - score((1 - kept) @ first + kept @ second)
        hits += int((np.abs(gap) >= real - TIE).sum())
    return (hits + 1) / (trials + 1)


def bootstrap_interval(
    first: Counts, second: Counts, score: ScoreOf, *, resamples: int | None = None, seed: int = SEED
) -> tuple[float, float]:
    """95% interval of the difference: examples are drawn with replacement, the same ones for both."""
    resamples = resamples or RESAMPLES
    random, count = np.random.default_rng(seed), len(first)
    gaps = []
    for size in _chunks(resamples, count):
        drawn = random.multinomial(count, np.full(count, 1 / count), size=size).astype(np.float64)
        gaps.append(score(drawn @ second) - score(drawn @ first))
    low, high = np.percentile(np.concatenate(gaps), [2.5, 97.5]).tolist()
    return low, high


def paired_gap(first: Counts, second: Counts, score: ScoreOf) -> tuple[float, float]:
    """second - first, and its standard error by the jackknife: the difference again without each example in turn.

    Nothing is drawn at random, and N + 1 scores are enough. The error for a single example is not known: infinite.
    """
    gain, count = _score_gap(first, second, score), len(first)
    if count < 2:
        return gain, float("inf")
    without = score(second.sum(axis=0) - second) - score(first.sum(axis=0) - first)  # (N,)
    return gain, float(np.sqrt((count - 1) * np.var(without)))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for several comparisons (Holm 1979): among many, a small p-value is more likely by chance."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _score_gap(first: Counts, second: Counts, score: ScoreOf) -> float:
    one, other = (score(counts.sum(axis=0, keepdims=True))[0] for counts in (first, second))
    return float(other - one)


def _chunks(total: int, examples: int) -> Iterator[int]:
    most = max(1, CELLS // examples)
    for done in range(0, total, most):
        yield min(most, total - done)
