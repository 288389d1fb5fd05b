"""Scores with intervals: any metric by one bootstrap, sacreBLEU's by its own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glassformer.errors import DataError
from glassformer.evaluate.classes import ACCURACY, MACRO_F1, MATTHEWS, class_metrics
from glassformer.evaluate.entities import ENTITY_F1
from glassformer.evaluate.intervals import bootstrap, score_with_interval, widened
from glassformer.evaluate.metric import Measured, Metric, measured
from glassformer.evaluate.perplexity import PERPLEXITY
from glassformer.evaluate.translation import EXACT

EXAMPLES = [("text", "ab"[i % 2]) for i in range(400)]
PREDICTIONS = [label if i % 4 else "a" for i, (_, label) in enumerate(EXAMPLES)]


def test_the_interval_of_a_share_is_that_of_the_binomial() -> None:
    wrong = [label if i % 4 else "c" for i, (_, label) in enumerate(EXAMPLES)]
    score = score_with_interval(ACCURACY, wrong, EXAMPLES)
    error = 100 * math.sqrt(0.75 * 0.25 / 400)
    assert score.value == pytest.approx(75.0)
    assert score.low == pytest.approx(75 - 1.96 * error, abs=0.6)
    assert score.high == pytest.approx(75 + 1.96 * error, abs=0.6)
    assert (score.name, score.key, score.sentences) == ("accuracy", "accuracy", 400)


@pytest.mark.parametrize(
    ("prediction", "low", "high"), [("a", 100 * 20 / 23.8416, 100.0), ("b", 0.0, 100 * 3.8416 / 23.8416)]
)
def test_the_interval_of_all_or_none_has_a_width(prediction: str, low: float, high: float) -> None:
    """Wilson's: n / (n + z^2) to 1."""
    score = score_with_interval(ACCURACY, [prediction] * 20, [("text", "a")] * 20)
    assert (score.low, score.high) == pytest.approx((low, high))


def test_shares_of_words_have_a_width_too_if_all_are_right() -> None:
    """A sentence counts as one example, because its words are not independent."""
    words = replace(ACCURACY, counts=lambda _, examples: np.array([[float(n), float(n)] for *_, n in examples]))
    score = score_with_interval(words, [0] * 20, [("text", 7)] * 20)
    assert (score.low, score.high) == pytest.approx((100 * 20 / 23.8416, 100.0))


def test_losses_have_an_interval_too() -> None:
    losses = np.column_stack([np.random.default_rng(5).normal(2.0, 0.5, 300), np.ones(300)])
    score = score_with_interval(PERPLEXITY, losses, ["a"] * 300)
    assert score.low is not None
    assert score.high is not None
    assert math.exp(1.85) < score.low < score.value < score.high < math.exp(2.15)


def test_it_is_the_plain_bootstrap_draw_by_draw() -> None:
    right = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    random = np.random.default_rng(12345)
    means = [100 * right[random.integers(0, 5, 5), 0].mean() for _ in range(1000)]
    assert bootstrap(Measured(EXACT, right)) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=1e-9)


def test_it_is_seeded() -> None:
    first, second = (score_with_interval(MATTHEWS, PREDICTIONS, EXAMPLES, resamples=50) for _ in range(2))
    assert first == second


def test_how_it_was_decoded_is_kept() -> None:
    score = score_with_interval(EXACT, ["a"], [("", ("a",))], decoding="beam 5")
    assert (score.measured_on, score.signature) == ("1 sentence, beam 5", "exact|case:mixed|nrefs:1")


def test_unequal_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="the same number of each"):
        score_with_interval(ACCURACY, ["a"], EXAMPLES)


def test_equally_frequent_classes_have_the_interval_of_accuracy_if_all_are_right() -> None:
    examples = [("text", "ab"[i % 2]) for i in range(100)]
    right = [label for _, label in examples]
    accuracy, f1, matthews = (score_with_interval(metric, right, examples) for metric in class_metrics("abc"))
    assert accuracy.low == pytest.approx(100 * 100 / 103.8416)
    assert (f1.low, f1.high) == pytest.approx((accuracy.low, 100.0), abs=0.01)
    assert 0.9 < matthews.low < 0.95  # type: ignore[operator]
    assert matthews.high == 1


def test_a_class_with_few_examples_widens_the_interval_of_macro_f1() -> None:
    """By hand: two classes of 2 and 2 examples, 3.84 of the first taken for the second; the third is not touched."""
    examples = [("text", "a" if i > 3 else "bc"[i % 2]) for i in range(100)]
    score = score_with_interval(MACRO_F1, [label for _, label in examples], examples)
    rare = 2 * 2 / (2 * 2 + 1.96**2)
    assert score.low == pytest.approx(100 * (1 + 2 * rare) / 3)
    assert score.high == pytest.approx(100)


@pytest.mark.parametrize("labels", ["aab", "abcdefgh", "aabbbccccccccddd"])
@pytest.mark.parametrize("metric", [MACRO_F1, MATTHEWS], ids=["macro F1", "Matthews"])
def test_no_other_pair_of_classes_lowers_the_score_more(metric: Metric, labels: str) -> None:
    examples = [("text", label) for label in labels * 5]
    values = metric.counts(list(labels * 5), examples)
    count = len(set(labels))
    every = np.zeros((count * count, 3 * count + 1))
    for row, (one, other) in zip(every, np.ndindex(count, count), strict=True):
        row[[count + other, 2 * count + one, -1]] = [float(one != other)] * 3
    lowest = metric.score(values.sum(axis=0) + 1.96**2 * every).min()
    assert score_with_interval(metric, list(labels * 5), examples).low == pytest.approx(lowest)


@pytest.mark.parametrize("metric", [MACRO_F1, MATTHEWS, ENTITY_F1], ids=["macro F1", "Matthews", "entity F1"])
def test_all_wrong_has_a_width_too(metric: Metric) -> None:
    labels: list[Any] = ["a", "b"] if metric is not ENTITY_F1 else [["B-x", "O"], ["O", "B-y"]]
    examples = [("text", labels[i % 2]) for i in range(50)]
    score = score_with_interval(metric, [labels[1 - i % 2] for i in range(50)], examples)
    assert score.low == score.value
    assert score.high > score.value + 0.01  # type: ignore[operator]


def test_entities_that_are_all_right_have_the_interval_of_the_sentences() -> None:
    labels = [("text", ["B-x"] * (1 + i % 3)) for i in range(30)]
    score = score_with_interval(ENTITY_F1, [one for _, one in labels], labels)
    assert (score.low, score.high) == pytest.approx((100 * 30 / 33.8416, 100.0))


def test_one_class_alone_and_one_mistake() -> None:
    alone = score_with_interval(MACRO_F1, ["a"] * 20, [("text", "a")] * 20)
    assert alone.low == pytest.approx(100 * 40 / (40 + 1.96**2))
    mistake = measured([MACRO_F1], ["b", *PREDICTIONS[1:]], EXAMPLES)["f1"]
    assert widened(mistake, (70.0, 80.0)) == (70.0, 80.0)
