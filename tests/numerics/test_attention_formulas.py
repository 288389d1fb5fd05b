"""Attention against the formula, written out here in loops over single numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.nn.attention import (
    CrossAttention,
    ScaledDotProduct,
    SelfAttention,
    attend,
    parameter_free_attention,
)
from glassformer.nn.masks import padding_mask
from glassformer.nn.positions import RotaryPositions
from glassformer.nn.taps import listen

pytestmark = pytest.mark.usefixtures("double")

B, H, T, K, E = 2, 3, 5, 7, 11


def close(got: Tensor, expected: np.ndarray | Tensor) -> None:
    np.testing.assert_allclose(got.detach().numpy(), np.asarray(expected), rtol=0, atol=1e-10)


def softmax(row: list[float]) -> list[float]:
    powers = [math.exp(x - max(row)) for x in row]
    return [power / sum(powers) for power in powers]


def attention_by_hand(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """One head: q (T, E), k and v (K, E), visible (T, K): z (T, E) and the pattern (T, K), number by number."""
    Q, KEY, V = q.detach().numpy(), k.detach().numpy(), v.detach().numpy()
    pattern = np.zeros((len(Q), len(KEY)))
    for t in range(len(Q)):
        seen = [s for s in range(len(KEY)) if visible[t, s]]
        scores = [sum(Q[t, e] * KEY[s, e] for e in range(Q.shape[1])) / Q.shape[1] ** 0.5 for s in seen]
        pattern[t, seen] = softmax(scores)
    z = np.zeros((len(Q), V.shape[1]))
    for t in range(len(Q)):
        for s in range(len(KEY)):
            z[t] += pattern[t, s] * V[s]
    return z, pattern


def all_heads_by_hand(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> np.ndarray:
    """q (B, H, T, E), k and v (B, G, K, E), visible (B, T, K) -> (B, H, T, E); head h reads group h // (H/G)."""
    per_group = q.size(1) // k.size(1)
    return np.stack(
        [
            np.stack(
                [
                    attention_by_hand(q[b, h], k[b, h // per_group], v[b, h // per_group], visible[b])[0]
                    for h in range(q.size(1))
                ]
            )
            for b in range(q.size(0))
        ]
    )


def everything(rows: int = B, queries: int = T, keys: int = K) -> Tensor:
    return torch.ones(rows, queries, keys, dtype=torch.bool)


def past_only(rows: int, queries: int, keys: int) -> Tensor:
    """Query t stands at key t + keys - queries and sees what is not after it."""
    visible = everything(rows, queries, keys)
    for t in range(queries):
        for s in range(keys):
            visible[:, t, s] = s <= t + keys - queries
    return visible


def random_qkv(queries: int = T, keys: int = K, groups: int = H, heads: int = H) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(B, heads, queries, E), torch.randn(B, groups, keys, E), torch.randn(B, groups, keys, E)


def test_parameter_free_attention_is_softmax_of_the_similarities_times_the_vectors() -> None:
    vectors = torch.randn(T, E)
    mixed, weights = parameter_free_attention(vectors)
    z, pattern = attention_by_hand(vectors * E**0.5, vectors, vectors, everything()[0, :, :T])
    close(weights, pattern)
    close(mixed, z)


def test_attend_is_equation_1() -> None:
    q, k, v = torch.randn(T, E), torch.randn(K, E), torch.randn(K, 13)
    mixed, pattern = attend(q, k, v)
    z, expected = attention_by_hand(q, k, v, everything()[0])
    close(mixed, z)
    close(pattern, expected)


def test_attend_with_an_upper_triangular_mask_sees_no_future() -> None:
    q, k, v = torch.randn(T, E), torch.randn(T, E), torch.randn(T, E)
    mask = torch.full((T, T), float("-inf")).triu(1)
    mixed, pattern = attend(q, k, v, mask=mask)
    z, expected = attention_by_hand(q, k, v, past_only(1, T, T)[0])
    close(mixed, z)
    close(pattern, expected)


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("kind", ["open", "padded", "padded-additive", "causal", "causal-later", "causal-padded"])
def test_scaled_dot_product_is_the_formula(kind: str, groups: int, listening: bool) -> None:
    queries = K if kind in ("causal", "causal-padded") else T
    q, k, v = random_qkv(queries=queries, groups=groups, heads=6)
    mask = padding_mask(torch.tensor([7, 3]), K) if "padded" in kind else None
    visible = past_only(B, queries, K) if "causal" in kind else everything(B, queries)
    if mask is not None:
        visible = visible & mask[:, 0]
        mask = torch.where(mask, 0.0, float("-inf")) if kind == "padded-additive" else mask
    core = ScaledDotProduct()
    with listen(core, lambda _: listening):
        z = core(q, k, v, mask=mask, causal="causal" in kind)
    close(z, all_heads_by_hand(q, k, v, visible))


@pytest.mark.parametrize("listening", [False, True])
def test_a_given_scale_replaces_one_over_root_width(listening: bool) -> None:
    q, k, v = random_qkv()
    core = ScaledDotProduct(scale=0.7)
    with listen(core, lambda _: listening):
        z = core(q, k, v)
    close(z, all_heads_by_hand(q * 0.7 * E**0.5, k, v, everything()))


def filled(module: torch.nn.Module) -> torch.nn.Module:
    """Random numbers in every parameter, so that a forgotten bias cannot hide behind zeros."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module


def project(x: Tensor, weight: Tensor, bias: Tensor | None, head_width: int) -> list[Tensor]:
    """x (T, D) times one projection, cut into heads: a list of (T, E)."""
    y = x @ weight.T if bias is None else x @ weight.T + bias
    return [y[:, i : i + head_width] for i in range(0, y.size(1), head_width)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kv_heads", [1, 3])
def test_multi_head_self_attention_concatenates_heads_and_multiplies_by_w_o(
    kv_heads: int, causal: bool, bias: bool
) -> None:
    heads, width, head_width = 3, 13, 5
    attention = filled(SelfAttention(width, heads=heads, kv_heads=kv_heads, head_width=head_width, bias=bias))
    x = torch.randn(B, T, width)
    weights = attention.qkv.weight.split([15, 5 * kv_heads, 5 * kv_heads])
    biases = attention.qkv.bias.split([15, 5 * kv_heads, 5 * kv_heads]) if bias else 3 * [None]
    visible = past_only(1, T, T)[0] if causal else everything(1, T, T)[0]
    expected = []
    for sentence in x:
        q, k, v = (project(sentence, w, b, head_width) for w, b in zip(weights, biases, strict=True))
        z = [attention_by_hand(q[i], k[i * kv_heads // heads], v[i * kv_heads // heads], visible)[0] for i in range(3)]
        out = np.concatenate(z, axis=1) @ attention.out.linear.weight.detach().numpy().T
        expected.append(out + attention.out.linear.bias.detach().numpy() if bias else out)
    close(attention(x, causal=causal), np.stack(expected))


@pytest.mark.parametrize("given", [None, 3])
@pytest.mark.parametrize("hypotheses", [1, 3])
def test_cross_attention_reads_each_sentence_once_for_all_its_hypotheses(hypotheses: int, given: int | None) -> None:
    width, heads, head_width = 10, 2, given or 5
    attention = filled(CrossAttention(width, heads=heads, head_width=given))
    x, memory = torch.randn(B * hypotheses, T, width), torch.randn(B, K, width)
    lengths = torch.tensor([7, 3])
    key_value = attention.key_value
    weights, biases = (part.split(head_width * heads) for part in (key_value.weight, key_value.bias))
    expected = []
    for row in range(B * hypotheses):
        sentence = row // hypotheses
        q = project(x[row], attention.query.weight, attention.query.bias, head_width)
        k, v = (project(memory[sentence], w, b, head_width) for w, b in zip(weights, biases, strict=True))
        visible = (torch.arange(K) < lengths[sentence]).expand(T, K)
        z = [attention_by_hand(q[i], k[i], v[i], visible)[0] for i in range(heads)]
        out = np.concatenate(z, axis=1) @ attention.out.linear.weight.detach().numpy().T
        expected.append(out + attention.out.linear.bias.detach().numpy())
    got = attention(x, attention.read(memory), mask=padding_mask(lengths, K))
    close(got, np.stack(expected))


def test_rotary_self_attention_turns_queries_and_keys_but_not_values() -> None:
    attention = filled(SelfAttention(10, heads=2))
    x, rotation = torch.randn(B, T, 10), RotaryPositions(5)(T)
    with listen(attention) as plain:
        attention(x)
    with listen(attention) as turned:
        attention(x, rotation=rotation)
    assert torch.equal(plain["v"][0], turned["v"][0])
    for name in ("q", "k"):
        expected = plain[name][0].numpy().copy()
        for t in range(T):
            for pair in range(2):
                angle = t / 10000 ** (2 * pair / 5)
                turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
                part = slice(2 * pair, 2 * pair + 2)
                expected[:, :, t, part] = expected[:, :, t, part] @ turn.T
        close(turned[name][0], expected)
