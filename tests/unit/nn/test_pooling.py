"""Vectors of sentences from those of their tokens."""

from __future__ import annotations

import pytest
import torch

from glassformer.nn.pooling import POOLINGS, mean_of_rows, real_rows

LENGTHS = torch.tensor([3, 1, 5])


@pytest.mark.parametrize("how", POOLINGS)
def test_pooling_leaves_padding_out(how: str) -> None:
    hidden = torch.randn(3, 5, 7)
    plain = {"mean": lambda x: x.mean(0), "max": lambda x: x.amax(0), "cls": lambda x: x[0], "last": lambda x: x[-1]}
    expected = torch.stack([plain[how](row[:length]) for row, length in zip(hidden, LENGTHS, strict=True)])
    torch.testing.assert_close(POOLINGS[how](real_rows(hidden, LENGTHS), LENGTHS), expected)


@pytest.mark.parametrize("lengths", [(3, 1, 5), (5, 5, 5)])
def test_the_mean_in_training_is_the_same_with_its_gradient(lengths: tuple[int, ...]) -> None:
    hidden, own = torch.randn(3, 5, 7, dtype=torch.float64, requires_grad=True), torch.tensor(lengths)
    plain = POOLINGS["mean"](real_rows(hidden, own), own)
    found = mean_of_rows(hidden, own)
    torch.testing.assert_close(found, plain)
    weights = torch.randn_like(plain)
    grads = [torch.autograd.grad((one * weights).sum(), hidden, retain_graph=True)[0] for one in (found, plain)]
    torch.testing.assert_close(*grads)
