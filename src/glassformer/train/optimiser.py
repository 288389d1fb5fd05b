"""AdamW, and Muon for the matrices beside it; their state as named tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from glassformer.errors import RunError
from glassformer.nn.attention import Projections
from glassformer.train.muon import Muon
from glassformer.train.settings import TrainSettings

FIELDS = {torch.optim.AdamW: ("step", "exp_avg", "exp_avg_sq"), Muon: ("momentum",)}  # what each remembers


class Optimisers:
    """Several optimisers that share the parameters of a model among them and step together."""

    def __init__(self, members: Sequence[torch.optim.Optimizer]) -> None:
        self.members = members
        self._of = {p: member for member in members for group in member.param_groups for p in group["params"]}

    def zero_grad(self) -> None:
        for member in self.members:
            member.zero_grad(set_to_none=True)

    def step(self, lr: float) -> None:
        """One update with the learning rate `lr`."""
        for member in self.members:
            for group in member.param_groups:
                group["lr"] = lr
            member.step()

    def of(self, parameter: nn.Parameter) -> torch.optim.Optimizer:
        """The member that moves this parameter."""
        return self._of[parameter]


def make_optimiser(model: nn.Module, settings: TrainSettings) -> Optimisers:
    """AdamW (Loshchilov and Hutter 2017) for everything, or Muon for the matrices inside the model and AdamW for
    embeddings, output layer, gains and biases. Gains and biases are not decayed."""
    inner = inner_matrices(model) if settings.optimiser == "muon" else {}
    others = [p for p in model.parameters() if p not in inner]
    groups = (
        {"params": [p for p in others if p.dim() >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in others if p.dim() < 2], "weight_decay": 0.0},
    )
    given, betas = [group for group in groups if group["params"]], (settings.beta1, settings.beta2)
    members: list[torch.optim.Optimizer] = [torch.optim.AdamW(given, lr=settings.lr, betas=betas, eps=1e-9, fused=True)]
    if inner:
        muon = Muon(inner, lr=settings.lr, momentum=settings.momentum, weight_decay=settings.weight_decay, rows=inner)
        members.append(muon)
    return Optimisers(members)


def inner_matrices(model: nn.Module) -> dict[Tensor, list[int]]:
    """The weights of all linear layers between embedding and output, each with the rows of the projections in it."""
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    return {m.weight: m.rows if isinstance(m, Projections) else [m.out_features] for m in linears}


def optimiser_tensors(model: nn.Module, optimiser: Optimisers) -> dict[str, Tensor]:
    """The optimiser's memory of each parameter, as "parameter/field"."""
    return {
        f"{name}/{field}": value
        for name, parameter in model.named_parameters()
        for field, value in optimiser.of(parameter).state[parameter].items()
    }


def load_optimiser(model: nn.Module, optimiser: Optimisers, tensors: Mapping[str, Tensor]) -> None:
    """Puts the memory back, tensor by tensor."""
    for name, parameter in model.named_parameters():
        member = optimiser.of(parameter)
        fields = FIELDS[type(member)]
        missing = [field for field in fields if f"{name}/{field}" not in tensors]
        if missing:
            raise RunError(f"The checkpoint's optimiser has no {missing[0]} of {name}: it belongs to another model.")
        member.state[parameter] = {
            field: tensors[f"{name}/{field}"].to(parameter.device, copy=True) for field in fields
        }
