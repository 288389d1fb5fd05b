"""Several tokens that end a text count as one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from glassformer.decode.rows import Rows
from glassformer.tasks.generation.rules import OneEnd

CHANCES = torch.tensor([[0.1, 0.3, 0.2, 0.4]])


@pytest.mark.parametrize(("by_lot", "expected"), [(False, 0.4), (True, 0.7)])
def test_the_likeliest_speaks_for_all_and_by_lot_all_of_them_count(by_lot: bool, expected: float) -> None:
    log_probs = CHANCES.log()
    allowed = log_probs.clone()
    rule = OneEnd(1, [1, 3], by_lot=by_lot)
    rule.apply(allowed, log_probs, Rows.first(np.arange(1), left=np.ones(1, dtype=np.int64)))
    for values in (allowed, log_probs):
        torch.testing.assert_close(values.exp(), torch.tensor([[0.1, expected, 0.2, 0.0]]))
