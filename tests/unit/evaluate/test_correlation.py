"""Correlations and F1 of a named class equal those of scipy and scikit-learn, on generated cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from glassformer.evaluate.classes import class_metrics, with_positive
from glassformer.evaluate.correlation import PEARSON, SPEARMAN, ranks
from glassformer.evaluate.intervals import score_with_interval
from glassformer.evaluate.metric import Measured, Metric


def total(metric: Metric, predictions: Any, examples: Any) -> float:
    return Measured(metric, metric.counts(predictions, examples)).total


@pytest.mark.parametrize("case", range(12))
def test_correlations_equal_scipys(case: int) -> None:
    random = np.random.default_rng(case)
    count = int(random.integers(3, 60))
    true = random.integers(0, 6, count) + (0.0 if case % 2 else random.normal(size=count))  # with and without ties
    found = true * random.normal() + random.normal(size=count) + 1000 * (case % 3)
    examples = [(("a", "b"), str(value)) for value in true]
    if len(set(true)) == 1:
        return
    assert total(PEARSON, found, examples) == pytest.approx(stats.pearsonr(found, true).statistic, abs=1e-9)
    assert total(SPEARMAN, found, examples) == pytest.approx(stats.spearmanr(found, true).statistic, abs=1e-9)
    np.testing.assert_array_equal(ranks(true), stats.rankdata(true))


def test_a_constant_side_has_no_correlation() -> None:
    examples = [("a", 1.0), ("b", 2.0), ("c", 3.0)]
    assert total(PEARSON, [2.0, 2.0, 2.0], examples) == 0.0
    assert total(SPEARMAN, [0.1, 0.1, 0.1], examples) == 0.0


def test_intervals_hold_the_value() -> None:
    random = np.random.default_rng(5)
    true = random.normal(size=200)
    found, examples = true + random.normal(size=200), [("text", value) for value in true]
    for metric in (PEARSON, SPEARMAN):
        score = score_with_interval(metric, found.tolist(), examples, resamples=200)
        assert score.low is not None
        assert score.high is not None
        assert score.low < score.value < score.high
        assert score.value == pytest.approx(total(metric, found, examples))
        expected = (1 - score.value**2) / math.sqrt(200)  # the usual error of a correlation
        assert 0.4 * expected < (score.high - score.low) / 3.92 < 2 * expected


@pytest.mark.parametrize("case", range(8))
def test_classes_equal_scikit_learns(case: int) -> None:
    random = np.random.default_rng(case)
    true, found = (random.integers(0, 2 + case % 3, 40).astype(str) for _ in range(2))
    labels = sorted({*true, *found})
    metrics = {one.key: one for one in with_positive(class_metrics(labels), "1")}
    examples = [(("text",), label) for label in true.tolist()]
    scores = {key: total(one, found.tolist(), examples) for key, one in metrics.items()}
    assert scores["accuracy"] == pytest.approx(100 * accuracy_score(true, found))
    assert scores["f1"] == pytest.approx(100 * f1_score(true, found, average="macro"))
    assert scores["matthews"] == pytest.approx(matthews_corrcoef(true, found))
    expected = f1_score(true, found, labels=["1"], average="macro")
    assert scores["f1_positive"] == pytest.approx(100 * expected)
    assert list(metrics) == ["accuracy", "f1_positive", "f1", "matthews"]


def test_a_class_that_never_occurs_has_an_f1_of_0() -> None:
    one = with_positive(class_metrics(("0", "1")), "1")[1]
    assert total(one, ["0", "0"], [("a", "0"), ("b", "0")]) == 0.0
