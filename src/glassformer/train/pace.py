"""How fast a training goes, and how long it will still take: steps, validations and what comes at the end."""

from __future__ import annotations

from dataclasses import dataclass

from glassformer.train.plan import Forecast
from glassformer.train.settings import TrainSettings

METRICS = {"bleu": "BLEU", "chrf": "chrF", "loss": "validation loss"}  # as people call them
MEMORY = 0.98  # of the mean time of a step: it follows a machine that grows slower within some 50 steps


@dataclass
class Pace:
    """Begins with the forecast and learns from what happens."""

    steps: int
    valid_every: int
    step_seconds: float
    validation_seconds: float
    closing_validations: float  # what comes at the end takes as long as so many of them

    @classmethod
    def of(cls, settings: TrainSettings, forecast: Forecast) -> Pace:
        steps = settings.steps or 0
        one = forecast.validation_seconds
        closing = forecast.closing_seconds / one if one else 0.0
        return cls(steps, settings.valid_every or steps or 1, forecast.step_seconds, one, closing)

    def on_step(self, seconds: float) -> None:
        self.step_seconds = MEMORY * self.step_seconds + (1 - MEMORY) * seconds

    def on_validation(self, seconds: float, *, steps: int) -> None:
        """The last one counts: a model that has learnt to end its sentences is quicker than one that has not."""
        self.validation_seconds, self.steps = seconds, steps

    def left(self, step: int) -> float:
        """Seconds from after `step` (and its validation, if it has one) to the very end."""
        validations = -(-self.steps // self.valid_every) - step // self.valid_every
        if step >= self.steps:
            validations = 0
        closing = (max(0, validations) + self.closing_validations) * self.validation_seconds
        return max(0, self.steps - step) * self.step_seconds + closing


def steps_in(seconds: float, step_seconds: float, *, validation_seconds: float, valid_every: int) -> int:
    """How many steps fit in, with a validation after every so many and after the last."""
    rounds, rest = divmod(max(0.0, seconds), valid_every * step_seconds + validation_seconds)
    return int(rounds) * valid_every + max(0, int((rest - validation_seconds) / step_seconds))


def best_words(score: float | None, step: int, *, best_by: str) -> str:
    """`best BLEU 31.2 at step 4,000`, or nothing yet. A loss is kept with its sign turned, so that more is better."""
    if score is None:
        return ""
    value = f"{-score:.3f}" if best_by == "loss" else f"{score:.1f}"
    return f"best {METRICS.get(best_by, best_by)} {value} at step {step:,}"
