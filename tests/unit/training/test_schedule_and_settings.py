"""The learning rate, and what a training resolves before its first step."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from glassformer.training.schedule import learning_rate
from glassformer.training.settings import TrainSettings

SCHEDULES = ["linear", "cosine", "inverse-sqrt", "stable-decay", "constant"]


def rates(schedule: str, *, peak: float = 3e-3, warmup: int = 40, steps: int = 200) -> list[float]:
    return [learning_rate(n, peak=peak, warmup=warmup, steps=steps, schedule=schedule) for n in range(steps)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_warm_up_is_a_line_to_the_peak(schedule: str) -> None:
    assert rates(schedule)[:40] == pytest.approx([3e-3 * n / 40 for n in range(1, 41)], rel=1e-12)
    assert max(rates(schedule)) == pytest.approx(3e-3)


def test_inverse_sqrt_is_equation_3_of_the_paper() -> None:
    d, warmup = 512, 4000
    peak = (d * warmup) ** -0.5
    for step in (0, 1, 999, 3998, 3999, 4000, 4001, 39_999, 99_999):
        n = step + 1
        paper = d**-0.5 * min(n**-0.5, n * warmup**-1.5)
        got = learning_rate(step, peak=peak, warmup=warmup, steps=100_000, schedule="inverse-sqrt")
        assert got == pytest.approx(paper, rel=1e-12)


def test_linear_falls_in_a_line_and_would_be_zero_at_the_step_after_the_last() -> None:
    found = rates("linear")
    falls = [before - after for before, after in pairwise(found[40:])]
    assert falls == pytest.approx([3e-3 / 160] * len(falls), rel=1e-9)
    assert learning_rate(200, peak=3e-3, warmup=40, steps=200, schedule="linear") == 0
    assert found[-1] == pytest.approx(3e-3 / 160)


def test_constant_stays() -> None:
    assert set(rates("constant")[40:]) == {3e-3}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_without_a_warm_up_the_first_rate_is_the_peak(schedule: str) -> None:
    assert rates(schedule, warmup=0)[0] == 3e-3


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_rate_is_negative_even_if_all_steps_are_warm_up(schedule: str) -> None:
    assert all(rate > 0 for rate in rates(schedule, warmup=300))


def resolved(**given: object) -> TrainSettings:
    return TrainSettings(**given).resolved(batches_per_epoch=37, threads=3, device="cpu")


def test_what_is_open_is_resolved_from_data_and_machine() -> None:
    settings = resolved(epochs=4.0, accumulate=2)
    assert (settings.steps, settings.warmup, settings.valid_every) == (74, 3, 10)
    assert (settings.threads, settings.device) == (3, "cpu")


def test_what_is_given_stays_given() -> None:
    settings = resolved(steps=50, warmup=0, valid_every=7)
    assert (settings.steps, settings.warmup, settings.valid_every) == (50, 0, 7)


def test_resolving_again_changes_nothing() -> None:
    settings = resolved(epochs=0.001)
    assert settings.steps == 1
    assert settings.valid_every == 1
    assert settings.resolved(batches_per_epoch=5000, threads=3, device="cpu") == settings


def test_cosine_goes_down_in_half_a_wave() -> None:
    after = rates("cosine")[40:]
    expected = [3e-3 * (1 + math.cos(math.pi * i / 160)) / 2 for i in range(160)]
    assert after == pytest.approx(expected, rel=1e-9)


def test_stable_decay_is_constant_and_then_a_line_to_zero() -> None:
    after = rates("stable-decay")
    assert after[40:160] == pytest.approx(120 * [3e-3])
    assert after[160:] == pytest.approx([3e-3 * left / 40 for left in range(40, 0, -1)], rel=1e-9)


def test_two_averages_are_one_too_many() -> None:
    with pytest.raises(ValueError, match="both average; choose one"):
        TrainSettings(ema=0.9, average_last=3)
