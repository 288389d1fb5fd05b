"""Activations of feed-forward networks: relu, silu, GELU, and GELU approximated with tanh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import torch.nn.functional as F
from torch import Tensor

from glassformer.nn.native import activations as native


@dataclass(frozen=True)
class Activation:
    """act(x), or act(x) * times for a gated network. In C on a CPU, where torch needs a pass for each part of it."""

    name: str
    in_torch: Callable[[Tensor], Tensor] = field(compare=False)  # a copy of the activation is the same one
    faster_in_c: bool = True

    def __call__(self, x: Tensor, times: Tensor | None = None) -> Tensor:
        if self.faster_in_c and native.suits(x, times):
            return native.activated(self.name, self.in_torch, x, times)
        return self.in_torch(x) if times is None else self.in_torch(x) * times


ACTIVATIONS = {
    "relu": Activation("relu", F.relu, faster_in_c=False),
    "gelu": Activation("gelu", F.gelu),
    "gelu_tanh": Activation("gelu_tanh", partial(F.gelu, approximate="tanh")),
    "silu": Activation("silu", F.silu),
}
