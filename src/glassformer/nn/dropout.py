"""Dropout with cheap random numbers on a CPU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 1 << 16


class Dropout(nn.Module):
    """Zeroes each value with probability p in training and scales the others by 1/(1-p).

    On a CPU `F.dropout` draws one random number per value, serially. Here one 64-bit draw serves four values, 16
    bits each: p is rounded to a multiple of 2^-16, and the scale uses the rounded p, so the mean is exact.
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
        return x * keep_mask(x, self.threshold)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def keep_mask(x: Tensor, threshold: int) -> Tensor:
    """0 with probability threshold/2^16, else 2^16/(2^16 - threshold); the shape and dtype of x."""
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    bits = draws.view(torch.int16)[: x.numel()].view(x.shape)  # uniform on [-2^15, 2^15)
    return (bits >= threshold - LEVELS // 2).to(x.dtype).mul_(LEVELS / (LEVELS - threshold))
