"""Heads: from the last hidden state to what is predicted."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.vocabulary_loss import linear_cross_entropy, tokens_at_a_time


class VocabularyHead(nn.Module):
    """Logits x W^T (+ b). W is its own, or an embedding's matrix, tied by being the same parameter."""

    def __init__(self, width: int, vocabulary: int, *, tied_to: nn.Parameter | None = None, bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, width)) if tied_to is None else tied_to
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None
        if tied_to is None:
            nn.init.normal_(self.weight, std=width**-0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        return F.linear(hidden, self.weight, self.bias)

    def loss(self, hidden: Tensor, labels: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
        """The summed cross-entropy of (M, D) against (M,), without all logits at once where that can be."""
        if torch.is_grad_enabled() and not torch.is_autocast_enabled(hidden.device.type):
            return linear_cross_entropy(hidden, self.weight, labels, bias=self.bias, label_smoothing=label_smoothing)
        size = len(labels) if torch.is_grad_enabled() else tokens_at_a_time(len(labels), self.weight.size(0))
        parts = zip(hidden.split(max(1, size)), labels.split(max(1, size)), strict=True)
        return torch.stack([self.part_loss(h, y, label_smoothing) for h, y in parts]).sum()

    def part_loss(self, hidden: Tensor, labels: Tensor, label_smoothing: float) -> Tensor:
        logits = self(hidden).to(torch.promote_types(hidden.dtype, torch.float32))  # a sum of exponentials needs digits
        return F.cross_entropy(logits, labels, reduction="sum", label_smoothing=label_smoothing)
