"""Residual streams: what a sub-layer finds is added to what it was given."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from glassformer.nn.dropout import Dropout
from glassformer.nn.taps import Tap


class PreNorm(nn.Module):
    """x + f(norm(x)): the stream itself is never normed, so that it flows through all blocks unchanged."""

    def __init__(self, norm: nn.Module, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.before, self.added, self.after = Tap(), Tap(), Tap()

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x = self.before(x)
        return self.after(x + self.added(self.dropout(sublayer(self.norm(x)))))


class PostNorm(nn.Module):
    """norm(x + f(x)): the stream is normed after each sub-layer, as in 2017."""

    def __init__(self, norm: nn.Module, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.before, self.added, self.after = Tap(), Tap(), Tap()

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x = self.before(x)
        return self.after(self.norm(x + self.added(self.dropout(sublayer(x)))))
