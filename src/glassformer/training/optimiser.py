"""AdamW, or Muon for the inner matrices together with AdamW for the rest; their state as named tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from glassformer.errors import RunError
from glassformer.nn.attention import Projections
from glassformer.store.weights import load_weights, weights_of
from glassformer.training.averaging import AverageWeights, mean_of_last, moving
from glassformer.training.muon import Muon
from glassformer.training.settings import TrainSettings

FIELDS = {torch.optim.AdamW: ("step", "exp_avg", "exp_avg_sq"), Muon: ("momentum",)}  # the state of each
OWN = "weight"  # with an average, this field holds the weights that are trained


class Optimisers:
    """Optimisers that each move a part of a model's parameters and step together; with an average if there is one."""

    def __init__(self, members: Sequence[torch.optim.Optimizer], average: AverageWeights | None = None) -> None:
        self.members = members
        self.average = average
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
    return Optimisers(members, make_average(model, settings))


def make_average(model: nn.Module, settings: TrainSettings) -> AverageWeights | None:
    if settings.ema:
        return AverageWeights(model, moving(settings.ema))
    if settings.average_last:
        steps = settings.steps or 1
        return AverageWeights(
            model, mean_of_last(settings.average_last, steps=steps, every=settings.valid_every or steps)
        )
    return None


def inner_matrices(model: nn.Module) -> dict[Tensor, list[int]]:
    """The weights of all linear layers between embedding and output, each with the row counts of its projections."""
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    return {m.weight: m.rows if isinstance(m, Projections) else [m.out_features] for m in linears}


def weights_to_use(model: nn.Module, optimiser: Optimisers) -> Mapping[str, Tensor]:
    """The averaged weights where there is an average, else the model's own."""
    return weights_of(model) if optimiser.average is None else optimiser.average.weights


def optimiser_tensors(model: nn.Module, optimiser: Optimisers) -> dict[str, Tensor]:
    """The optimiser's state for each parameter, as "parameter/field"; with an average, also the trained weights."""
    tensors = {
        f"{name}/{field}": value
        for name, parameter in model.named_parameters()
        for field, value in optimiser.of(parameter).state[parameter].items()
    }
    if optimiser.average is not None:
        tensors |= {f"{name}/{OWN}": weight for name, weight in weights_of(model).items()}
    return tensors


def load_optimiser(model: nn.Module, optimiser: Optimisers, tensors: Mapping[str, Tensor]) -> None:
    """Restores the state, tensor by tensor. Before, the model holds the weights to use: the averaged ones if any."""
    if optimiser.average is not None:
        optimiser.average.load(weights_of(model))
        load_weights(model, {n: _found(tensors, n, OWN) for n in weights_of(model)}, origin="the optimiser's state")
    for name, parameter in model.named_parameters():
        member = optimiser.of(parameter)
        member.state[parameter] = {
            field: _found(tensors, name, field).to(parameter.device, copy=True) for field in FIELDS[type(member)]
        }


def _found(tensors: Mapping[str, Tensor], name: str, field: str) -> Tensor:
    if f"{name}/{field}" not in tensors:
        raise RunError(f"The checkpoint's optimiser has no {field} for {name}: it belongs to another model.")
    return tensors[f"{name}/{field}"]
