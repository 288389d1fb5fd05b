"""Results that were measured with several seeds: their mean, its 95% interval, and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Two-sided 95% quantiles of Student's t for 1, 2, ... degrees of freedom; beyond, the normal distribution's is close.
STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045),
)
NORMAL = 1.96


@dataclass(frozen=True)
class Repeated:
    """One value for each seed."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95% interval of the mean, by Student's t; None for a single value."""
        count = len(self.values)
        if count < 2:
            return None
        quantile = STUDENT[count - 2] if count - 2 < len(STUDENT) else NORMAL
        return quantile * float(np.std(self.values, ddof=1)) / math.sqrt(count)

    @property
    def interval(self) -> tuple[float, float] | None:
        half = self.half_width
        return None if half is None else (self.mean - half, self.mean + half)

    def minus(self, other: Repeated) -> Repeated:
        """The difference for each seed: both must have the same seeds, in the same order."""
        return Repeated(tuple(a - b for a, b in zip(self.values, other.values, strict=True)))

    def below(self, level: float) -> Repeated:
        """How far each value is below a level."""
        return Repeated(tuple(level - value for value in self.values))


def shown(found: Repeated, digits: int = 1) -> str:
    """The mean and half of the interval: 93.1 ± 1.2."""
    half = found.half_width
    return f"{found.mean:.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines: the first column on the left, the others on the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(wide) for cell, wide in zip(row[1:], widths[1:], strict=True))]
        )
        for row in (head, *rows)
    ]
