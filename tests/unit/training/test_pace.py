"""How long it will still take, and what was best."""

from __future__ import annotations

import pytest

from glassformer.evaluate.classes import MATTHEWS
from glassformer.evaluate.metric import by_key
from glassformer.evaluate.translation import BLEU, CHRF
from glassformer.training.job import Progress
from glassformer.training.loop import why_stop
from glassformer.training.pace import Pace, best_words
from glassformer.training.plan import Forecast
from glassformer.training.settings import TrainSettings


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


def test_within_a_budget_what_is_left_is_the_time_not_the_steps() -> None:
    one = pace()
    one.on_step(2.0, steps=90, budget_left=33.0)
    assert (one.left(50), one.steps) == (33.0, 90)


def test_a_plan_that_takes_far_less_than_the_budget_ends_early() -> None:
    one = pace()
    one.on_step(2.0, steps=60, budget_left=3000.0)
    assert one.left(50) == one.steps_left(50) < 200


@pytest.mark.parametrize(
    ("used", "most", "words"),
    [(20.0, 5, "all steps done"), (99.0, 5, "the time is used"), (20.0, 0, "the time is used")],
)
def test_a_run_that_ends_early_does_not_say_that_the_time_is_used(used: float, most: int, words: str) -> None:
    progress = Progress(step=5, steps=5, limit=100.0, used=used)
    assert why_stop(TrainSettings(), progress, most_steps=most) == words


def test_nothing_known_is_nothing_left() -> None:
    assert pace(step_seconds=0.0, validation_seconds=0.0, closing_seconds=0.0).left(50) == 0.0


@pytest.mark.parametrize(
    ("score", "best_by", "words"),
    [
        (31.24, "bleu", "best BLEU 31.2 at step 4,000"),
        (-1.2345, "loss", "best validation loss 1.234 at step 4,000"),
        (0.0, "chrf", "best chrF 0.0 at step 4,000"),
        (-1.2345, "auto", "kept: step 4,000, validation loss 1.234"),
        (0.5, "matthews", "best Matthews correlation 0.500 at step 4,000"),
        (None, "bleu", ""),
    ],
)
def test_the_best_is_shown_with_its_metric(score: float | None, best_by: str, words: str) -> None:
    assert best_words(score, 4000, best_by=best_by, metrics=by_key((BLEU, CHRF, MATTHEWS))) == words
