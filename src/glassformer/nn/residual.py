"""Residual connections: the output of a sub-layer is added to its input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor, nn

from glassformer.nn.dropout import Dropout
from glassformer.nn.taps import Tap

Norm = TypeVar("Norm", bound=nn.Module)


class PreNorm(nn.Module, Generic[Norm]):
    """x + f(norm(x)): the residual stream itself is never normalised."""

    def __init__(self, norm: Norm, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.before, self.added, self.after = Tap(), Tap(), Tap()

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x = self.before(x)
        return self.after(x + self.added(self.dropout(sublayer(self.norm(x)))))


class PostNorm(nn.Module, Generic[Norm]):
    """norm(x + f(x)): the stream is normalised after each sub-layer, as in 2017."""

    def __init__(self, norm: Norm, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.before, self.added, self.after = Tap(), Tap(), Tap()

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x = self.before(x)
        return self.after(self.norm(x + self.added(self.dropout(sublayer(x)))))
