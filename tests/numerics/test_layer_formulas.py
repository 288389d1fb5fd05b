"""Norms, feed-forward, embedding and head against formulas written out here."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.norms import LayerNorm, RMSNorm
from glassformer.nn.taps import listen

pytestmark = pytest.mark.usefixtures("double")

B, T, D, INNER = 3, 5, 7, 11

ACTIVATION = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


def close(got: Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=0, atol=1e-10)


def filled(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


def numbers(parameter: Tensor) -> np.ndarray:
    return parameter.detach().numpy()


def per_token(x: Tensor, f) -> np.ndarray:
    return np.stack([np.stack([f(token) for token in sentence]) for sentence in x.numpy()])


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_layer_norm_is_its_formula(eps: float, bias: bool, listening: bool) -> None:
    norm = filled(LayerNorm(D, eps=eps, bias=bias))
    x = 3 * torch.randn(B, T, D) + 2

    def by_hand(token: np.ndarray) -> np.ndarray:
        mean = sum(token) / D
        variance = sum((value - mean) ** 2 for value in token) / D
        normalized = [(value - mean) / math.sqrt(variance + eps) for value in token]
        return np.array(normalized) * numbers(norm.gain) + (numbers(norm.bias) if bias else 0)

    with listen(norm, lambda _: listening):
        close(norm(x), per_token(x, by_hand))


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("eps", [1e-6, 0.3])
def test_rms_norm_is_its_formula(eps: float, listening: bool) -> None:
    norm = filled(RMSNorm(D, eps=eps))
    x = 3 * torch.randn(B, T, D) + 2

    def by_hand(token: np.ndarray) -> np.ndarray:
        return token / math.sqrt(sum(value**2 for value in token) / D + eps) * numbers(norm.gain)

    with listen(norm, lambda _: listening):
        close(norm(x), per_token(x, by_hand))


@pytest.mark.parametrize("norm", [LayerNorm, RMSNorm])
def test_the_taps_of_a_norm_hold_the_divisor_and_the_normalized_value(norm: type[LayerNorm | RMSNorm]) -> None:
    layer = filled(norm(D))
    x = torch.randn(B, T, D)
    with listen(layer) as heard:
        layer(x)
    centred = x - x.mean(-1, keepdim=True) if norm is LayerNorm else x
    assert heard["scale"][0].shape == (B, T, 1)
    close(heard["scale"][0] * heard["normalized"][0], numbers(centred))
    close(
        heard["normalized"][0].square().mean(-1),
        np.ones((B, T)) * numbers(1 - layer.eps / heard["scale"][0][..., 0] ** 2),
    )


@pytest.mark.parametrize("norm", [LayerNorm, RMSNorm])
def test_a_norm_looks_at_one_token_only(norm: type[LayerNorm | RMSNorm]) -> None:
    layer, x = norm(D), torch.randn(B, T, D)
    changed = x.clone()
    changed[1:] = 0
    assert torch.equal(layer(x)[0], layer(changed)[0])


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("activation", list(ACTIVATION))
def test_feed_forward_is_equation_2(activation: str, gated: bool, bias: bool) -> None:
    layer = filled(FeedForward(D, INNER, activation=activation, gated=gated, bias=bias))
    x = torch.randn(B, T, D)

    def linear(part: nn.Linear, token: np.ndarray) -> np.ndarray:
        return numbers(part.weight) @ token + (numbers(part.bias) if bias else 0)

    def by_hand(token: np.ndarray) -> np.ndarray:
        activated = np.array([ACTIVATION[activation](z) for z in linear(layer.gate if gated else layer.up, token)])
        return linear(layer.down, activated * linear(layer.up, token) if gated else activated)

    close(layer(x), per_token(x, by_hand))


@pytest.mark.parametrize("gated", [False, True])
def test_the_taps_of_the_feed_forward_stand_before_and_after_the_activation(gated: bool) -> None:
    layer = filled(FeedForward(D, INNER, gated=gated))
    x = torch.randn(B, T, D)
    with listen(layer) as heard:
        out = layer(x)
    first = layer.gate if gated else layer.up
    close(heard["pre"][0], numbers(x @ first.weight.T + first.bias))
    close(out, numbers(heard["post"][0] @ layer.down.weight.T + layer.down.bias))
    inner = heard["pre"][0].clamp(min=0)
    close(heard["post"][0], numbers(inner * layer.up(x) if gated else inner))


@pytest.mark.parametrize("scaled", [True, False])
def test_an_embedding_is_a_row_of_its_matrix_times_root_width(scaled: bool) -> None:
    embedding = Embedding(13, D, scaled=scaled)
    ids = torch.tensor([[3, 12, 3], [0, 5, 1]])
    rows = np.stack([[numbers(embedding.weight)[i] for i in row] for row in ids])
    close(embedding(ids), rows * (math.sqrt(7) if scaled else 1))


def test_scaled_embeddings_start_with_variance_one() -> None:
    assert Embedding(499, 61)(torch.arange(499)).var().item() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("bias", [True, False])
def test_logits_are_products_with_every_row_of_the_matrix(bias: bool) -> None:
    head = filled(VocabularyHead(D, 13, bias=bias))
    hidden = torch.randn(B, T, D)
    close(head(hidden), per_token(hidden, lambda h: numbers(head.weight) @ h + (numbers(head.bias) if bias else 0)))


def test_a_tied_head_is_the_same_parameter_and_leaves_it_untouched() -> None:
    embedding = Embedding(13, D)
    before = embedding.weight.detach().clone()
    head = VocabularyHead(D, 13, tied_to=embedding.weight)
    assert head.weight is embedding.weight
    assert torch.equal(before, embedding.weight)
