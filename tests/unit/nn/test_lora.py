"""Low-rank adapters: they start as nothing, merge to the same outputs, and leave the frozen matrices as they were."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from glassformer.models.registry import build
from glassformer.nn.attention import Projections
from glassformer.nn.lora import adapted, add_adapters, is_adapter, merged, merged_weights, remove_adapters
from glassformer.store.weights import load_weights, weights_of
from glassformer.training.settings import TrainSettings
from glassformer.training.tuning import tune

GPT = {"kind": "gpt", "N": 2, "d": 16, "h": 2, "d_ff": 24, "vocabulary": 30, "max_length": 12, "dropout": 0.0}


@pytest.fixture(autouse=True)
def _double(double: None) -> None:  # noqa: ARG001
    return


def batch() -> Any:
    return SimpleNamespace(ids=torch.randint(3, 30, (2, 7)), lengths=torch.tensor([7, 7]))


def learnt(model: nn.Module) -> None:
    """Adapters with values, as after training."""
    for name, parameter in model.named_parameters():
        if is_adapter(name):
            nn.init.normal_(parameter, std=0.3)


@pytest.mark.parametrize("rows", [[6, 4, 4], None])
def test_an_adapted_layer_is_w_plus_b_a(rows: list[int] | None) -> None:
    linear = nn.Linear(5, 14) if rows is None else Projections(5, rows, bias=True)
    add_adapters(linear, rank=2, scale=1.5)
    learnt_parts = [(torch.randn(2, 5), torch.randn(out, 2)) for out in rows or [14]]
    with torch.no_grad():
        for part, (a, b) in zip(linear.adapters, learnt_parts, strict=True):  # type: ignore[arg-type]
            part.a.copy_(a)
            part.b.copy_(b)
    x = torch.randn(3, 5)
    whole = linear.weight + 1.5 * torch.cat([b @ a for a, b in learnt_parts])
    torch.testing.assert_close(linear(x), x @ whole.mT + linear.bias, rtol=0, atol=1e-12)


def test_at_first_it_is_the_model_itself_to_the_bit() -> None:
    model, inputs = build("gpt", GPT).eval(), batch()
    before = model(inputs)
    tune(model, TrainSettings(lora=4, start_from="x"))
    assert len(adapted(model)) == 2 * 4  # qkv, out, up, down
    assert torch.equal(model(inputs), before)


def test_merged_outputs_are_the_same_and_what_was_frozen_comes_back_to_the_bit() -> None:
    model, inputs = build("gpt", GPT).eval(), batch()
    frozen = {name: weight.clone() for name, weight in weights_of(model).items()}
    tune(model, TrainSettings(lora=3, start_from="x"))
    learnt(model)
    beside = model(inputs)
    plain = build("gpt", GPT).eval()
    load_weights(plain, merged_weights(model, weights_of(model)), origin="merged")
    with merged(model):
        torch.testing.assert_close(model(inputs), beside, rtol=0, atol=1e-12)
        assert torch.equal(model(inputs), plain(inputs))
    torch.testing.assert_close(plain(inputs), beside, rtol=0, atol=1e-12)
    assert not torch.allclose(plain(inputs), build_with(frozen)(inputs))
    assert torch.equal(model(inputs), beside)
    assert all(torch.equal(weights_of(model)[name], weight) for name, weight in frozen.items())


def build_with(weights: dict[str, torch.Tensor]) -> nn.Module:
    model = build("gpt", GPT).eval()
    load_weights(model, weights, origin="test")
    return model


def test_removed_adapters_leave_the_frozen_model() -> None:
    model, inputs = build("gpt", GPT).eval(), batch()
    before, names = model(inputs), list(weights_of(model))
    tune(model, TrainSettings(lora=3, start_from="x"))
    learnt(model)
    remove_adapters(model)
    assert torch.equal(model(inputs), before)
    assert list(weights_of(model)) == names


def test_gradients_are_those_of_the_product_rule() -> None:
    linear = nn.Linear(4, 6)
    add_adapters(linear, rank=2, scale=0.5)
    (part,) = linear.adapters  # type: ignore[misc]
    nn.init.normal_(part.b)
    x, wanted = torch.randn(5, 4), torch.randn(5, 6)
    (linear(x) * wanted).sum().backward()
    whole = wanted.mT @ x  # the gradient of W + 0.5 B A
    torch.testing.assert_close(part.b.grad, 0.5 * whole @ part.a.detach().mT)
    torch.testing.assert_close(part.a.grad, 0.5 * part.b.detach().mT @ whole)
    assert linear.weight.grad is None
    assert linear.bias.grad is None


def test_dropout_is_only_on_the_way_through_the_adapters() -> None:
    linear = nn.Linear(4, 6)
    add_adapters(linear, rank=2, scale=1.0, dropout=0.5)
    x = torch.randn(5, 4)
    assert torch.equal(linear.train()(x), nn.functional.linear(x, linear.weight, linear.bias))  # B is zero


@pytest.mark.parametrize(("on", "layers"), [("all", 4), ("attention", 2), ("feed-forward", 2)])
def test_which_matrices_have_adapters_is_a_setting(on: str, layers: int) -> None:
    model = build("gpt", GPT)
    tune(model, TrainSettings(lora=2, lora_on=on, start_from="x"))  # type: ignore[arg-type]
    assert len(adapted(model)) == 2 * layers
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    assert all(is_adapter(name) for name in trained)
    assert len(trained) == 2 * 2 * (layers + 2 * (on != "feed-forward"))  # A and B; three of them for qkv
