"""The position-wise feed-forward network: two layers, applied to each token separately."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.taps import Tap


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU, approximated with tanh."""
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": gelu_tanh,
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """act(x W_1 + b_1) W_2 + b_2 (2017, equation 2); gated: (act(x W_g) * (x W_1)) W_2 (Shazeer 2020)."""

    def __init__(
        self, width: int, inner: int, *, activation: str = "relu", gated: bool = False, bias: bool = True
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.up = nn.Linear(width, inner, bias=bias)
        self.gate = nn.Linear(width, inner, bias=bias) if gated else None
        self.down = nn.Linear(inner, width, bias=bias)
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
            inner = self.activation(self.pre(self.gate(x))) * self.up(x)
        return self.down(self.post(inner))
