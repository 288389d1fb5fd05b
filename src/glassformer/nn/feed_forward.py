"""The position-wise feed-forward network: two layers, applied to each token separately."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.linear import Linear
from glassformer.nn.taps import Tap


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU, approximated with tanh: x (1 + tanh(u)) / 2, u = sqrt(2/pi) (x + 0.044715 x^3)."""
    if x.device.type == "cpu" and x.dtype == torch.float32 and not torch.compiler.is_compiling():
        y: Tensor = _GeluTanh.apply(x)
        return y
    return F.gelu(x, approximate="tanh")


class _GeluTanh(torch.autograd.Function):
    """The same as x sigmoid(2u). torch's sigmoid is much faster on a CPU than its tanh."""

    SLOPE = 2 * math.sqrt(2 / math.pi)  # of 2u at 0
    CUBIC = SLOPE * 0.044715

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        share = torch.addcmul(x.new_tensor(_GeluTanh.SLOPE), x, x, value=_GeluTanh.CUBIC).mul_(x).sigmoid_()
        ctx.save_for_backward(x, share)
        return x * share

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """s + x s (1 - s) 2u'."""
        x, share = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives
            return torch.autograd.grad(F.gelu(x, approximate="tanh"), x, grad, create_graph=True)[0]
        slope = torch.addcmul(x.new_tensor(_GeluTanh.SLOPE), x, x, value=3 * _GeluTanh.CUBIC)
        return torch.addcmul(share, share, share, value=-1).mul_(x).mul_(slope).add_(share).mul_(grad)


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
            inner = self.activation(self.pre(self.gate(x))) * self.up(x)
        return self.down(self.post(inner))
