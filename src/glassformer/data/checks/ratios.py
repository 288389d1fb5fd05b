"""A histogram of fixed size: the lengths of targets relative to the lengths expected from their sources."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

OCTAVES = 4  # from a 16th of the expected length to 16 times as much
STEPS = 16  # bins for each doubling
MIDDLE = OCTAVES * STEPS  # the bin for exactly the expected length


@dataclass
class Ratios:
    """Bin MIDDLE + k counts pairs of about 2^(k / STEPS) times the expected length; the end bins count all beyond."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2 * MIDDLE + 1, dtype=np.int64))

    def add(self, deviations: NDArray[np.float64]) -> None:
        """Adds natural logarithms of length / expected length."""
        places = MIDDLE + np.rint(deviations * (STEPS / math.log(2))).astype(np.int64)
        self.counts += np.bincount(np.clip(places, 0, 2 * MIDDLE), minlength=2 * MIDDLE + 1)
