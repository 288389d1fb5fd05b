"""Samples of every step's value, to compare with what a page computes itself."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAMPLES = 64  # numbers of each step
DIGITS = 9  # enough for every float32 number to differ from all others


def proof_of(name: str, value: NDArray[Any], *, samples: bool = True) -> dict[str, Any]:
    """The largest magnitude and the sum of the finite numbers of a value, and some of its numbers with their places.

    Without samples where the page has the whole value.
    """
    flat = np.asarray(value, dtype=np.float64).ravel()
    finite = flat[np.isfinite(flat)]
    places = sampled(name, flat.size) if samples else []
    return {
        "max": rounded(float(np.abs(finite).max(initial=0.0))),
        "sum": rounded(float(finite.sum())),
        "at": places,
        "values": [rounded(one) if np.isfinite(one) else None for one in flat[places].tolist()],
    }


def sampled(name: str, size: int) -> list[int]:
    """Places in a flat array: all, or some that look random but depend only on the step's name."""
    if size <= SAMPLES:
        return list(range(size))
    random = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
    found: list[int] = np.sort(random.choice(size, SAMPLES, replace=False)).tolist()
    return found


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
