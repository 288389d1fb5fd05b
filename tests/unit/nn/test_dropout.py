"""Dropout: its statistics, and when it does nothing."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from glassformer.nn.dropout import Dropout, dropped, keep_mask
from glassformer.nn.native.compiler import kernels

COUNT = 499 * 401


@pytest.fixture(params=[torch.float32, torch.float64], ids=["in C", "in torch"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    """The kernel is for float32; where there is no compiler, torch computes both."""
    found: torch.dtype = request.param
    return found


def mask_of(p: float, dtype: torch.dtype) -> Tensor:
    """What dropout multiplies by."""
    return Dropout(p)(torch.ones(499, 401, dtype=dtype)).double()


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_the_share_of_zeros_is_p(p: float, dtype: torch.dtype) -> None:
    share = (mask_of(p, dtype) == 0).double().mean().item()
    assert share == pytest.approx(p, abs=5 * (p * (1 - p) / COUNT) ** 0.5)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_the_mean_stays(p: float, dtype: torch.dtype) -> None:
    assert mask_of(p, dtype).mean().item() == pytest.approx(1, abs=5 * (p / (1 - p) / COUNT) ** 0.5)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_a_value_is_zeroed_or_scaled_by_one_over_keep(p: float, dtype: torch.dtype) -> None:
    zero, scaled = mask_of(p, dtype).unique().tolist()
    assert zero == 0
    assert scaled == pytest.approx(1 / (1 - p), abs=1e-4)


def test_scale_and_share_agree_exactly_with_the_rounded_p() -> None:
    threshold = Dropout(0.1).threshold
    mask = keep_mask(torch.ones(7, dtype=torch.float64), threshold)
    assert mask.max().item() * (1 - threshold / 65536) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 5, 401])
def test_neighbours_are_independent(distance: int, dtype: torch.dtype) -> None:
    dropped = (mask_of(0.3, dtype) == 0).double().flatten()
    pair = torch.stack([dropped[:-distance], dropped[distance:]])
    assert abs(torch.corrcoef(pair)[0, 1].item()) < 5 / COUNT**0.5


def test_calls_are_independent(dtype: torch.dtype) -> None:
    pair = torch.stack([mask_of(0.3, dtype).flatten(), mask_of(0.3, dtype).flatten()])
    assert abs(torch.corrcoef(pair)[0, 1].item()) < 5 / COUNT**0.5


def test_each_place_within_a_draw_has_the_same_share(dtype: torch.dtype) -> None:
    dropped = (mask_of(0.2, dtype) == 0).double().flatten()[: COUNT // 4 * 4].view(-1, 4)
    assert dropped.mean(0).tolist() == pytest.approx([0.2] * 4, abs=5 * (0.16 / (COUNT // 4)) ** 0.5)


@pytest.mark.parametrize("layer", [Dropout(0.0), Dropout(0.5).eval()])
def test_without_p_or_outside_training_it_is_the_identity(layer: Dropout) -> None:
    x = torch.randn(3, 5)
    assert layer(x) is x


def test_the_same_seed_drops_the_same_values(dtype: torch.dtype) -> None:
    torch.manual_seed(7)
    first = mask_of(0.5, dtype)
    torch.manual_seed(7)
    assert torch.equal(first, mask_of(0.5, dtype))
    assert not torch.equal(first, mask_of(0.5, dtype))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5, 7), (2, 0, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_shape_and_number_type_stay(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    out = Dropout(0.5)(torch.ones(shape, dtype=dtype))
    assert (out.shape, out.dtype) == (shape, dtype)


def test_the_gradient_goes_where_the_value_went() -> None:
    x = torch.randn(3, 5, 7, requires_grad=True)
    out = Dropout(0.5)(x)
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert torch.equal(gradient * x, out)


@pytest.mark.skipif(kernels() is None, reason="there is no C compiler here")
def test_the_kernel_drops_the_same_whatever_the_threads_and_the_length() -> None:
    x, before = torch.randn(40_013), torch.get_num_threads()
    found = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        found.append(dropped(x, 2**62 + 12345, 20_000))
    torch.set_num_threads(before)
    assert torch.equal(*found)
    for length in (1, 31, 33, 8193):
        assert torch.equal(dropped(x[:length], 2**62 + 12345, 20_000), found[0][:length])
    assert not torch.equal(dropped(x, 12345, 20_000), found[0]), "both halves of the seed count"


def test_a_view_that_is_not_contiguous_is_dropped_too() -> None:
    x = torch.ones(13, 11).T
    assert set(Dropout(0.5)(x).unique().tolist()) == {0.0, 2.0}


def test_a_p_just_below_one_still_keeps_something() -> None:
    out = Dropout(0.9999999)(torch.ones(3, 5))
    assert torch.isfinite(out).all()


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5])
def test_a_p_that_is_no_share_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="0 <= p < 1"):
        Dropout(p)
