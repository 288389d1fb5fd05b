"""Blocks that are computed again in the backward pass: the same gradients to the bit, and fewer values kept."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from glassformer.models.registry import build
from glassformer.training.settings import TrainSettings
from glassformer.training.tuning import tune

SHAPE = {"N": 4, "d": 16, "h": 2, "d_ff": 32, "dropout": 0.2, "vocabulary": 30}
MODELS: dict[str, dict[str, Any]] = {
    "gpt": {"kind": "gpt", **SHAPE, "max_length": 16},
    "bert": {"kind": "bert", **SHAPE, "head": "words", "max_length": 16},
    "experts": {"kind": "llama", **SHAPE, "experts": 3, "experts_per_token": 2},
    "t5": {"kind": "t5", **SHAPE, "d_kv": 8},
}


def batch() -> Any:
    ids = torch.randint(3, 30, (3, 9))
    lengths = torch.tensor([9, 9, 5])
    return SimpleNamespace(
        ids=ids, lengths=lengths, segments=None, source=ids, source_lengths=lengths, target_in=ids[:, :7]
    )


def learned(model: nn.Module, inputs: Any) -> tuple[dict[str, Tensor], int]:
    """The gradients, and how many bytes were kept for the backward pass."""
    kept = 0

    def pack(value: Tensor) -> Tensor:
        nonlocal kept
        kept += value.numel() * value.element_size()
        return value

    torch.manual_seed(5)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        loss = model.train()(inputs).square().mean()
        if isinstance(getattr(model, "config", None), object) and hasattr(model, "hidden_and_auxiliary"):
            _, auxiliary = model.hidden_and_auxiliary(inputs)
            loss = loss if auxiliary is None else loss + auxiliary
    loss.backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}, kept


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_the_same_to_the_bit_with_dropout(name: str) -> None:
    plain, inputs = build(MODELS[name]["kind"], MODELS[name]), batch()
    again = copy.deepcopy(plain)
    tune(again, TrainSettings(recompute=True))
    expected, kept = learned(plain, inputs)
    found, less = learned(again, inputs)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[gradient], expected[gradient]) for gradient in expected)
    assert less < kept / 2


def test_a_copy_computes_with_its_own_weights() -> None:
    model, inputs = build("gpt", MODELS["gpt"]), batch()
    tune(model, TrainSettings(recompute=True))
    other = copy.deepcopy(model)
    nn.init.zeros_(model.blocks[0].feed_forward.down.weight)  # type: ignore[index, union-attr]
    gradients, _ = learned(other, inputs)
    assert gradients.keys() == {name for name, _ in other.named_parameters()}
    assert all(parameter.grad is None for parameter in model.parameters())


def test_without_training_nothing_is_computed_again() -> None:
    model, inputs = build("gpt", MODELS["gpt"]).eval(), batch()
    before = model(inputs)
    tune(model, TrainSettings(recompute=True))
    assert torch.equal(model(inputs), before)
