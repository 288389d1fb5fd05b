"""Gradients against finite differences, in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.nn.attention import (
    CrossAttention,
    ScaledDotProduct,
    SelfAttention,
    attend,
    parameter_free_attention,
)
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.masks import padding_mask
from glassformer.nn.norms import LayerNorm, RMSNorm
from glassformer.nn.positions import RotaryPositions, rotate
from glassformer.nn.taps import listen

pytestmark = pytest.mark.usefixtures("double")


def leaf(*shape: int) -> Tensor:
    return torch.randn(shape, requires_grad=True)


def check(module: nn.Module, call: Callable[..., Tensor], *inputs: Tensor, fast: bool = False) -> None:
    """Every gradient, with respect to the inputs and to all parameters of the module, is right."""
    parameters = tuple(module.parameters())
    with torch.no_grad():
        for parameter in parameters:
            parameter.normal_(std=0.5)
    assert gradcheck(lambda *_: call(module, *inputs), (*inputs, *parameters), fast_mode=fast)


def test_parameter_free_attention() -> None:
    assert gradcheck(parameter_free_attention, leaf(3, 5))


def test_attend() -> None:
    assert gradcheck(attend, (leaf(3, 5), leaf(7, 5), leaf(7, 2)))


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_scaled_dot_product(groups: int, causal: bool, listening: bool) -> None:
    core = ScaledDotProduct()
    mask = padding_mask(torch.tensor([3, 2]), 3)
    with listen(core, lambda _: listening):
        assert gradcheck(
            lambda q, k, v: core(q, k, v, mask=mask, causal=causal),
            (leaf(2, 2, 3, 5), leaf(2, groups, 3, 5), leaf(2, groups, 3, 5)),
        )


@pytest.mark.parametrize("listening", [False, True])
def test_self_attention_with_rotary_positions_and_grouped_heads(listening: bool) -> None:
    attention = SelfAttention(5, heads=2, kv_heads=1, head_width=3)
    rotation = RotaryPositions(3)(3)
    with listen(attention, lambda _: listening):
        check(attention, lambda module, x: module(x, causal=True, rotation=rotation), leaf(2, 3, 5))


def test_cross_attention_with_two_hypotheses_per_sentence() -> None:
    mask = padding_mask(torch.tensor([5, 3]), 5)
    check(
        CrossAttention(6, heads=2),
        lambda module, x, memory: module(x, module.read(memory), mask=mask),
        leaf(4, 2, 6),
        leaf(2, 5, 6),
    )


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("norm", [LayerNorm(5), LayerNorm(5, bias=False), RMSNorm(5)])
def test_norms(norm: nn.Module, listening: bool) -> None:
    with listen(norm, lambda _: listening):
        check(norm.double(), lambda module, x: module(x), leaf(2, 3, 5))


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_feed_forward(activation: str, gated: bool) -> None:
    check(FeedForward(3, 7, activation=activation, gated=gated), lambda module, x: module(x), leaf(2, 2, 3))


def test_rotation_by_an_odd_width() -> None:
    rotation = RotaryPositions(5)(3, start=2)
    assert gradcheck(lambda x: rotate(x, rotation), leaf(2, 2, 3, 5))


def test_embedding_and_head() -> None:
    ids = torch.tensor([[1, 4, 1]])
    check(Embedding(7, 3), lambda module: module(ids))
    check(VocabularyHead(3, 7, bias=True), lambda module, x: module(x), leaf(2, 3))


@dataclass
class Batch:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_the_whole_model(positions: str, norm: str) -> None:
    config = TransformerConfig(
        N=1, d=6, h=2, d_ff=5, dropout=0, positions=positions, norm=norm, max_length=5, activation="gelu"
    )
    model = Transformer(config, source_vocabulary=7, target_vocabulary=7)
    batch = Batch(torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2]), torch.tensor([[1, 6], [1, 2]]))
    check(model, lambda module: module(batch), fast=True)
