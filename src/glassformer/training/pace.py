"""How fast a run is, and how long the rest will take: steps, validations and the measurements at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from glassformer.evaluate.metric import AUTO, LOSS, Metric
from glassformer.training.plan import Forecast
from glassformer.training.settings import TrainSettings

EARLY = 0.8  # share of what is left of a budget; a plan that takes less ends early, because more would not help
MEMORY = 0.98  # weight of the mean step time so far: the mean follows a change of speed within about 50 steps


@dataclass
class Pace:
    """Starts with the forecast and is updated by what is measured."""

    steps: int
    valid_every: int
    step_seconds: float
    validation_seconds: float
    closing_validations: float  # the end takes as long as this many validations
    budget_left: float | None = None  # seconds of a time budget, from the loop

    @classmethod
    def of(cls, settings: TrainSettings, forecast: Forecast) -> Pace:
        steps = settings.steps or 0
        one = forecast.validation_seconds
        closing = forecast.closing_seconds / one if one else 0.0
        return cls(steps, settings.valid_every or steps or 1, forecast.step_seconds, one, closing)

    def on_step(self, seconds: float, *, steps: int | None = None, budget_left: float | None = None) -> None:
        self.steps, self.budget_left = steps or self.steps, budget_left
        self.step_seconds = MEMORY * self.step_seconds + (1 - MEMORY) * seconds

    def on_validation(self, seconds: float, *, steps: int) -> None:
        """Only the last one counts: a model that has learned to end its outputs is faster than one that has not."""
        self.validation_seconds, self.steps = seconds, steps

    def left(self, step: int) -> float:
        """Seconds left after `step` (and its validation, if it has one)."""
        steps = self.steps_left(step)
        if self.budget_left is None or steps < EARLY * self.budget_left:
            return steps
        return max(0.0, self.budget_left)

    def steps_left(self, step: int) -> float:
        """Seconds for the planned steps, with their validations and the end."""
        validations = -(-self.steps // self.valid_every) - step // self.valid_every
        if step >= self.steps:
            validations = 0
        closing = (max(0, validations) + self.closing_validations) * self.validation_seconds
        return max(0, self.steps - step) * self.step_seconds + closing


def best_words(score: float | None, step: int, *, best_by: str, metrics: Mapping[str, Metric]) -> str:
    """`best validation loss 1.234 at step 4,000`, or empty before the first validation.

    `score` is higher for better weights, so a loss is negated. Weights that were chosen by several metrics with their
    errors need not be the best by any one of them.
    """
    if score is None:
        return ""
    metric = LOSS if best_by == AUTO else metrics[best_by]
    value = metric.shown(metric.gain(0.0, score))
    if best_by == AUTO:
        return f"kept: step {step:,}, {metric.label} {value}"
    return f"best {metric.label} {value} at step {step:,}"
