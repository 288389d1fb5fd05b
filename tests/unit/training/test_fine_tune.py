"""What a fine-tuning takes over from the run that it starts from."""

from __future__ import annotations

import pytest

from glassformer.training.fine_tune import comparable_rate
from glassformer.training.settings import TrainSettings


@pytest.mark.parametrize(
    ("then", "now", "rate"), [("adamw", "adamw", 0.005), ("muon", "adamw", 0.002), ("muon", "muon", 0.005)]
)
def test_a_rate_of_another_optimiser_is_not_taken_over(then: str, now: str, rate: float) -> None:
    assert comparable_rate(TrainSettings(optimiser=then, lr=0.005), now) == rate  # type: ignore[arg-type]
