"""Fused and plain attention are one function, and the taps hold what the formula says."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from glassformer.nn.attention import CrossAttention, ScaledDotProduct, SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.masks import padding_mask
from glassformer.nn.positions import RotaryPositions
from glassformer.nn.taps import listen

pytestmark = pytest.mark.usefixtures("double")

B, H, T, E = 2, 6, 7, 5
LENGTHS = torch.tensor([7, 3])

CASES = {
    "open": {},
    "padded": {"mask": padding_mask(LENGTHS, T)},
    "causal": {"causal": True},
    "causal and padded": {"causal": True, "mask": padding_mask(LENGTHS, T)},
}


def qkv(groups: int, queries: int = T, keys: int = T) -> list[Tensor]:
    shapes = [(B, H, queries, E), (B, groups, keys, E), (B, groups, keys, E)]
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


def run_with_gradients(module: nn.Module, compute: Callable[[], Tensor], inputs: list[Tensor], listening: bool):
    with listen(module, lambda _: listening) as heard:
        out = compute()
    weights = torch.linspace(-1, 1, out.numel()).view_as(out)
    parameters = list(module.parameters())
    return out, torch.autograd.grad((out * weights).sum(), [*inputs, *parameters]), heard


def same(fused: tuple, plain: tuple) -> None:
    assert not fused[2]
    assert plain[2]
    torch.testing.assert_close(fused[0], plain[0], rtol=0, atol=1e-12)
    for one, other in zip(fused[1], plain[1], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("case", list(CASES))
def test_listening_changes_neither_the_value_nor_the_gradient(case: str, groups: int) -> None:
    core, inputs = ScaledDotProduct(), qkv(groups)
    fused, plain = (run_with_gradients(core, lambda: core(*inputs, **CASES[case]), inputs, on) for on in (False, True))
    same(fused, plain)


@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("groups", [2, 6])
def test_later_queries_of_a_longer_past_are_the_same_listening_or_not(groups: int, queries: int) -> None:
    core, inputs = ScaledDotProduct(), qkv(groups, queries=queries, keys=11)
    fused, plain = (run_with_gradients(core, lambda: core(*inputs, causal=True), inputs, on) for on in (False, True))
    same(fused, plain)
    assert (plain[2]["pattern"][0][:, :, -1] > 0).all(), "the last query stands at the last key and sees all"


@pytest.mark.parametrize("kv_heads", [1, 3])
@pytest.mark.parametrize("rotary", [False, True])
def test_self_attention_with_a_cache_is_the_same_listening_or_not(kv_heads: int, rotary: bool) -> None:
    attention = SelfAttention(15, heads=3, kv_heads=kv_heads)
    x = torch.randn(B, T, 15)
    results = []
    for listening in (False, True):
        cache, parts = KVCache(), []
        with listen(attention, lambda _, on=listening: on), torch.no_grad():
            for start, end in ((0, 4), (4, 5), (5, 7)):
                rotation = RotaryPositions(5)(end - start, start=start) if rotary else None
                parts.append(attention(x[:, start:end], causal=True, rotation=rotation, cache=cache))
        results.append(torch.cat(parts, dim=1))
    whole = attention(x, causal=True, rotation=RotaryPositions(5)(T) if rotary else None)
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=1e-12)
    torch.testing.assert_close(results[0], whole, rtol=0, atol=1e-12)


def test_self_and_cross_attention_have_the_same_gradients_listening_or_not() -> None:
    x, memory = torch.randn(B, 3, 10, requires_grad=True), torch.randn(B, T, 10, requires_grad=True)
    attention = SelfAttention(10, heads=2)
    same(*(run_with_gradients(attention, lambda: attention(x, causal=True), [x], on) for on in (False, True)))
    cross, mask = CrossAttention(10, heads=2), padding_mask(LENGTHS, T)
    same(
        *(
            run_with_gradients(cross, lambda: cross(x, cross.read(memory), mask=mask), [x, memory], on)
            for on in (False, True)
        )
    )


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("additive", [False, True])
def test_a_query_that_may_see_nothing_mixes_nothing(listening: bool, additive: bool) -> None:
    core, (q, k, v) = ScaledDotProduct(), qkv(H)
    mask = padding_mask(torch.tensor([7, 0]), T)
    mask = torch.where(mask, 0.0, float("-inf")) if additive else mask
    with listen(core, lambda _: listening):
        z = core(q, k, v, mask=mask)
    assert torch.equal(z[1], torch.zeros(H, T, E))
    torch.testing.assert_close(z[0], core(q[:1], k[:1], v[:1])[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", list(CASES))
def test_the_taps_inside_attention_hold_scores_scaled_masked_and_pattern(case: str) -> None:
    core, (q, k, v) = ScaledDotProduct(), qkv(H)
    with listen(core) as heard:
        z = core(q, k, v, **CASES[case])
    scores, scaled, masked, pattern = (heard[name][0] for name in ("scores", "scaled", "masked", "pattern"))
    torch.testing.assert_close(scores, torch.einsum("bhte,bhke->bhtk", q, k), rtol=0, atol=1e-12)
    torch.testing.assert_close(scaled, scores / math.sqrt(E), rtol=0, atol=1e-12)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(B, H, T), rtol=0, atol=1e-12)
    torch.testing.assert_close(z, torch.einsum("bhtk,bhke->bhte", pattern, v), rtol=0, atol=1e-12)
    hidden = masked.isinf()
    assert torch.equal(masked[~hidden], scaled[~hidden])
    assert torch.equal(pattern == 0, hidden)
    expected = torch.zeros(B, 1, T, T, dtype=torch.bool)
    if "causal" in case:
        expected |= torch.ones(T, T, dtype=torch.bool).triu(1)
    if "padded" in case:
        expected[1, :, :, 3:] = True
    assert torch.equal(hidden, expected.expand(B, H, T, T))


@pytest.mark.parametrize("name", ["scores", "scaled", "masked", "pattern"])
def test_listening_to_any_one_of_them_is_enough(name: str) -> None:
    core, inputs = ScaledDotProduct(), qkv(2)
    with listen(core, lambda tap: tap == name) as heard:
        core(*inputs)
    assert list(heard) == [name]
    assert heard[name][0].shape == (B, H, T, T)


@pytest.mark.parametrize("bias", [True, False])
def test_head_results_summed_over_heads_plus_bias_are_the_output(bias: bool) -> None:
    attention = SelfAttention(13, heads=3, head_width=5, bias=bias)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.normal_()
    with listen(attention) as heard:
        out = attention(torch.randn(B, T, 13))
    assert heard["out.head_result"][0].shape == (B, 3, T, 13)
    assert heard["out.z"][0].shape == (B, 3, T, 5)
    total = heard["out.head_result"][0].sum(1)
    torch.testing.assert_close(total + attention.out.linear.bias if bias else total, out, rtol=0, atol=1e-12)


def test_the_result_of_one_head_is_the_output_with_the_others_silenced() -> None:
    attention = SelfAttention(13, heads=3, head_width=5, bias=False)
    x = torch.randn(B, T, 13)
    with listen(attention) as heard:
        attention(x)
    keep_second = torch.tensor([0.0, 1.0, 0.0]).view(3, 1, 1)
    handle = attention.out.z.register_forward_hook(lambda _, __, z: z * keep_second)
    silenced = attention(x)
    handle.remove()
    torch.testing.assert_close(silenced, heard["out.head_result"][0][:, 1], rtol=0, atol=1e-12)


def test_q_k_and_v_are_heard_in_their_shapes() -> None:
    attention = SelfAttention(13, heads=6, kv_heads=2, head_width=3)
    with listen(attention) as heard:
        attention(torch.randn(B, T, 13))
    assert [tuple(heard[name][0].shape) for name in "qkv"] == [(B, 6, T, 3), (B, 2, T, 3), (B, 2, T, 3)]


@pytest.mark.parametrize("kv_heads", [1, 3])
def test_each_projection_is_initialised_as_if_it_were_alone(kv_heads: int) -> None:
    attention = SelfAttention(101, heads=3, kv_heads=kv_heads, head_width=31)
    for part in attention.qkv.weight.split(attention.rows):
        bound = math.sqrt(6 / (part.size(0) + part.size(1)))
        assert 0.98 * bound < part.abs().max().item() <= bound
    assert not attention.qkv.bias.any()
    assert not attention.out.linear.bias.any()


def test_attention_without_positions_is_permutation_equivariant() -> None:
    attention, x, order = SelfAttention(10, heads=2), torch.randn(B, T, 10), torch.randperm(T)
    torch.testing.assert_close(attention(x[:, order]), attention(x)[:, order], rtol=0, atol=1e-12)


def test_the_variance_of_a_dot_product_grows_with_the_width_and_scaling_restores_it() -> None:
    for width in (4, 64, 256):
        core = ScaledDotProduct()
        with listen(core) as heard:
            core(torch.randn(1, 1, 211, width), torch.randn(1, 1, 223, width), torch.randn(1, 1, 223, width))
        assert heard["scores"][0].var().item() == pytest.approx(width, rel=0.1)
        assert heard["scaled"][0].var().item() == pytest.approx(1, rel=0.1)


def test_width_512_in_8_heads_leaves_64_to_each() -> None:
    with torch.device("meta"):
        assert SelfAttention(512, heads=8).head_width == 64
        assert CrossAttention(512, heads=8).head_width == 64
