"""Weights of a module by name, tied ones once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from glassformer.errors import RunError


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """Every parameter once, under the first name that it has: a tied matrix is one entry."""
    return {name: parameter.detach() for name, parameter in module.named_parameters()}


def parameter_count(module: nn.Module) -> int:
    """Of all weights, tied ones once."""
    return sum(parameter.numel() for parameter in module.parameters())


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], *, origin: str) -> None:
    """Copies the weights in; a missing, unexpected or mis-shaped tensor is an error that names it."""
    own = dict(module.named_parameters())
    problems = [f"{name} is missing" for name in own if name not in weights]
    problems += [f"{name} is unexpected" for name in weights if name not in own]
    problems += [
        f"{name} has shape {tuple(weights[name].shape)}, expected {tuple(parameter.shape)}"
        for name, parameter in own.items()
        if name in weights and weights[name].shape != parameter.shape
    ]
    if problems:
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        raise RunError(f"{origin}: the weights do not fit this model: {'; '.join(problems[:3])}{more}.")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(weights[name])
