"""Token embeddings."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Embedding(nn.Module):
    """One learned vector per token; `scaled` multiplies by sqrt(D) as in the paper (2017, section 3.4), so that one
    matrix can be both embedding and output layer."""

    def __init__(self, vocabulary: int, width: int, *, scaled: bool = True) -> None:
        super().__init__()
        self.scale = math.sqrt(width) if scaled else 1.0
        self.weight = nn.Parameter(torch.empty(vocabulary, width))
        nn.init.normal_(self.weight, std=width**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> (B, T, D)."""
        vectors = F.embedding(ids, self.weight)
        return vectors if self.scale == 1.0 else vectors * self.scale
