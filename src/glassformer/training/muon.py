"""Muon: momentum in which every update is an orthogonal matrix (Jordan et al. 2024), batched and in float32.

All matrices of the same shape are orthogonalised together in a few batched products. torch's own Muon handles one
matrix at a time in bfloat16, which is slow on CPUs without bfloat16 hardware.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

# Newton-Schulz coefficients a, b, c of X -> a X + b (X X^T) X + c (X X^T)^2 X, one triple per step, as Jordan et al.
# chose them: singular values from 0.01 to 1 end up between 0.7 and 1.2, which is orthogonal enough.
COEFFICIENTS = 5 * [(3.4445, -4.7750, 2.0315)]
RMS = 0.2  # of an update's entries, as AdamW's usually are, so that one learning rate serves both (Liu et al. 2025)


class Muon(Optimizer):
    """For weight matrices (out, in). `rows` gives the sizes of the blocks of rows in a fused matrix."""

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[dict[str, Any]],
        *,
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        rows: Mapping[Tensor, list[int]] | None = None,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.rows = rows or {}

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of all matrices: w <- (1 - lr * decay) w - lr * scale * orthogonal(momentum)."""
        assert closure is None, "Muon reads the gradients once"
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            blocks = [block for p in parameters for block in self._blocks(p, self._looking_ahead(p, group["momentum"]))]
            weights = [block for p in parameters for block in self._blocks(p, p)]
            for weight, update in zip(weights, orthogonal_all(blocks), strict=True):
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(update, alpha=-group["lr"] * RMS * math.sqrt(max(weight.shape)))

    def _blocks(self, parameter: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        return values.split(self.rows.get(parameter, [len(parameter)]))

    def _looking_ahead(self, parameter: Tensor, momentum: float) -> Tensor:
        """Nesterov's direction: a mix of the gradient and the mean gradient, which already includes it."""
        state: dict[str, Any] = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        assert parameter.grad is not None
        state["momentum"].lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(state["momentum"], momentum)


def orthogonal_all(matrices: list[Tensor]) -> list[Tensor]:
    """Each matrix with its singular values brought near 1. A matrix and its transpose share a batch."""
    by_shape: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, matrix in enumerate(matrices):
        by_shape[min(matrix.shape), max(matrix.shape)].append(i)
    done: dict[int, Tensor] = {}
    for (rows, _), places in by_shape.items():
        wide = torch.stack([matrices[i] if matrices[i].size(0) == rows else matrices[i].mT for i in places])
        for i, result in zip(places, newton_schulz(wide), strict=True):
            done[i] = result if matrices[i].size(0) == rows else result.mT
    return [done[i] for i in range(len(matrices))]


def newton_schulz(matrices: Tensor) -> Tensor:
    """(n, rows, columns), rows <= columns -> about U V^T of each U S V^T."""
    x = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for a, b, c in COEFFICIENTS:
        square = x @ x.mT  # (n, rows, rows)
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x
