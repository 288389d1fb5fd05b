"""How long it will still take, and what was best."""

from __future__ import annotations

import pytest

from glassformer.train.pace import Pace, best_words, steps_in
from glassformer.train.plan import Forecast
from glassformer.train.settings import TrainSettings


def pace(**changed: float) -> Pace:
    settings = TrainSettings(steps=100, valid_every=30)
    known = {"step_seconds": 2.0, "validation_seconds": 5.0, "closing_seconds": 15.0} | changed
    return Pace.of(settings, Forecast(steps=100, validations=4, memory=0, **known))


def test_at_the_start_it_is_the_forecast() -> None:
    assert pace().left(0) == pytest.approx(100 * 2 + 4 * 5 + 15)


@pytest.mark.parametrize(("step", "validations"), [(29, 4), (30, 3), (59, 3), (90, 1), (99, 1), (100, 0)])
def test_validations_are_counted_with_the_one_at_the_very_end(step: int, validations: int) -> None:
    assert pace().left(step) == pytest.approx((100 - step) * 2 + validations * 5 + 15)


def test_it_follows_what_happens() -> None:
    one = pace()
    for _ in range(500):
        one.on_step(4.0)
    one.on_validation(10.0, steps=110)
    assert one.left(90) == pytest.approx(20 * 4 + 10 + 30, rel=1e-3)


@pytest.mark.parametrize("seconds", [-3.0, 0.0, 4.0, 9.9, 30.0, 31.0, 32.5, 64.2, 1000.0])
def test_as_many_steps_as_fit_with_their_validations(seconds: float) -> None:
    def taken(steps: int) -> float:
        return steps * 1.5 + -(-steps // 10) * 4.0

    steps = steps_in(seconds, 1.5, validation_seconds=4.0, valid_every=10)
    assert taken(steps) <= max(0.0, seconds)
    assert taken(steps + 1) > seconds


def test_nothing_known_is_nothing_left() -> None:
    assert pace(step_seconds=0.0, validation_seconds=0.0, closing_seconds=0.0).left(50) == 0.0


@pytest.mark.parametrize(
    ("score", "best_by", "words"),
    [
        (31.24, "bleu", "best BLEU 31.2 at step 4,000"),
        (-1.2345, "loss", "best validation loss 1.234 at step 4,000"),
        (0.0, "chrf", "best chrF 0.0 at step 4,000"),
        (3.0, "other", "best other 3.0 at step 4,000"),
        (None, "bleu", ""),
    ],
)
def test_the_best_is_told_with_what_it_is_by(score: float | None, best_by: str, words: str) -> None:
    assert best_words(score, 4000, best_by=best_by) == words
