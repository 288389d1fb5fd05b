"""The fast leaves against the formulas they stand in for: values in float64 at 1e-10, gradients by differences."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.nn import vocabulary_loss
from glassformer.nn.activations import ACTIVATIONS
from glassformer.nn.attention import ScaledDotProduct, attend
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.masks import additive, causal_mask, padding_mask
from glassformer.nn.positions import RotaryPositions, rotate, suits_complex
from glassformer.nn.short_attention import LONGEST, short_attention, suits
from glassformer.nn.vocabulary_loss import linear_cross_entropy


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def masks(batch: int, queries: int, keys: int) -> dict[str, Tensor | None]:
    lengths = torch.tensor([1 + i % keys for i in range(batch)])
    padding = additive(padding_mask(lengths, keys), torch.float64)
    return {"none": None, "padding": padding, "causal": causal_mask(queries, keys, dtype=torch.float64)}


@pytest.mark.parametrize("name", ["none", "padding", "causal"])
def test_short_attention_is_the_formula(name: str) -> None:
    q, k, v = random(3, 2, 5, 7), random(3, 2, 11, 7, seed=2), random(3, 2, 11, 7, seed=3)
    mask, grad = masks(3, 5, 11)[name], random(3, 2, 5, 7, seed=4)
    fast = short_attention(q, k, v, mask, 1 / math.sqrt(7))
    fast_grads = torch.autograd.grad(fast, (q, k, v), grad)
    plain, _ = attend(q, k, v, mask=mask)
    plain_grads = torch.autograd.grad(plain, (q, k, v), grad)
    torch.testing.assert_close(fast, plain, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(fast_grads, plain_grads, rtol=1e-10, atol=1e-12)


def test_gradients_of_short_attention_by_differences() -> None:
    q, k, v = random(2, 1, 3, 5), random(2, 1, 3, 5, seed=2), random(2, 1, 3, 5, seed=3)
    mask = causal_mask(3, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda q, k, v: short_attention(q, k, v, mask, 0.3), (q, k, v))


MASK_SHAPES = [(3, 2, 5, 11), (1, 2, 5, 11), (2, 5, 11), (3, 1, 1, 11), (5, 11)]


@pytest.mark.parametrize("shape", MASK_SHAPES)
def test_a_learned_mask_gets_its_gradient(shape: tuple[int, ...]) -> None:
    """Relative positions are one: the quick products must not keep the gradient from it."""
    q, k, v = random(3, 2, 5, 7), random(3, 2, 11, 7, seed=2), random(3, 2, 11, 7, seed=3)
    mask, grad = random(*shape, seed=5), random(3, 2, 5, 7, seed=4)
    assert suits(q, k, mask)
    fast = torch.autograd.grad(short_attention(q, k, v, mask, 0.3), (q, k, v, mask), grad)
    plain = torch.autograd.grad(ScaledDotProduct(scale=0.3).plain(q, k, v, mask), (q, k, v, mask), grad)
    torch.testing.assert_close(fast, plain, rtol=1e-10, atol=1e-12)


def test_a_learned_mask_that_also_hides() -> None:
    q, k, v = random(2, 3, 5, 7), random(2, 3, 5, 7, seed=2), random(2, 3, 5, 7, seed=3)
    bias, hidden = random(3, 5, 5, seed=5), causal_mask(5, dtype=torch.float64)
    core = ScaledDotProduct(scale=1.0)
    (fast,) = torch.autograd.grad(core(q, k, v, mask=bias + hidden).sum(), bias)
    (plain,) = torch.autograd.grad(core.plain(q, k, v, bias + hidden).sum(), bias)
    torch.testing.assert_close(fast, plain, rtol=1e-10, atol=1e-12)
    assert fast.tril().abs().sum() > 0 == fast.triu(1).abs().sum()


def test_queries_keys_and_values_in_the_middle_of_a_fused_product() -> None:
    """As self-attention hands them over: views with strides of their own."""
    qkv, grad = random(3, 5, 3 * 2 * 7), random(3, 2, 5, 7, seed=2)
    q, k, v = (part.unflatten(-1, (2, 7)).transpose(1, 2) for part in qkv.split(14, dim=-1))
    (fast,) = torch.autograd.grad(short_attention(q, k, v, None, 1 / math.sqrt(7)), qkv, grad, retain_graph=True)
    (plain,) = torch.autograd.grad(attend(q, k, v)[0], qkv, grad)
    torch.testing.assert_close(fast, plain, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "silu"])
def test_second_derivatives_of_activations(name: str) -> None:
    x = torch.linspace(-3, 3, 101, requires_grad=True)
    ways = (lambda x: ACTIVATIONS[name](x, 2 * x), lambda x: ACTIVATIONS[name].in_torch(x) * 2 * x)
    slopes = [torch.autograd.grad((x * way(x)).sum(), x, create_graph=True)[0] for way in ways]
    torch.testing.assert_close(*(torch.autograd.grad(one.sum(), x)[0] for one in slopes), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", [2, 6, 10])
def test_rotation_by_complex_numbers_is_the_rotation_of_pairs(width: int) -> None:
    rotation = RotaryPositions(width).double()(7)
    x = random(3, 7, 5, width).transpose(1, 2)  # (B, H, T, E) as attention gives it
    assert suits_complex(x, width)
    apart = torch.cat([x, random(3, 5, 7, 1)], dim=-1)  # one more value, which is not turned
    assert not suits_complex(apart, width)
    torch.testing.assert_close(rotate(x, rotation), rotate(apart, rotation)[..., :width], rtol=1e-12, atol=1e-14)


def test_rotation_in_float32_is_that_of_pairs_also_in_its_gradient() -> None:
    """The way that training takes: float32, queries in the middle of a fused product."""
    width, rotation = 10, RotaryPositions(10)(7)
    qkv = random(3, 7, 3 * 4 * width).float().detach().requires_grad_()
    x = qkv[..., : 4 * width].unflatten(-1, (4, width)).transpose(1, 2)  # (B, H, T, E)
    assert suits_complex(x, width)
    apart = torch.cat([x, x[..., :1]], dim=-1)  # one more value, which is not turned
    found, wanted = rotate(x, rotation), rotate(apart, rotation)[..., :width]
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)
    grad = random(*found.shape, seed=2).float()
    slopes = [torch.autograd.grad(y, qkv, grad, retain_graph=True)[0] for y in (found, wanted)]
    torch.testing.assert_close(*slopes, rtol=1e-6, atol=1e-6)


def test_where_the_products_stand_in() -> None:
    q, k = random(2, 2, 3, 5), random(2, 2, 3, 5)
    assert suits(q, k, None)
    assert not suits(q, random(2, 2, LONGEST + 1, 5), None), "long sentences"
    assert not suits(q, k, torch.full((2, 1, 1, 3), -torch.inf, dtype=torch.float64)), "a query that sees nothing"
    assert not suits(q.to(torch.bfloat16), k.to(torch.bfloat16), None)
    with torch.no_grad():
        assert not suits(q, k, None), "decoding"


@pytest.mark.parametrize("keys", [7, LONGEST + 1])
def test_a_query_that_sees_nothing_mixes_nothing(keys: int) -> None:
    q, k, v = random(2, 1, 3, 5), random(2, 1, keys, 5), random(2, 1, keys, 5)
    mask = torch.zeros(2, 1, 1, keys, dtype=torch.float64)
    mask[1] = -torch.inf
    out = ScaledDotProduct()(q, k, v, mask=mask)
    assert torch.equal(out[1], torch.zeros_like(out[1]))
    assert out[0].abs().min() > 0


def test_causality_and_padding_together_may_hide_everything() -> None:
    """Padding on the left: the first queries see only padding, and mix nothing, with gradients as without."""
    q, k, v = random(2, 1, 5, 3), random(2, 1, 5, 3, seed=2), random(2, 1, 5, 3, seed=3)
    mask = torch.zeros(2, 1, 1, 5, dtype=torch.float64)
    mask[1, ..., :2] = -torch.inf
    out = ScaledDotProduct()(q, k, v, mask=mask, causal=True)
    with torch.no_grad():
        torch.testing.assert_close(out, ScaledDotProduct()(q, k, v, mask=mask, causal=True), rtol=1e-10, atol=1e-12)
    assert torch.equal(out[1, :, :2], torch.zeros(1, 2, 3, dtype=torch.float64))


def test_a_mask_that_learns_gets_its_gradient() -> None:
    q, k, v, bias = random(2, 1, 5, 3), random(2, 1, 5, 3), random(2, 1, 5, 3), random(1, 1, 5, 5)
    ScaledDotProduct()(q, k, v, mask=bias).square().sum().backward()
    assert bias.grad is not None
    assert bias.grad.abs().max() > 0


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("chunk", [1, 3, 100])
@pytest.mark.parametrize("bias", [False, True])
def test_loss_in_chunks_is_the_formula(
    smoothing: float, chunk: int, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary_loss, "LOGITS_AT_A_TIME", chunk * 13)
    hidden, weight, labels = random(11, 5), random(13, 5, seed=2), torch.arange(11) % 7
    offset = random(13, seed=3) if bias else None
    inputs = (hidden, weight) if offset is None else (hidden, weight, offset)
    fast = linear_cross_entropy(hidden, weight, labels, bias=offset, label_smoothing=smoothing)
    logits = F.linear(hidden, weight, offset)
    plain = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(fast, plain, rtol=1e-10, atol=1e-12)
    fast_grads = torch.autograd.grad(2.5 * fast, inputs)
    torch.testing.assert_close(fast_grads, torch.autograd.grad(2.5 * plain, inputs), rtol=1e-10, atol=1e-12)


def test_loss_of_a_token_that_the_model_thinks_impossible() -> None:
    """Its probability is 0 in floating point, its loss is not infinite."""
    hidden = torch.tensor([[1000.0], [1.0]], requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0], [0.5]], requires_grad=True)
    loss = linear_cross_entropy(hidden, weight, torch.tensor([1, 0]))
    torch.testing.assert_close(loss, F.cross_entropy(hidden @ weight.mT, torch.tensor([1, 0]), reduction="sum"))


def test_head_gives_the_same_loss_with_and_without_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary_loss, "LOGITS_AT_A_TIME", 3 * 13)
    head = VocabularyHead(5, 13, bias=True).double()
    hidden, labels = random(11, 5), torch.arange(11)
    with_gradients = head.loss(hidden, labels, label_smoothing=0.1)
    with torch.no_grad():
        torch.testing.assert_close(head.loss(hidden, labels, label_smoothing=0.1), with_gradients, rtol=1e-10, atol=0)
