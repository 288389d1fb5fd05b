"""One update of the weights. A step is a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from glassformer.errors import ModelError
from glassformer.training.distributed import UNSHARED, Replica
from glassformer.training.optimiser import Optimisers

Loss = Callable[[Any], tuple[Tensor, int]]  # a batch -> the summed loss, and the weight to divide it by


class Diverged(ModelError):
    """The loss or the gradient is NaN or infinite."""


@dataclass(frozen=True)
class StepReport:
    """What one update did."""

    loss: float  # mean over the targets
    weight: int  # how many targets there were
    grad_norm: float


def train_step(
    optimiser: Optimisers,
    batches: Sequence[Any],
    *,
    loss: Loss,
    lr: float,
    clip: float,
    weight: int,
    autocast: AbstractContextManager[Any] | None = None,
    replica: Replica = UNSHARED,
) -> StepReport:
    """Sums the gradients of all batches, divided by their total weight (number of targets), then makes one update.

    Dividing by the total makes n batches of m examples the same update as one batch of n*m, whatever their lengths.
    With several ranks, each has its own batches, with None for one that has no targets; `weight` and the report are for
    all ranks together.
    """
    optimiser.zero_grad()
    losses = [0.0] * len(batches)
    for number, batch in enumerate(batches):
        with replica.summing(number + 1 == len(batches)):
            if batch is not None:
                with autocast or nullcontext():
                    summed, _ = loss(batch)
                (summed / weight).backward()
                losses[number] = summed.item()
    total = sum(replica.ranks.in_order(losses))
    norm = clipped(optimiser.trained, clip)
    if not (total - total == 0.0 and norm - norm == 0.0):  # inf - inf and nan - nan are nan
        raise Diverged(
            f"the loss is {total / weight} and the gradient's norm {norm}: training has diverged; the weights "
            "were not changed. Set a lower train.lr or a longer train.warmup, with --accept-changes to resume from "
            "the last checkpoint or with another --out to start again."
        )
    optimiser.step(lr)
    return StepReport(total / weight, weight, norm)


def clipped(trained: Sequence[nn.Parameter], clip: float) -> float:
    """Scales the gradients down to the norm `clip` if theirs is larger; returns the norm they had."""
    parameters = [p for p in trained if p.grad is not None]
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters])  # type: ignore[misc]
    found = whole_number(norm)
    if not found <= clip:  # also for NaN
        torch.nn.utils.clip_grads_with_norm_(parameters, clip, norm)
    return found


def whole_number(value: Tensor) -> float:
    """The value of a tensor with one number, also where each rank has a part of it."""
    return float((value.full_tensor() if isinstance(value, DTensor) else value).item())


def autocast_for(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """The context for mixed precision, or an empty one."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if precision == "bf16" else nullcontext()


def seed_step(seed: int, step: int, rank: int = 0) -> None:
    """Makes the random numbers of a step a function of (seed, step, rank), so that a resumed run draws the same."""
    mixed = (seed * 0x9E3779B97F4A7C15 + step * 0xBF58476D1CE4E5B9 + rank * 0x94D049BB133111EB) % 2**63
    torch.default_generator.manual_seed(mixed)
    # torch.manual_seed queues a call, with its stack trace, for each type of device that is not initialised.
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(mixed)
    if torch.xpu.is_initialized():
        torch.xpu.manual_seed_all(mixed)
    if torch.backends.mps.is_available():
        torch.mps.manual_seed(mixed)
