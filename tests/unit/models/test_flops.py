"""The FLOPs of training against torch's own counter, which sees every product that is really made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from glassformer.explain.architecture import architecture_of
from glassformer.models.flops import TrainingCost, training_cost
from glassformer.models.registry import VOCABULARIES, build

SHAPE = {"d": 16, "h": 2, "d_ff": 24, "dropout": 0.0, "N": 2}
MODELS: dict[str, dict[str, Any]] = {
    "gpt": {"kind": "gpt", **SHAPE, "vocabulary": 40, "max_length": 16},
    "untied": {"kind": "llama", **SHAPE, "vocabulary": 40, "tied": False},
    "last": {"kind": "gpt", **SHAPE, "vocabulary": 40, "max_length": 16, "head": "sentence", "classes": 3},
    "last untied": {"kind": "llama", **SHAPE, "vocabulary": 40, "tied": False, "head": "sentence", "classes": 3},
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
    with FlopCounterMode(display=False) as counter:
        plain_outputs(model, kind, batch_for(kind)).square().sum().backward()
    return int(counter.get_total_flops())


def plain_outputs(model: Any, kind: str, batch: Any) -> Tensor:
    """With the last block for all tokens; in training, some models compute only what the head reads."""
    if kind == "vit":
        return model.head(model.hidden(batch)[:, 0])
    if kind == "bert" and model.config.head == "sentence":
        return model.head(model.pool(model.hidden(batch)))
    return model(batch)


def targets(name: str) -> int:
    return TEXTS if name in ("sentence", "vit", "last", "last untied") else TEXTS * LENGTH


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


@pytest.mark.parametrize("name", ["last", "last untied"])
def test_next_tokens_cost_only_with_the_auxiliary_loss(name: str) -> None:
    """A classifier of texts then computes the logits of every token but the last."""
    model: Any = build(MODELS[name]["kind"], MODELS[name])
    lengths = np.array([[LENGTH]] * TEXTS)
    batch = batch_for(MODELS[name]["kind"])
    with FlopCounterMode(display=False) as counter:
        hidden = model.hidden(batch)
        classes, words = model.classifier(hidden, batch.lengths), model.head(hidden[:, :-1])
        (classes.square().sum() + words.square().sum()).backward()
    found = training_cost(model, (model,), auxiliary=True).of(lengths, TEXTS)
    assert found == pytest.approx(counter.get_total_flops(), rel=0.01)
    without = training_cost(model, (model,)).of(lengths, TEXTS)
    assert found - without == 6 * model.head.weight.numel() * TEXTS * (LENGTH - 1)


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


@pytest.mark.parametrize("kind", ["lstm_lm", "bilstm", "lstm"])
def test_recurrent_layers_are_products_with_their_matrices(kind: str) -> None:
    """torch's counter does not see inside the fused kernels."""
    sizes = dict.fromkeys(VOCABULARIES, 40) if kind == "lstm" else {"vocabulary": 40}
    model: Any = build(kind, {"kind": kind, "N": 2, "d": 16, "dropout": 0.0, **sizes})
    sides = (model.encoder, model.decoder) if kind == "lstm" else (model,)
    inner = sum(part.weight.numel() for part in model.modules() if isinstance(part, nn.Linear)) / len(sides)
    head = 0 if kind == "bilstm" else 40 * 16
    tokens = 5 + 7 if kind == "lstm" else 7
    lengths = np.array([[5, 7] if kind == "lstm" else [7]] * TEXTS)
    assert training_cost(model, sides).of(lengths, TEXTS * 7) == 6 * TEXTS * (tokens * inner + 7 * head)


def test_additive_attention_costs_its_scores_and_its_mean() -> None:
    sizes = dict.fromkeys(VOCABULARIES, 40)
    model: Any = build("rnn_attention", {"d": 8, "n": 6, "l": 8, "dropout": 0.0, **sizes})
    cost = training_cost(model, (model.encoder, model.decoder))
    assert cost.sides[1].memory_pair == 3 * 2 * (6 + 12)  # v, and the values of both directions
    assert cost.sides[1].memory_token == 3 * 2 * 12 * 6
    assert architecture_of(model, kind="rnn_attention", context=9).flops > 2 * 9 * (6 + 12)


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
