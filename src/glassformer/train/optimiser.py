"""AdamW, and its state as named tensors."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from glassformer.errors import RunError
from glassformer.train.settings import TrainSettings

FIELDS = ("step", "exp_avg", "exp_avg_sq")


def make_optimiser(model: nn.Module, settings: TrainSettings) -> torch.optim.AdamW:
    """AdamW (Loshchilov and Hutter 2017); gains and biases are not decayed."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.lr, betas=(settings.beta1, settings.beta2), eps=1e-9, fused=True)


def optimiser_tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's memory of each parameter, as "parameter/field"."""
    return {
        f"{name}/{field}": optimiser.state[parameter][field]
        for name, parameter in model.named_parameters()
        if parameter in optimiser.state
        for field in FIELDS
    }


def load_optimiser(model: nn.Module, optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Puts the memory back, tensor by tensor."""
    for name, parameter in model.named_parameters():
        missing = [field for field in FIELDS if f"{name}/{field}" not in tensors]
        if missing:
            raise RunError(f"The checkpoint's optimiser has no {missing[0]} of {name}: it belongs to another model.")
        optimiser.state[parameter] = {
            field: tensors[f"{name}/{field}"].to(parameter.device, copy=True) for field in FIELDS
        }
