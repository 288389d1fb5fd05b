"""Heads: from the last hidden states to predictions. Shapes: B sentences, T tokens, M tokens or sentences, D width,
V vocabulary."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.activations import ACTIVATIONS
from glassformer.nn.dropout import Dropout
from glassformer.nn.linear import Linear, linear
from glassformer.nn.norms import LayerNorm
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
        return linear(hidden, self.weight, self.bias)

    def loss(self, hidden: Tensor, labels: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
        """The summed cross-entropy of (M, D) against (M,), where possible without all logits in memory at once."""
        if torch.is_grad_enabled() and not torch.is_autocast_enabled(hidden.device.type):
            return linear_cross_entropy(hidden, self.weight, labels, bias=self.bias, label_smoothing=label_smoothing)
        size = len(labels) if torch.is_grad_enabled() else tokens_at_a_time(len(labels), self.weight.size(0))
        parts = zip(hidden.split(max(1, size)), labels.split(max(1, size)), strict=True)
        return torch.stack([summed_loss(self(h), y, label_smoothing) for h, y in parts]).sum()


def summed_loss(logits: Tensor, labels: Tensor, label_smoothing: float) -> Tensor:
    """(M, V) and (M,) -> the summed cross-entropy, in float32 or better: a sum of exponentials needs the precision."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(logits, labels, reduction="sum", label_smoothing=label_smoothing)


class MaskedWordsHead(nn.Module):
    """Which word is at a position: W_V norm(act(W x + b)) + b_V, where W_V is usually the embedding's matrix.

    `inner` is the width before W_V, if it is not that of x.
    """

    def __init__(
        self,
        width: int,
        vocabulary: int,
        *,
        inner: int | None = None,
        activation: str = "gelu",
        eps: float = 1e-12,
        tied_to: nn.Parameter | None = None,
    ) -> None:
        super().__init__()
        inner = inner or width
        self.linear = Linear(width, inner)
        self.activation = ACTIVATIONS[activation]
        self.norm = LayerNorm(inner, eps=eps)
        self.vocabulary = VocabularyHead(inner, vocabulary, tied_to=tied_to, bias=True)

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        return self.vocabulary(self.transformed(hidden))

    def loss(self, hidden: Tensor, labels: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
        """The summed cross-entropy of (M, D) against (M,)."""
        return self.vocabulary.loss(self.transformed(hidden), labels, label_smoothing=label_smoothing)

    def transformed(self, hidden: Tensor) -> Tensor:
        return self.norm(self.activation(self.linear(hidden)))


class FirstTokenHead(nn.Module):
    """A vector for the whole sentence, from its first token: act(W x_0 + b). BERT calls it the pooler."""

    def __init__(self, width: int, *, activation: str = "tanh") -> None:
        super().__init__()
        self.linear = Linear(width, width)
        self.activation = torch.tanh if activation == "tanh" else ACTIVATIONS[activation]

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, D)."""
        return self.activation(self.linear(hidden[:, 0]))


class ClassHead(nn.Module):
    """Logits of classes, from a sentence's vector or from every token's."""

    def __init__(self, width: int, classes: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.linear = Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., classes)."""
        return self.linear(self.dropout(x))

    def loss(self, x: Tensor, labels: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
        """The summed cross-entropy of (M, D) against (M,)."""
        return summed_loss(self(x), labels, label_smoothing)


class LastTokenHead(nn.Module):
    """Logits of classes from the last token of a text, the only one that has seen all others: h W_y, without a bias
    (Radford et al. 2018, equation 3)."""

    def __init__(self, width: int, classes: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.linear = Linear(width, classes, bias=False)

    def forward(self, hidden: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D), padded at the end, and (B,) -> (B, classes)."""
        last = hidden[torch.arange(len(lengths), device=hidden.device), lengths - 1]  # (B, D)
        return self.linear(self.dropout(last))


class SpanHead(nn.Module):
    """Where an answer begins and where it ends: two logits for every token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = Linear(width, 2)

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, 2), begins and ends."""
        return self.linear(hidden)
