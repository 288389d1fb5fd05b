"""The learning rate as a function of the step."""

from __future__ import annotations

import math


def learning_rate(step: int, *, peak: float, warmup: int, steps: int, schedule: str) -> float:
    """The rate of update `step`, counted from 0: a linear warm-up, then the schedule.

    inverse-sqrt is the paper's (2017, equation 3), lr = d^-0.5 * min(n^-0.5, n * warmup^-1.5) at update n = step + 1,
    with the peak named directly instead of through d.
    """
    n = step + 1
    if n <= warmup:
        return peak * n / warmup
    if schedule == "inverse-sqrt":
        return peak * math.sqrt(max(warmup, 1) / n)
    if schedule == "linear":
        return peak * (steps - n + 1) / max(steps - warmup, 1)
    return peak
