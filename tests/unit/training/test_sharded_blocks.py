"""Blocks of a sharded model gather their weights in every way that a model calls them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from glassformer.models.registry import build
from glassformer.training.sharded import shard_blocks

SHAPE = {"N": 2, "d": 8, "h": 2, "d_ff": 8}


@pytest.fixture
def alone() -> Iterator[DeviceMesh]:
    """The mesh of one rank."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["vit", "bert"])
def test_the_last_block_may_compute_some_tokens_alone(kind: str, alone: DeviceMesh) -> None:
    torch.manual_seed(1)
    if kind == "vit":
        model = build("vit", {**SHAPE, "patch": 2, "image": 4, "channels": 1, "classes": 3})
        batch = SimpleNamespace(images=torch.randn(2, 1, 4, 4))
    else:
        model = build("bert", {**SHAPE, "vocabulary": 9, "head": "sentence", "dropout": 0.0})
        batch = SimpleNamespace(ids=torch.tensor([[1, 2, 3]] * 2), segments=None, lengths=torch.tensor([3, 3]))
    model.train()
    expected = model(batch)
    shard_blocks(model, alone)
    torch.testing.assert_close(model(batch), expected)
