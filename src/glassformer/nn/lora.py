"""LoRA: "Low-Rank Adaptation of Large Language Models" (Hu et al. 2021, arXiv 2106.09685).

A matrix W stays as it is; what is learned is a product of two thin matrices beside it: W + scale * B A, with A (r, in)
and B (out, r). B starts at zero, so that the model starts as it was. A matrix that holds several projections (queries,
keys and values) has an A and a B for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.attention import Projections
from glassformer.nn.dropout import Dropout

ADAPTERS = "adapters"  # the name of the modules beside a matrix


class LowRank(nn.Module):
    """scale * B A x, for one projection."""

    def __init__(self, width: int, out: int, *, rank: int, scale: float, dropout: float = 0.0) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.empty(rank, width)), nn.Parameter(torch.zeros(out, rank))
        self.scale, self.dropout = scale, Dropout(dropout)
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))  # the spread of a new nn.Linear

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out)."""
        return F.linear(F.linear(self.dropout(x), self.a) * self.scale, self.b)  # scaled where it is small


class Adapters(nn.ModuleList):
    """The low-rank matrices beside one matrix, one for each of its projections."""

    merged = False  # whether they are part of the matrix at the moment

    def forward(self, x: Tensor) -> Tensor:
        parts = [part(x) for part in self]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


def add_adapters(linear: nn.Linear, *, rank: int, scale: float, dropout: float = 0.0) -> None:
    """Freezes a linear layer and puts low-rank matrices beside it."""
    weight = linear.weight
    rows = linear.rows if isinstance(linear, Projections) else [linear.out_features]
    parts = [LowRank(linear.in_features, out, rank=min(rank, out), scale=scale, dropout=dropout) for out in rows]
    linear.adapters = Adapters(parts).to(weight.device, weight.dtype)
    linear.requires_grad_(False)
    linear.adapters.requires_grad_(True)
    linear.register_forward_hook(_add)


def _add(linear: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
    adapters = linear.adapters
    assert isinstance(adapters, Adapters)
    return output if adapters.merged else output + adapters(inputs[0])


def adapted(model: nn.Module) -> dict[str, nn.Linear]:
    """The layers that have adapters, by name."""
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and isinstance(getattr(module, ADAPTERS, None), Adapters)
    }


def is_adapter(name: str) -> bool:
    """Whether a parameter of this name belongs to an adapter."""
    return f".{ADAPTERS}." in name


def merged_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the plain model: W + scale * B A in the place of each adapted matrix."""
    found = {name: weight for name, weight in weights.items() if not is_adapter(name)}
    for name, linear in adapted(model).items():
        found[f"{name}.weight"] = weights[f"{name}.weight"] + difference(linear, name, weights)
    return found


def difference(linear: nn.Linear, name: str, weights: Mapping[str, Tensor]) -> Tensor:
    """What the adapters of a layer add to its matrix, (out, in)."""
    adapters = linear.adapters
    assert isinstance(adapters, Adapters)
    parts = []
    for number, part in enumerate(adapters):
        assert isinstance(part, LowRank)
        a, b = (weights[f"{name}.{ADAPTERS}.{number}.{letter}"] for letter in "ab")
        parts.append(part.scale * (b @ a))
    return torch.cat(parts)


@contextmanager
def merged(model: nn.Module) -> Iterator[None]:
    """While open, the adapters are part of the matrices, for code that reads the matrices themselves.

    Afterwards the matrices have their own values again, to the bit.
    """
    layers = adapted(model)
    weights = {name: weight.detach() for name, weight in model.named_parameters()} if layers else {}
    own = {name: linear.weight.detach().clone() for name, linear in layers.items()}
    with torch.no_grad():
        for name, linear in layers.items():
            linear.weight.copy_(own[name] + difference(linear, name, weights))  # copied: others notice the change
            linear.adapters.merged = True  # type: ignore[union-attr]
    try:
        yield
    finally:
        with torch.no_grad():
            for name, linear in layers.items():
                linear.weight.copy_(own[name])
                linear.adapters.merged = False  # type: ignore[union-attr]


def remove_adapters(model: nn.Module) -> None:
    """Makes the model plain again, with the matrices that were frozen."""
    for linear in adapted(model).values():
        del linear.adapters
        for key, hook in list(linear._forward_hooks.items()):
            if hook is _add:
                del linear._forward_hooks[key]
