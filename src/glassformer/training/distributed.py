"""Data parallelism: every rank has the whole model and its share of the batches; gradients are summed over all ranks.

An update takes ranks x accumulate batches of one stream; batch i goes to rank i % ranks. The result is the same update
that one process makes with accumulate = ranks x accumulate, up to the rounding of sums.

Buckets of gradients are sent while the backward pass still works on the layers below, as in torch's
DistributedDataParallel. We do not use that class because it changes its buckets after the first backward pass: with
three or more ranks, a resumed run would then add in another order and round differently than one that was never
stopped. Here the buckets are made once, in the order of the parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn

from glassformer.store.checkpoints import Checkpoint
from glassformer.store.files import pack_tensors, unpack_tensors
from glassformer.training.ranks import ALONE, Ranks

BUCKET = 4 << 20  # bytes in one message. Larger messages overlap less with the computation, smaller ones add latency


class Replica:
    """One rank's copy of the model: sums its gradients with those of the other ranks."""

    def __init__(self, buckets: Sequence[Bucket] = (), ranks: Ranks = ALONE) -> None:
        self.buckets, self.ranks = buckets, ranks
        self._sent = 0
        self._summing = False
        for bucket in buckets:
            for parameter in bucket.parameters:
                parameter.register_post_accumulate_grad_hook(partial(self._ready, bucket))

    @contextmanager
    def summing(self, is_last: bool = True) -> Iterator[None]:
        """Goes around each backward pass of an update. After the last one, gradients are the sums over all ranks."""
        if not is_last or not self.buckets:
            yield
            return
        self._sent, self._summing = 0, True
        for bucket in self.buckets:
            bucket.missing = len(bucket.parameters)
        try:
            yield
        finally:
            self._summing = False
        for bucket in self.buckets[self._sent :]:  # those with parameters that this pass did not use
            bucket.send()
        for bucket in self.buckets:
            bucket.receive()

    def _ready(self, bucket: Bucket, _: Tensor) -> None:
        """Sends the buckets that are full, in an order that is the same on every rank."""
        if self._summing:
            bucket.missing -= 1
            while self._sent < len(self.buckets) and not self.buckets[self._sent].missing:
                self.buckets[self._sent].send()
                self._sent += 1


UNSHARED = Replica()


@dataclass(eq=False)
class Bucket:
    """Gradients of several parameters that are sent as one message."""

    parameters: list[nn.Parameter]
    flat: Tensor
    views: list[Tensor]  # into `flat`, one for each parameter
    missing: int = 0  # gradients that this backward pass has not computed yet
    work: dist.Work | None = None

    @classmethod
    def of(cls, parameters: list[nn.Parameter]) -> Bucket:
        sizes = [parameter.numel() for parameter in parameters]
        flat = parameters[0].new_zeros(sum(sizes))
        views = [view.view_as(p) for view, p in zip(flat.split(sizes), parameters, strict=True)]
        return cls(parameters, flat, views)

    def send(self) -> None:
        """Starts the sum over all ranks. A parameter without a gradient on this rank counts as zero."""
        for parameter, view in zip(self.parameters, self.views, strict=True):
            view.zero_() if parameter.grad is None else view.copy_(parameter.grad)
            parameter.grad = view
        self.work = dist.all_reduce(self.flat, async_op=True)

    def receive(self) -> None:
        assert self.work is not None
        self.work.wait()
        self.work = None


def wrap(model: nn.Module, ranks: Ranks) -> Replica:
    """Makes the model one of `ranks.world` replicas; its weights must be the same on all ranks.

    A model that is too large for one device is sharded instead (`sharded.py`).
    """
    return Replica([Bucket.of(part) for part in parts_of(model)], ranks) if ranks.world > 1 else UNSHARED


def parts_of(model: nn.Module) -> Iterator[list[nn.Parameter]]:
    """The parameters from last to first, about the order of their gradients, split into messages of one dtype."""
    part: list[nn.Parameter] = []
    size = 0
    for parameter in reversed([p for p in model.parameters() if p.requires_grad]):
        if part and (size >= BUCKET or parameter.dtype != part[0].dtype):
            yield part
            part, size = [], 0
        part.append(parameter)
        size += parameter.numel() * parameter.element_size()
    if part:
        yield part


def share_weights(ranks: Ranks, model: nn.Module) -> None:
    """Sends the writer's weights to all ranks: they may come from another run."""
    if ranks.world > 1:
        for parameter in model.parameters():
            dist.broadcast(parameter.data, src=0)


def shared_checkpoint(ranks: Ranks, checkpoint: Checkpoint | None) -> Checkpoint | None:
    """The writer's checkpoint on all ranks: only the writer reads the run folder, so all resume from the same one."""
    if ranks.world == 1:
        return checkpoint
    values: dict[str, Any] = {} if checkpoint is None else vars(checkpoint)
    packed = {name: pack_tensors(value) for name, value in values.items() if holds_tensors(value)}
    plain = {name: value for name, value in values.items() if name not in packed}
    sent = ranks.from_writer({"plain": plain, "packed": [*packed]})
    contents = {name: ranks.bytes_from_writer(packed.get(name, b"")) for name in sent["packed"]}
    if checkpoint is not None or not contents:
        return checkpoint
    tensors: dict[str, Any] = {n: unpack_tensors(c, origin="the writer's checkpoint") for n, c in contents.items()}
    return Checkpoint(**sent["plain"], **tensors)


def holds_tensors(value: object) -> bool:
    return isinstance(value, Mapping) and any(isinstance(item, Tensor) for item in value.values())
