"""Initial weights of a whole model."""

from __future__ import annotations

from torch import nn


def init_normal(model: nn.Module, *, std: float = 0.02, residual_scale: float = 1.0) -> None:
    """Matrices are normal with `std`, biases 0.

    `residual_scale` scales the matrices whose output is added to the residual stream, so that the sum of many blocks
    does not grow with their number.
    """
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            adds = name.endswith(("out.linear.weight", "down.weight"))
            nn.init.normal_(parameter, std=std * residual_scale if adds else std)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
