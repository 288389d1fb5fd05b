"""Sharding (FSDP2): each rank trains its share of every weight, with its gradients and its optimiser state.

While a block is computed, its whole weights are gathered; its gradients are summed over the ranks and cut into shares
again. Every rank also keeps one plain model for validations, filled with the gathered weights: 4 bytes per parameter,
against 16 for training. Checkpoints hold whole tensors, the same as without sharding.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor

from glassformer.nn.attention import CrossAttention
from glassformer.store.weights import copy_weights
from glassformer.training.job import Job, Scores
from glassformer.training.optimiser import share_like
from glassformer.training.step import Loss
from glassformer.training.tuning import blocks_of


class Trainee(nn.Module):
    """The loss as a module: the outermost one, so that all weights are there whatever the loss calls."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.loss: Loss | None = None

    def forward(self, batch: Any) -> tuple[Tensor, int]:
        assert self.loss is not None
        return self.loss(batch)


def shard(job: Job) -> Job:
    """The job with a sharded copy of its model to train; the job's own model is used for validations."""
    # Attention returns views; FSDP warns of changes in place, which no model here makes.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module")
    plain, trainee = job.model, Trainee(copy.deepcopy(job.model))
    mesh = init_device_mesh(job.device.type, (job.ranks.world,))
    shard_blocks(trainee.model, mesh)
    fully_shard(trainee, mesh=mesh)
    for part in trainee.modules():
        if isinstance(part, FSDPModule):
            part.set_gradient_divide_factor(1.0)  # the loss is already divided by the targets of all ranks
            part.set_force_sum_reduction_for_comms(True)  # gloo has no other sum
    trainee.loss = job.loss_of(trainee.model)

    def validate() -> Scores:
        copy_weights(plain, whole(trainee.model))
        plain.eval()
        return job.validate()

    return replace(job, model=trainee.model, loss=trainee, validate=validate)


def shard_blocks(model: nn.Module, mesh: DeviceMesh) -> None:
    """Each block by itself, so that only one is whole at a time."""
    for block in blocks_of(model):
        for part in block.modules():
            if isinstance(part, CrossAttention):  # its keys and values are computed before its block
                fully_shard(part, mesh=mesh)
                register_fsdp_forward_method(part, "read")
        fully_shard(block, mesh=mesh)
        for name in ("at", "first"):  # the last block may compute some tokens alone
            if hasattr(block, name):
                register_fsdp_forward_method(block, name)


def whole(model: nn.Module) -> dict[str, Tensor]:
    """All weights, gathered from all ranks; every rank must call it."""
    return {name: gathered(parameter.detach()) for name, parameter in model.named_parameters()}


def gathered(value: Tensor) -> Tensor:
    return value.full_tensor() if isinstance(value, DTensor) else value


def gathered_all(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: gathered(value) for name, value in tensors.items()}


def load_shares(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copies this rank's share of whole weights into a sharded model."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(share_like(weights[name], parameter))
