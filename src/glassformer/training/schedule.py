"""The learning rate as a function of the step."""

from __future__ import annotations

import math
from typing import Literal

Schedule = Literal["linear", "cosine", "inverse-sqrt", "stable-decay", "constant"]


def learning_rate(
    step: float, *, peak: float, warmup: int, steps: int, schedule: Schedule, decay: float = 0.2
) -> float:
    """The rate of update `step`, counted from 0: a linear warm-up, then the schedule. `step` may be fractional.

    inverse-sqrt is the paper's (2017, equation 3), lr = d^-0.5 * min(n^-0.5, n * warmup^-1.5) at update n = step + 1,
    with the peak given directly instead of through d. Decaying schedules would reach zero one update after the last.
    """
    n = step + 1
    if n <= warmup:
        return peak * n / warmup
    if schedule == "inverse-sqrt":
        return peak * math.sqrt(max(warmup, 1) / n)
    left = (steps - n + 1) / max(steps - warmup, 1)  # share left after the warm-up: from 1 to 1 / (steps - warmup)
    if schedule == "linear":
        return peak * left
    if schedule == "cosine":
        return peak * (1 - math.cos(math.pi * left)) / 2
    if schedule == "stable-decay":  # warm-up, stable, decay (Hu et al. 2024): constant, then linearly down to zero
        return peak * min(1.0, (steps - n + 1) / max(decay * steps, 1))
    return peak
