"""Dropout with cheap random numbers on a CPU."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.native.compiler import kernels

LEVELS = 1 << 16


class Dropout(nn.Module):
    """Zeroes each value with probability p in training and scales the others by 1/(1-p).

    On a CPU `F.dropout` draws one random number per value, serially. Here each value has 16 bits: p is rounded to a
    multiple of 2^-16, and the scale uses the rounded p, so the mean is exact. In C (native/dropout.c) one draw of torch
    is the seed of a whole tensor; without a compiler one draw of 64 bits serves four values.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout = {p}: must be a share of the values, 0 <= p < 1")
        self.p = p
        self.threshold = min(round(p * LEVELS), LEVELS - 1)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.threshold == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        if type(x) is Tensor and x.dtype == torch.float32 and not torch.compiler.is_compiling() and kernels():
            y: Tensor = _Dropout.apply(x, torch.empty((), dtype=torch.int64).random_().item(), self.threshold)
            return y
        return x * keep_mask(x, self.threshold)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _Dropout(torch.autograd.Function):
    """The mask is computed from its seed, and again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, seed: int, threshold: int) -> Tensor:
        ctx.seed, ctx.threshold = seed, threshold
        return dropped(x, seed, threshold)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return _Dropout.apply(grad, ctx.seed, ctx.threshold), None, None


def dropped(x: Tensor, seed: int, threshold: int) -> Tensor:
    """x without the values that the seed drops; places are counted in the order of the shape."""
    library, x = kernels(), x.contiguous()
    assert library is not None
    y = torch.empty_like(x)
    library.dropout(x.data_ptr(), y.data_ptr(), x.numel(), seed, threshold, torch.get_num_threads())
    return y


def keep_mask(x: Tensor, threshold: int) -> Tensor:
    """0 with probability threshold/2^16, else 2^16/(2^16 - threshold); the shape and dtype of x."""
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    bits = draws.view(torch.int16)[: x.numel()].view(x.shape)  # uniform on [-2^15, 2^15)
    return (bits >= threshold - LEVELS // 2).to(x.dtype).mul_(LEVELS / (LEVELS - threshold))
