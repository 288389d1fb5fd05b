"""The FLOPs of training against torch's own counter, which sees every product that is really made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from glassformer.explain.architecture import architecture_of
from glassformer.models.flops import TrainingCost, training_cost
from glassformer.models.registry import build

SHAPE = {"d": 16, "h": 2, "d_ff": 24, "dropout": 0.0, "N": 2}
MODELS: dict[str, dict[str, Any]] = {
    "gpt": {"kind": "gpt", **SHAPE, "vocabulary": 40, "max_length": 16},
    "untied": {"kind": "llama", **SHAPE, "vocabulary": 40, "tied": False},
    "sentence": {"kind": "bert", **SHAPE, "vocabulary": 40, "head": "sentence", "classes": 3},
    "tokens": {"kind": "bert", **SHAPE, "vocabulary": 40, "head": "tokens", "classes": 5},
    "words": {"kind": "bert", **SHAPE, "vocabulary": 40, "head": "words"},
    "t5": {"kind": "t5", **SHAPE, "d_kv": 8, "vocabulary": 40, "N_decoder": 3},
    "vit": {"kind": "vit", **SHAPE, "image": (8, 8), "patch": (4, 4), "channels": 1, "classes": 3, "pooler": False},
}
TEXTS, LENGTH, SOURCE = 3, 7, 5


def batch_for(kind: str) -> Any:
    ids = torch.randint(3, 40, (TEXTS, LENGTH))
    lengths = torch.full((TEXTS,), LENGTH)
    source = torch.randint(3, 40, (TEXTS, SOURCE))
    if kind == "vit":
        return SimpleNamespace(images=torch.randn(TEXTS, 1, 8, 8))
    return SimpleNamespace(
        ids=ids, lengths=lengths, segments=None, source=source, source_lengths=torch.full((TEXTS,), SOURCE),
        target_in=ids,
    )  # fmt: skip


def sides_of(model: Any, kind: str) -> tuple[tuple[nn.Module, ...], np.ndarray[Any, Any]]:
    if kind == "t5":
        return (model.encoder, model.decoder), np.array([[SOURCE, LENGTH]] * TEXTS)
    return (model,), np.array([[5 if kind == "vit" else LENGTH]] * TEXTS)  # 4 patches and the first token


def counted(model: Any, kind: str) -> int:
    """What torch sees in one forward and backward pass."""
    plain = (lambda batch: model.head(model.hidden(batch)[:, 0])) if kind == "vit" else model  # it skips a little work
    with FlopCounterMode(display=False) as counter:
        plain(batch_for(kind)).square().sum().backward()
    return int(counter.get_total_flops())


def targets(name: str) -> int:
    return TEXTS if name in ("sentence", "vit") else TEXTS * LENGTH


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("frozen", [[], ["inputs", "blocks.0", "blocks.1"], ["inputs"], ["blocks"]], ids=str)
def test_it_is_what_torch_counts(name: str, frozen: list[str]) -> None:
    values = MODELS[name]
    model = build(values["kind"], values)
    freeze = [f"{side}{part}" for part in frozen for side in ("", "encoder.", "decoder.")]
    for parameter_name, parameter in model.named_parameters():
        parameter.requires_grad_(not parameter_name.startswith(tuple(freeze)))
    sides, lengths = sides_of(model, values["kind"])
    found = training_cost(model, sides).of(lengths, targets(name))
    assert found == pytest.approx(counted(model, values["kind"]), rel=0.01)


def test_a_model_that_is_trained_whole_costs_three_forward_passes() -> None:
    model = build("gpt", MODELS["gpt"])
    each = training_cost(model, (model,)).of(np.array([[16]]), 16) / 16
    assert each == 3 * architecture_of(model, kind="gpt", context=16).flops


def test_six_flops_for_each_weight_and_token() -> None:
    """Where attention and output layer are small, it is the usual estimate 6 N D."""
    values = {"kind": "gpt", "N": 4, "d": 256, "h": 4, "d_ff": 1024, "vocabulary": 8, "max_length": 8, "dropout": 0.0}
    model = build("gpt", values)
    weights = sum(p.numel() for p in model.parameters())
    assert training_cost(model, (model,)).of(np.array([[8]] * 10), 80) == pytest.approx(6 * weights * 80, rel=0.02)


def test_experts_count_by_the_share_of_tokens_that_they_get() -> None:
    shape = {"kind": "llama", **SHAPE, "vocabulary": 40}
    dense, sparse = (build("llama", {**shape, **more}) for more in ({}, {"experts": 4, "experts_per_token": 1}))
    one, other = (training_cost(model, (model,)).of(np.array([[8]]), 8) for model in (dense, sparse))
    router = 2 * 3 * 8 * 2 * 16 * 4  # forward and twice backward, 8 tokens, 2 blocks
    assert other == pytest.approx(one + router)


def test_a_window_limits_what_is_seen() -> None:
    model = build("llama", {"kind": "llama", **SHAPE, "vocabulary": 40, "window": 4})
    near = training_cost(model, (model,))
    far = TrainingCost(near.sides, near.target)
    assert far.of(np.array([[10]]), 10) - near.of(np.array([[10]]), 10) == near.sides[0].pair * 10 * 6
