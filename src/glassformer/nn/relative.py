"""Relative positions: a learned number for each head and distance, added to the attention scores.

Shapes: T tokens, H heads.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.taps import Tap


def distance_buckets(distance: Tensor, *, buckets: int, furthest: int, both_ways: bool) -> Tensor:
    """The bucket of each distance, key position - query position (Raffel et al. 2019, section 2.1).

    Half of the buckets hold one distance each, from 0 on; the others hold logarithmically growing ranges up to
    `furthest`, the last one also all beyond. With `both_ways` later keys have the second half of all buckets; without,
    they count as distance 0.
    """
    beyond = torch.zeros_like(distance)
    if both_ways:
        buckets //= 2
        beyond = (distance > 0) * buckets
        distance = distance.abs()
    else:
        distance = (-distance).clamp(min=0)
    exact = buckets // 2
    # In float32, as in trained models: if a step is near an integer, rounding decides.
    steps = torch.log(distance.clamp(min=1).float() / exact) / math.log(furthest / exact) * (buckets - exact)
    wide = (exact + steps.long()).clamp(max=buckets - 1)
    return beyond + torch.where(distance < exact, distance, wide)


class RelativeBias(nn.Module):
    """One learned number for each head and bucket of distances; the blocks of a stack may share it."""

    def __init__(self, heads: int, *, buckets: int = 32, furthest: int = 128, both_ways: bool = True) -> None:
        super().__init__()
        self.buckets, self.furthest, self.both_ways = buckets, furthest, both_ways
        self.weight = nn.Parameter(torch.empty(buckets, heads))
        self.bias = Tap()
        nn.init.normal_(self.weight, std=heads**-0.5)

    def forward(self, length: int) -> Tensor:
        """(H, T, T) for all positions of a text."""
        distances = torch.arange(1 - length, length, device=self.weight.device)
        line = self.at(distances).mT  # (H, 2 T - 1), from the last query and first key to the first and last
        return self.bias(line.unfold(1, length, 1).flip(1))

    def at(self, distance: Tensor) -> Tensor:
        """(...) distances -> (..., H)."""
        index = distance_buckets(distance, buckets=self.buckets, furthest=self.furthest, both_ways=self.both_ways)
        return F.embedding(index, self.weight)
