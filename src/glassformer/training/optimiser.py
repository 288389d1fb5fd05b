"""AdamW, or Muon for the inner matrices together with AdamW for the rest; their state as named tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from glassformer.errors import RunError
from glassformer.nn.attention import Projections
from glassformer.nn.lora import adapted, merged_weights
from glassformer.store.weights import load_weights, weights_of
from glassformer.training.averaging import AverageWeights, mean_of_last, moving
from glassformer.training.muon import Muon
from glassformer.training.settings import TrainSettings
from glassformer.training.tuning import rate_scales

FIELDS = {torch.optim.AdamW: ("step", "exp_avg", "exp_avg_sq"), Muon: ("momentum",)}  # the state of each
OWN = "weight"  # with an average or adapters, this field holds the weights that are trained
AVERAGED = "average"  # with both, this one the average


class Optimisers:
    """Optimisers that each move a part of a model's parameters and step together; with an average if there is one."""

    def __init__(
        self,
        members: Sequence[torch.optim.Optimizer],
        trained: Sequence[nn.Parameter],
        average: AverageWeights | None = None,
    ) -> None:
        self.members = members
        self.trained = trained  # all that they move, in the order of the model
        self.average = average
        self._of = {p: member for member in members for group in member.param_groups for p in group["params"]}

    def zero_grad(self) -> None:
        for member in self.members:
            member.zero_grad(set_to_none=True)

    def step(self, lr: float) -> None:
        """One update with the learning rate `lr`."""
        for member in self.members:
            for group in member.param_groups:
                group["lr"] = lr * group.get("scale", 1.0)
            member.step()

    def of(self, parameter: nn.Parameter) -> torch.optim.Optimizer:
        """The member that moves this parameter."""
        return self._of[parameter]


def make_optimiser(model: nn.Module, settings: TrainSettings) -> Optimisers:
    """AdamW (Loshchilov and Hutter 2017) for everything, or Muon for the matrices inside the model and AdamW for
    embeddings, output layer, gains and biases. Gains and biases are not decayed."""
    inner = inner_matrices(model) if settings.optimiser == "muon" else {}
    scales = rate_scales(model, settings.layer_decay)
    trained = {p: scales[name] for name, p in model.named_parameters() if p.requires_grad}
    matrices = groups_of({p: scale for p, scale in trained.items() if p in inner})
    others = {p: scale for p, scale in trained.items() if p not in inner}
    decayed = groups_of({p: s for p, s in others.items() if p.dim() >= 2}, weight_decay=settings.weight_decay)
    kept = groups_of({p: s for p, s in others.items() if p.dim() < 2}, weight_decay=0.0)
    betas = (settings.beta1, settings.beta2)
    members: list[torch.optim.Optimizer] = []
    if others:
        members.append(torch.optim.AdamW([*decayed, *kept], lr=settings.lr, betas=betas, eps=1e-9, fused=True))
    if matrices:
        rates = {"lr": settings.lr, "momentum": settings.momentum, "weight_decay": settings.weight_decay}
        members.append(Muon(matrices, **rates, rows=inner))
    return Optimisers(members, list(trained), make_average(model, settings))


def groups_of(scales: Mapping[nn.Parameter, float], **options: float) -> list[dict[str, Any]]:
    """Parameters with the same scale of their rate together, in the order of the first of each."""
    found: dict[float, list[nn.Parameter]] = {}
    for parameter, scale in scales.items():
        found.setdefault(scale, []).append(parameter)
    return [{"params": together, "scale": scale, **options} for scale, together in found.items()]


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
    """The weights of the plain model: averaged ones where there is an average, adapters merged into their matrices."""
    averaged = {} if optimiser.average is None else optimiser.average.weights
    return merged_weights(model, {**weights_of(model), **averaged})


def optimiser_tensors(model: nn.Module, optimiser: Optimisers) -> dict[str, Tensor]:
    """The optimiser's state for each parameter, as "parameter/field"; and all of `weights_beside`."""
    tensors = {
        f"{name}/{field}": value
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
        for field, value in optimiser.of(parameter).state[parameter].items()
    }
    return tensors | weights_beside(model, optimiser)


def weights_beside(model: nn.Module, optimiser: Optimisers) -> dict[str, Tensor]:
    """What cannot be read from the weights to use: with an average, the weights that are trained; with adapters, also
    the frozen matrices and the average itself."""
    average = optimiser.average
    if average is None and not adapted(model):
        return {}
    own = {f"{name}/{OWN}": weight for name, weight in weights_of(model).items()}
    averaged = {} if average is None or not adapted(model) else average.weights
    return own | {f"{name}/{AVERAGED}": weight for name, weight in averaged.items()}


def adapter_in(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What was trained beside a frozen model: adapters and heads, averaged ones where there is an average."""
    fields = [name.rpartition("/") for name in tensors]
    trained = {name for name, _, field in fields if field == "exp_avg"}
    kept = AVERAGED if any(field == AVERAGED for _, _, field in fields) else OWN
    return {name: tensors[f"{name}/{kept}"] for name in sorted(trained)}


def load_optimiser(model: nn.Module, optimiser: Optimisers, tensors: Mapping[str, Tensor]) -> None:
    """Restores the state, tensor by tensor. Before, the model holds the weights to use: the averaged ones if any.

    With adapters, which are merged in the weights to use, all weights are read from here. A parameter without any state
    had none when it was saved, because it had no gradient yet.
    """
    if optimiser.average is not None:
        field = AVERAGED if adapted(model) else ""
        average = {name: _found(tensors, name, field) for name in optimiser.average.weights} if field else {}
        optimiser.average.load(average or weights_of(model))
    if optimiser.average is not None or adapted(model):
        load_weights(model, {n: _found(tensors, n, OWN) for n in weights_of(model)}, origin="the optimiser's state")
    moved = {name for name, _, field in (key.rpartition("/") for key in tensors) if field not in (OWN, AVERAGED)}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad or (moved and name not in moved):
            continue
        member = optimiser.of(parameter)
        member.state[parameter] = {
            field: share_like(_found(tensors, name, field), parameter) for field in FIELDS[type(member)]
        }


def share_like(value: Tensor, parameter: Tensor) -> Tensor:
    """A copy of a tensor on the parameter's device; of a sharded parameter's state, the share of this rank."""
    found = value.to(parameter.device, copy=True)
    if isinstance(parameter, DTensor) and value.shape == parameter.shape:
        return distribute_tensor(found, parameter.device_mesh, parameter.placements)
    return found


def _found(tensors: Mapping[str, Tensor], name: str, field: str) -> Tensor:
    if f"{name}/{field}" not in tensors:
        raise RunError(f"The checkpoint's optimiser has no {field} for {name}: it belongs to another model.")
    return tensors[f"{name}/{field}"]
