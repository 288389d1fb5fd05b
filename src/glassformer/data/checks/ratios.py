"""How long targets are against what their sources let expect, as a histogram of a fixed size."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

OCTAVES = 4  # from a 16th of the expected length to 16 times as much
STEPS = 16  # places for each doubling
MIDDLE = OCTAVES * STEPS  # the place of what is just as long as expected


@dataclass
class Ratios:
    """Place MIDDLE + k counts the pairs around 2^(k / STEPS) times the expected length; the ends hold all beyond."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2 * MIDDLE + 1, dtype=np.int64))

    def add(self, deviations: NDArray[np.float64]) -> None:
        """Takes down natural logarithms of length over expected length."""
        places = MIDDLE + np.rint(deviations * (STEPS / math.log(2))).astype(np.int64)
        self.counts += np.bincount(np.clip(places, 0, 2 * MIDDLE), minlength=2 * MIDDLE + 1)
