"""Vectors of sentences from those of their tokens."""

from __future__ import annotations

import pytest
import torch

from glassformer.nn.pooling import POOLINGS, real_rows

LENGTHS = torch.tensor([3, 1, 5])


@pytest.mark.parametrize("how", POOLINGS)
def test_pooling_leaves_padding_out(how: str) -> None:
    hidden = torch.randn(3, 5, 7)
    plain = {"mean": lambda x: x.mean(0), "max": lambda x: x.amax(0), "cls": lambda x: x[0], "last": lambda x: x[-1]}
    expected = torch.stack([plain[how](row[:length]) for row, length in zip(hidden, LENGTHS, strict=True)])
    torch.testing.assert_close(POOLINGS[how](real_rows(hidden, LENGTHS), LENGTHS), expected)
