"""Attention with a learned bias, longer than the products usually serve: the same numbers as torch's own."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.nn.attention import ScaledDotProduct
from glassformer.nn.short_attention import LONGEST, LONGEST_LEARNED, suits


def tensors(keys: int) -> list[Tensor]:
    torch.manual_seed(1)
    shapes = [(2, 3, 5, 7), (2, 3, keys, 7), (2, 3, keys, 7), (3, 5, keys)]
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def test_only_a_learned_bias_is_served_beyond_the_usual_length() -> None:
    q, k, _, bias = tensors(LONGEST + 9)
    assert suits(q, k, bias)
    assert not suits(q, k, bias.detach())
    q, k, _, bias = tensors(LONGEST_LEARNED + 1)
    assert not suits(q, k, bias)


def test_values_and_gradients_with_padding() -> None:
    given = tensors(LONGEST + 9)
    padding = torch.zeros(2, 1, 1, LONGEST + 9, dtype=torch.float64)
    padding[1, ..., 90:] = float("-inf")
    found = []
    for attend in (ScaledDotProduct(scale=1.0), F.scaled_dot_product_attention):
        q, k, v, bias = (one.detach().requires_grad_() for one in given)
        mask = bias + padding
        out = attend(q, k, v, mask=mask) if isinstance(attend, ScaledDotProduct) else attend(q, k, v, mask, scale=1.0)
        out.square().sum().backward()
        found.append([out.detach(), *(one.grad for one in (q, k, v, bias))])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
