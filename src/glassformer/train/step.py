"""One update of the weights. A step is a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.errors import ModelError
from glassformer.train.distributed import UNSHARED, Replica
from glassformer.train.optimiser import Optimisers

Loss = Callable[[Any], tuple[Tensor, int]]  # a batch -> the summed loss, and over how many tokens


class Diverged(ModelError):
    """The loss or the gradient is not a number."""


@dataclass(frozen=True)
class StepReport:
    """What one update did."""

    loss: float  # mean per target token
    target_tokens: int
    grad_norm: float


def train_step(
    model: nn.Module,
    optimiser: Optimisers,
    batches: Sequence[Any],
    *,
    loss: Loss,
    lr: float,
    clip: float,
    target_tokens: int,
    autocast: AbstractContextManager[Any] | None = None,
    replica: Replica = UNSHARED,
) -> StepReport:
    """Gradients of all batches, divided by the number of target tokens in them all, then one update.

    Dividing by the whole makes n batches of m sentences the same update as one batch of n*m, whatever their lengths.
    Of several ranks each brings its own batches, None for one that has nothing to learn; `target_tokens` is of them
    all, and so is the report.
    """
    optimiser.zero_grad()
    losses = [0.0] * len(batches)
    for number, batch in enumerate(batches):
        with replica.summing(number + 1 == len(batches)):
            if batch is not None:
                with autocast or nullcontext():
                    summed, _ = loss(batch)
                (summed / target_tokens).backward()
                losses[number] = summed.item()
    total = sum(replica.ranks.in_order(losses))
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip).item()
    if not (total - total == 0.0 and norm - norm == 0.0):  # inf - inf and nan - nan are nan
        raise Diverged(
            f"the loss is {total / target_tokens} and the gradient's norm {norm}: training has diverged; the weights "
            "were not touched. Give a lower train.lr or a longer train.warmup, with --accept-changes to go on from the "
            "last checkpoint or with another --out to train anew."
        )
    optimiser.step(lr)
    return StepReport(total / target_tokens, target_tokens, norm)


def autocast_for(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """The context of mixed precision, or none."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if precision == "bf16" else nullcontext()


def seed_step(seed: int, step: int, rank: int = 0) -> None:
    """Makes the random numbers of a step a function of (seed, step, rank), so that a resumed run draws the same."""
    mixed = (seed * 0x9E3779B97F4A7C15 + step * 0xBF58476D1CE4E5B9 + rank * 0x94D049BB133111EB) % 2**63
    torch.manual_seed(mixed)
