"""The position-wise feed-forward network: two layers, applied to each token separately."""

from __future__ import annotations

from torch import Tensor, nn

from glassformer.nn.activations import ACTIVATIONS
from glassformer.nn.linear import Linear
from glassformer.nn.taps import Tap


class FeedForward(nn.Module):
    """act(x W_1 + b_1) W_2 + b_2 (2017, equation 2); gated: (act(x W_g) * (x W_1)) W_2 (Shazeer 2020)."""

    def __init__(
        self, width: int, inner: int, *, activation: str = "relu", gated: bool = False, bias: bool = True
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.up = Linear(width, inner, bias=bias)
        self.gate = Linear(width, inner, bias=bias) if gated else None
        self.down = Linear(inner, width, bias=bias)
        self.pre, self.post = Tap(), Tap()
        for linear in (self.up, self.gate, self.down):
            if linear is not None:
                nn.init.xavier_uniform_(linear.weight)
                if bias:
                    nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, F) -> (B, T, D)."""
        if self.gate is None:
            inner = self.activation(self.pre(self.up(x)))
        else:
            inner = self.activation(self.pre(self.gate(x)), self.up(x))
        return self.down(self.post(inner))
