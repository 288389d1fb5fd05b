"""Scores with intervals: any metric by one bootstrap, sacreBLEU's by its own."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from glassformer.errors import DataError
from glassformer.evaluate.classes import ACCURACY, MATTHEWS
from glassformer.evaluate.intervals import bootstrap, score_with_interval
from glassformer.evaluate.metric import Measured
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
