"""Heads: from the last hidden state to what is predicted. Shapes: B sentences, T tokens, D width, V vocabulary."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.dropout import Dropout
from glassformer.nn.feed_forward import ACTIVATIONS
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


class MaskedWordsHead(nn.Module):
    """What word a place holds: W_V norm(act(W x + b)) + b_V, where W_V is usually the embedding's own matrix.

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
        self.linear = nn.Linear(width, inner)
        self.activation = ACTIVATIONS[activation]
        self.norm = LayerNorm(inner, eps=eps)
        self.vocabulary = VocabularyHead(inner, vocabulary, tied_to=tied_to, bias=True)

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        return self.vocabulary(self.transformed(hidden))

    def transformed(self, hidden: Tensor) -> Tensor:
        return self.norm(self.activation(self.linear(hidden)))


class FirstTokenHead(nn.Module):
    """A vector for the whole sentence, from its first token: act(W x_0 + b)."""

    def __init__(self, width: int, *, activation: str = "tanh") -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.activation = torch.tanh if activation == "tanh" else ACTIVATIONS[activation]

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, D)."""
        return self.activation(self.linear(hidden[:, 0]))


class ClassHead(nn.Module):
    """Logits of some classes, of a sentence's vector, of that of a pair read together, or of every token."""

    def __init__(self, width: int, classes: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.linear = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., classes)."""
        return self.linear(self.dropout(x))


class PairHead(nn.Module):
    """How two sentences that were read apart belong together: W [u; v; |u - v|] + b (arXiv 1908.10084, section 3)."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(3 * width, classes)

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """(B, D) twice -> (B, classes)."""
        return self.linear(torch.cat([u, v, (u - v).abs()], dim=-1))


class SimilarityHead(nn.Module):
    """How alike sentences are: their cosine, times a scale where the numbers are logits of which belongs to which."""

    def __init__(self, *, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """(N, D) and (M, D) -> (N, M)."""
        return F.normalize(u, dim=-1) @ F.normalize(v, dim=-1).mT * self.scale


class SpanHead(nn.Module):
    """Where an answer begins and where it ends: two logits for every token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 2)

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, 2), begins and ends."""
        return self.linear(hidden)


def best_spans(logits: Tensor, allowed: Tensor, *, longest: int) -> Tensor:
    """The likeliest span of each row: logits (B, T, 2) and where it may lie (B, T) -> first and last place (B, 2).

    A span ends where it begins or after, and has at most `longest` tokens.
    """
    begin, end = logits.masked_fill(~allowed[..., None], float("-inf")).unbind(-1)  # (B, T) twice
    size = begin.size(1)
    later = torch.ones(size, size, dtype=torch.bool, device=logits.device).triu().tril(longest - 1)
    scores = (begin[:, :, None] + end[:, None, :]).masked_fill(~later, float("-inf"))  # (B, T, T)
    place = scores.flatten(1).argmax(-1)
    return torch.stack([place // size, place % size], dim=-1)
