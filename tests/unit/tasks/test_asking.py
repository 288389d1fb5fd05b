"""What samples can be asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glassformer.errors import SettingsError
from glassformer.tasks.sampling import Sampling


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"temperature": -1}, "temperature = -1: it must be a number from 0.01 to 100"),
        ({"temperature": 0}, "For the most likely text, do not sample"),
        ({"temperature": 1e-300}, "temperature = 1e-300"),
        ({"temperature": float("nan")}, "temperature = nan"),
        ({"temperature": float("inf")}, "temperature = inf"),
        ({"temperature": "warm"}, "temperature = 'warm'"),
        ({"temperature": None}, "temperature = None"),
        ({"top_p": float("nan")}, "top_p = nan: it must be a number from 0 to 1"),
        ({"top_p": 1.5}, r"top_p = 1\.5"),
        ({"top_p": True}, "top_p = True"),
        ({"top_k": -2}, "top_k = -2: it must be a whole number from 0"),
        ({"top_k": 2.5}, r"top_k = 2\.5"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": -1, "top_p": 7}, r"seed = -1.* top_p = 7"),
    ],
)
def test_samples_that_cannot_be_drawn_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Sampling(**values)


def test_numbers_of_numpy_are_numbers() -> None:
    assert Sampling(seed=np.int64(3), temperature=np.float32(0.5), top_k=np.int32(4)).top_k == 4
    assert Sampling(temperature=1) == Sampling()
