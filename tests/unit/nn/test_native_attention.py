"""Attention in training by C: values and gradients of the formula in float64, and where it is used."""

import ctypes
import math

import pytest
import torch
from torch import Tensor

from glassformer.errors import ModelError
from glassformer.nn.attention import ScaledDotProduct
from glassformer.nn.native import attention as native
from glassformer.nn.native.compiler import kernels

pytestmark = pytest.mark.skipif(kernels() is None, reason="there is no C compiler here")
CLOSE = {"rtol": 1e-5, "atol": 5e-6}
# B, H, G, T, K, E: one query group, several, a last one of one query, more keys than queries, fewer, grouped heads
SHAPES = [
    (3, 2, 2, 7, 7, 32),
    (2, 3, 3, 25, 25, 48),
    (2, 4, 2, 53, 61, 16),
    (2, 6, 1, 31, 29, 64),
    (1, 1, 1, 1, 19, 16),
]


def random(*shape: int, seed: int) -> Tensor:
    found = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return found.transpose(1, 2).requires_grad_()  # (B, H, T, E), in memory (B, T, H, E)


def inputs(shape: tuple[int, ...]) -> list[Tensor]:
    b, h, g, t, k, e = shape
    return [random(b, t, h, e, seed=1), random(b, k, g, e, seed=2), random(b, k, g, e, seed=3)]


def masks(sentences: int, keys: int) -> dict[str, Tensor | None]:
    ends = torch.zeros(sentences, 1, 1, keys)
    ends[0, ..., keys - 3 :] = -torch.inf
    begins = torch.zeros(sentences, 1, 1, keys)
    begins[-1, ..., :2] = -torch.inf  # with causality, the first queries may see nothing
    return {"none": None, "ends": ends, "begins": begins, "values": torch.linspace(-3, 3, keys).expand_as(ends)}


@pytest.mark.parametrize("mask", ["none", "ends", "begins", "values"])
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_formula(shape: tuple[int, ...], causal: bool, mask: str) -> None:
    given, added = inputs(shape), masks(shape[0], shape[4])[mask]
    if shape[5] % native.lanes():
        pytest.skip("this processor's vectors are wider")
    core = ScaledDotProduct()
    assert native.suits(*given, added)
    found = core(*given, mask=added, causal=causal)
    assert "_Attention" in found.grad_fn.next_functions[0][0].name()
    exact = [one.detach().double().requires_grad_() for one in given]
    full = full_mask(added, causal, shape)
    blind = (full == -torch.inf).all(-1, keepdim=True)  # queries that see nothing mix nothing
    wanted = core.plain(*exact, full.masked_fill(blind, 0.0)).masked_fill(blind, 0.0)
    grad = random(*(shape[i] for i in (0, 3, 1, 5)), seed=4).detach()
    torch.testing.assert_close(found.double(), wanted, **CLOSE)
    pairs = zip(torch.autograd.grad(found, given, grad), torch.autograd.grad(wanted, exact, grad.double()), strict=True)
    for own, right in pairs:
        torch.testing.assert_close(own.double(), right, **CLOSE)


def full_mask(added: Tensor | None, causal: bool, shape: tuple[int, ...]) -> Tensor:
    _, _, _, t, k, _ = shape
    full = torch.zeros(t, k, dtype=torch.float64)
    if causal:
        full.masked_fill_(~torch.ones(t, k, dtype=torch.bool).tril(k - t), -torch.inf)
    return full if added is None else full + added.double()


def test_padding_has_no_influence_and_no_gradient() -> None:
    q, k, v = inputs((2, 2, 2, 9, 9, 32))
    mask = masks(2, 9)["ends"]
    z = native.attention(q, k, v, mask=mask, causal=False, scale=0.2)
    grads = torch.autograd.grad(z, (k, v), torch.ones_like(z))
    assert all(torch.equal(grad[0, :, 6:], torch.zeros_like(grad[0, :, 6:])) for grad in grads)
    with torch.no_grad():
        k[0, :, 6:], v[0, :, 6:] = 1e3, 1e3
    assert torch.equal(native.attention(q, k, v, mask=mask, causal=False, scale=0.2), z)


@pytest.mark.parametrize("where", ["q", "k", "v"])
def test_nan_is_not_hidden(where: str) -> None:
    given = dict(zip("qkv", inputs((1, 1, 1, 5, 5, 16)), strict=True))
    with torch.no_grad():
        given[where][0, 0, 2, 3] = math.nan
    z = native.attention(**given, mask=None, causal=False, scale=1.0)
    assert z.isnan().any()
    assert torch.autograd.grad(z.sum(), given["k"])[0].isnan().any()


def test_threads_do_not_change_a_bit() -> None:
    given, before = inputs((5, 4, 2, 33, 33, 32)), torch.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        try:
            z = native.attention(*given, mask=None, causal=True, scale=0.3)
            results.append((z, *torch.autograd.grad(z, given, torch.ones_like(z))))
        finally:
            torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(one, same) for one, same in zip(results[0], other, strict=True))


def test_large_finite_masks_keep_their_gradients() -> None:
    given = inputs((1, 1, 1, 3, 5, 16))
    mask = torch.full((1, 1, 1, 5), torch.finfo(torch.float32).min)
    grad = torch.ones(1, 1, 3, 16)
    found = torch.autograd.grad(native.attention(*given, mask=mask, causal=False, scale=1.0), given, grad)
    wanted = torch.autograd.grad(given[2].mean(2, keepdim=True).expand(grad.shape), given[2], grad)
    torch.testing.assert_close(found[2], wanted[0])


def test_an_empty_batch() -> None:
    given = inputs((0, 2, 2, 5, 5, 32))
    z = native.attention(*given, mask=None, causal=True, scale=1.0)
    assert z.shape == (0, 2, 5, 32)
    assert torch.autograd.grad(z.sum(), given[1])[0].shape == given[1].shape


def test_the_result_may_be_changed_in_place() -> None:
    given = inputs((2, 2, 2, 5, 5, 32))
    z = native.attention(*given, mask=None, causal=True, scale=1.0)
    z.mul_(2).sum().backward()
    assert given[0].grad is not None


def test_second_derivatives_are_refused() -> None:
    given = inputs((2, 2, 2, 5, 5, 32))
    z = given[0] + native.attention(*given, mask=None, causal=True, scale=1.0)
    with pytest.raises(ModelError, match="Second derivatives"):
        torch.autograd.grad(z.square().sum(), given, create_graph=True)


def test_the_structure_is_the_one_of_c() -> None:
    library = kernels()
    assert library is not None
    assert ctypes.sizeof(native.Attention) == library.attention_size()


def test_where_it_is_used() -> None:
    q, k, v = inputs((2, 2, 2, 9, 9, 32))
    assert native.suits(q, k, v, None)
    assert not native.suits(q, k, v, torch.zeros(9, 9)), "a mask of queries and keys"
    assert not native.suits(q, k, v, torch.zeros(2, 1, 1, 9, requires_grad=True)), "a learned bias"
    assert not native.suits(q.double(), k.double(), v.double(), None)
    assert not native.suits(q, k.double(), v.double(), None)
    assert not native.suits(q, k, v[:1], None)
    six, four = random(2, 9, 6, 32, seed=1), random(2, 9, 4, 32, seed=2)
    assert not native.suits(six, four, four, None), "heads that cannot be shared evenly"
    assert not native.suits(*(x[..., :7] for x in (q, k, v)), None), "a head width that is not whole vectors"
    with torch.no_grad():
        assert not native.suits(q, k, v, None), "decoding"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not native.suits(q, k, v, None)
