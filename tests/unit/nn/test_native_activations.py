"""Activations in training by C: values and gradients of torch's formulas in float64."""

import copy
import pickle

import pytest
import torch
from torch import Tensor

from glassformer.nn.activations import ACTIVATIONS
from glassformer.nn.native import activations as native
from glassformer.nn.native.compiler import kernels
from glassformer.nn.native.tape import NUMBERS

pytestmark = pytest.mark.skipif(kernels() is None, reason="there is no C compiler here")
IN_C = [name for name, activation in ACTIVATIONS.items() if activation.faster_in_c]
COUNTS = [1, 17, 8_192, 20_011]  # less than a vector, a rest, one portion, several and a rest


def spread(count: int) -> Tensor:
    """From -12 to 12, both tails included."""
    return torch.linspace(-12, 12, count) if count > 1 else torch.tensor([-0.7])


@pytest.mark.parametrize("gated", [False, True], ids=["plain", "gated"])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", IN_C)
def test_it_is_the_formula(name: str, count: int, gated: bool) -> None:
    activation = ACTIVATIONS[name]
    given = [spread(count).requires_grad_()] + [torch.linspace(2, -3, count).requires_grad_()] * gated
    exact = [one.detach().double().requires_grad_() for one in given]
    found, wanted = activation(*given), activation(*exact)
    assert found.grad_fn.name() == "_ActivationBackward"
    assert "_Activation" not in wanted.grad_fn.name()
    torch.testing.assert_close(found.double(), wanted, rtol=2e-6, atol=1e-6)
    grad = torch.linspace(-1, 2, count)
    pairs = zip(torch.autograd.grad(found, given, grad), torch.autograd.grad(wanted, exact, grad.double()), strict=True)
    for own, right in pairs:
        torch.testing.assert_close(own.double(), right, rtol=2e-6, atol=4e-6)


@pytest.mark.parametrize("name", IN_C)
def test_views_and_gradients_with_strides(name: str) -> None:
    x, grad = torch.randn(5, 7, 2)[..., 0].t().requires_grad_(), torch.ones(1).expand(7, 5)
    (found,) = torch.autograd.grad(ACTIVATIONS[name](x), x, grad)
    (wanted,) = torch.autograd.grad(ACTIVATIONS[name].in_torch(x), x, grad)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=4e-6)


@pytest.mark.parametrize("name", IN_C)
def test_bits_do_not_depend_on_the_number_of_threads(name: str) -> None:
    x = spread(50_021).requires_grad_()
    threads, found = torch.get_num_threads(), []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            y = ACTIVATIONS[name](x)
            found.append((y, torch.autograd.grad(y.sum(), x)[0]))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


@pytest.mark.parametrize("name", IN_C)
def test_not_a_number_stays_one(name: str) -> None:
    x = torch.tensor([float("nan"), 1.0, float("inf"), float("-inf")], requires_grad=True)
    y = ACTIVATIONS[name](x)
    slopes = torch.autograd.grad(y.sum(), x)[0]
    assert y[0].isnan()
    assert slopes[0].isnan()
    assert (y[2], slopes[1].isfinite()) == (float("inf"), True)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_copy_is_the_same_activation(name: str) -> None:
    """Compiled steps look it up."""
    for made in (copy.deepcopy(ACTIVATIONS[name]), pickle.loads(pickle.dumps(ACTIVATIONS[name]))):
        assert made == ACTIVATIONS[name]
        assert NUMBERS[made] == native.NUMBERS[name]


@pytest.mark.parametrize("needs", [(True, False), (False, True)])
def test_second_derivatives_of_one_side_of_a_gate_that_is_a_view(needs: tuple[bool, bool]) -> None:
    x, times = (torch.randn(7, 5).requires_grad_(own) for own in needs)
    given = x if needs[0] else times
    ways = (ACTIVATIONS["silu"](x.t(), times.t()), torch.nn.functional.silu(x.t()) * times.t())
    slopes = [torch.autograd.grad((y * y).sum(), given, create_graph=True)[0] for y in ways]
    torch.testing.assert_close(*(torch.autograd.grad(one.sum(), given)[0] for one in slopes), rtol=1e-5, atol=1e-5)


def test_functions_of_torch_func_use_torch() -> None:
    x = torch.linspace(-2, 2, 9)
    found = torch.func.vmap(torch.func.grad(ACTIVATIONS["gelu"]))(x)
    torch.testing.assert_close(found, torch.autograd.functional.jacobian(torch.nn.functional.gelu, x).diagonal())


def test_where_it_is_used() -> None:
    x = torch.randn(3, 5)
    assert native.suits(x, None)
    assert native.suits(x, x)
    assert not native.suits(x.double(), None)
    assert not native.suits(x, x[:1]), "shapes differ"
    assert not native.suits(torch.nn.Parameter(x), None)
    assert ACTIVATIONS["silu"](torch.empty(0, 3)).shape == (0, 3)
