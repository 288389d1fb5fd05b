"""RMSNorm in training by C: values and gradients of the formula in float64."""

import pytest
import torch
from torch import Tensor

from glassformer.nn.native import rms_norm as native
from glassformer.nn.native.compiler import kernels
from glassformer.nn.norms import RMSNorm

pytestmark = pytest.mark.skipif(kernels() is None, reason="there is no C compiler here")
SHAPES = [(1, 16), (3, 5, 48), (37, 32), (1100, 16)]  # one row, less than a portion, several, many


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def norm_of(width: int) -> RMSNorm:
    norm = RMSNorm(width, eps=1e-3)
    with torch.no_grad():
        norm.gain.copy_(random(width, seed=5))
    return norm


def results(norm: torch.nn.Module, x: Tensor, grad: Tensor) -> list[Tensor]:
    x = x.clone().requires_grad_()
    y = norm(x)
    return [y.detach(), *torch.autograd.grad(y, [x, *norm.parameters()], grad)]


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_formula(shape: tuple[int, ...]) -> None:
    norm, x, grad = norm_of(shape[-1]), 3 * random(*shape) + 1, random(*shape, seed=2)
    assert native.suits(x, norm.gain)
    assert norm(x).grad_fn.name() == "_RmsNormBackward"
    exact = results(norm_of(shape[-1]).double(), x.double(), grad.double())
    for own, right in zip(results(norm, x, grad), exact, strict=True):
        torch.testing.assert_close(own.double(), right, rtol=2e-5, atol=2e-5)


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    norm, x, grad = norm_of(32), random(700, 32), random(700, 32, seed=2)
    threads, found = torch.get_num_threads(), []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(results(norm, x, grad))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_views_expanded_gradients_and_no_rows() -> None:
    norm, x = norm_of(16), random(16, 7).t()
    torch.testing.assert_close(norm(x).detach(), norm(x.contiguous()).detach())
    (grad,) = torch.autograd.grad(norm(x.requires_grad_()).sum(), x)
    assert grad.shape == x.shape
    empty = norm(random(0, 16).requires_grad_())
    assert empty.shape == (0, 16)
    assert all(torch.equal(one, torch.zeros(16)) for one in torch.autograd.grad(empty.sum(), list(norm.parameters())))


def test_second_derivatives() -> None:
    norm, x = norm_of(16), random(3, 16).requires_grad_()
    plain = norm_of(16).double()
    wide = x.detach().double().requires_grad_()
    slopes = (torch.autograd.grad((f(y) ** 2).sum(), y, create_graph=True)[0] for f, y in ((norm, x), (plain, wide)))
    found, wanted = (torch.autograd.grad((s**2).sum(), y)[0] for s, y in zip(slopes, (x, wide), strict=True))
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-4)


def test_not_a_number_stays_one() -> None:
    x = torch.ones(2, 16)
    x[1, 3] = float("nan")
    found = norm_of(16)(x)
    assert found[1].isnan().all()
    assert found[0].isfinite().all()


def test_where_it_is_used() -> None:
    norm, x = RMSNorm(16), random(3, 16)
    assert native.suits(x, norm.gain)
    assert not native.suits(x.double(), norm.gain)
    assert not native.suits(random(3, 10), RMSNorm(10).gain), "no whole vectors"
    with torch.no_grad():
        assert not native.suits(x, norm.gain), "not training"
