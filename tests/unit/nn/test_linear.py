"""Linear layers by oneDNN: the same numbers as the formula in float64, and only where they suit."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn import linear as module
from glassformer.nn.linear import SMALLEST, Linear, linear, product_of_columns, suits, usual_rows
from glassformer.nn.vocabulary_loss import linear_cross_entropy

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")
CLOSE = {"rtol": 1e-5, "atol": 1e-4}  # sums of hundreds of float32 products


@pytest.fixture(autouse=True)
def _faster_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_faster_here", lambda: True)


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(7, 131, 89, 97), (5, 61, 31, 607)], ids=["wide", "many outputs"])
def test_values_and_gradients_are_those_of_the_formula(shape: tuple[int, ...], bias: bool) -> None:
    batch, tokens, inputs, outputs = shape
    x, layer = random(batch, tokens, inputs), Linear(inputs, outputs, bias=bias)
    assert suits(x, layer.weight)
    y = layer(x)
    grad = random(*y.shape, seed=2).detach()
    found = torch.autograd.grad(y, [x, *layer.parameters()], grad)
    exact = [one.detach().double().requires_grad_() for one in (x, *layer.parameters())]
    wanted = F.linear(*exact)
    torch.testing.assert_close(y.double(), wanted, **CLOSE)
    for own, right in zip(found, torch.autograd.grad(wanted, exact, grad.double()), strict=True):
        torch.testing.assert_close(own.double(), right, **CLOSE)
    with torch.no_grad():
        torch.testing.assert_close(layer(x).double(), wanted, **CLOSE)


@pytest.mark.parametrize(("rows", "n", "k"), [(13, 5, 211), (211, 197, 3)], ids=["first", "second"])
def test_either_operand_may_be_transposed(rows: int, n: int, k: int) -> None:
    a, b = random(rows, n).detach(), random(rows, k, seed=2).detach()
    found = product_of_columns(a, b)
    assert found.is_contiguous()
    torch.testing.assert_close(found.double(), a.double().t() @ b.double(), **CLOSE)


def test_the_gradient_of_a_frozen_weight_is_not_computed() -> None:
    x, layer = random(300, 150), Linear(150, 140)
    layer.requires_grad_(False)
    layer(x).sum().backward()
    assert x.grad is not None
    assert layer.weight.grad is None
    assert layer.bias.grad is None


@pytest.mark.parametrize("bias", [True, False])
def test_the_loss_of_a_vocabulary(bias: bool) -> None:
    hidden, weight, labels = random(301, 37), random(809, 37, seed=2), torch.arange(301)
    added = [random(809, seed=3)] if bias else []
    assert suits(hidden, weight)
    loss = linear_cross_entropy(hidden, weight, labels, bias=added[0] if bias else None, label_smoothing=0.1)
    exact = [one.detach().double().requires_grad_() for one in (hidden, weight, *added)]
    wanted = F.cross_entropy(F.linear(*exact), labels, reduction="sum", label_smoothing=0.1)
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-6)
    found = torch.autograd.grad(loss, [hidden, weight, *added])
    for own, right in zip(found, torch.autograd.grad(wanted, exact), strict=True):
        torch.testing.assert_close(own.double(), right, **CLOSE)


def test_the_result_may_be_changed_in_place() -> None:
    x, layer = random(300, 150), Linear(150, 140)
    F.relu(layer(x), inplace=True).sum().backward()
    assert layer.weight.grad is not None


def test_a_bias_that_is_not_contiguous() -> None:
    x, weight, bias = random(300, 150), random(140, 150, seed=2), random(280, seed=3)[::2]
    torch.testing.assert_close(linear(x, weight, bias), F.linear(x, weight, bias), **CLOSE)


def test_second_derivatives() -> None:
    """With a second path to the input, as in a residual connection."""
    x, layer = random(300, 150), Linear(150, 150)
    found = [
        torch.autograd.grad((x + way(x)).pow(3).sum(), x, create_graph=True)[0].square().sum()
        for way in (layer, lambda x: F.linear(x, layer.weight, layer.bias))
    ]
    torch.testing.assert_close(*(torch.autograd.grad(one, x)[0] for one in found), rtol=1e-4, atol=1e-2)


def test_wrong_shapes_are_reported_by_torch() -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes"):
        linear(random(300, 150), random(140, 151, seed=2))


def test_there_are_few_numbers_of_rows() -> None:
    assert [usual_rows(count) for count in (1, 64, 65, 860, 1024, 2047, 2049, 5000)] == [
        *(64, 64, 128, 896, 1024, 2048, 2176, 5120)
    ]
    assert len({usual_rows(count) for count in range(1, 1 << 14)}) < 100


def test_where_it_is_used() -> None:
    x, weight = random(2048, 64), nn.Parameter(torch.zeros(64, 64))
    assert suits(x, weight)
    assert x.numel() * 64 >= SMALLEST
    assert not suits(x[:1000], weight), "too small to be worth it"
    assert not suits(random(40, 2048), nn.Parameter(torch.zeros(2048, 2048))), "too few rows"
    assert not suits(x.double(), weight.double())
    assert not suits(x.to("meta"), weight)
    torch._C._set_mkldnn_enabled(False)  # the public context manager warns about GPUs
    try:
        assert not suits(x, weight), "turned off"
    finally:
        torch._C._set_mkldnn_enabled(True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not suits(x, weight)
        assert linear(x, weight).dtype == torch.bfloat16
