"""Products for a few rows: the same numbers as the plain one, also after the weights have changed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from glassformer.nn.native.products import FEW, forget, product, product_by_rows


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("out", "into"), [(3000, 12), (12, 40), (7, 7)])
@pytest.mark.parametrize("rows", [0, 1, 2, 5, FEW, FEW + 1])
def test_every_form_is_the_plain_product(rows: int, out: int, into: int, bias: bool, gradients: bool) -> None:
    layer, x = nn.Linear(into, out, bias=bias).double(), torch.randn(rows, into, dtype=torch.float64)
    with torch.set_grad_enabled(gradients):
        expected = F.linear(x, layer.weight, layer.bias)
        for form in (product, product_by_rows):
            torch.testing.assert_close(form(layer, x), expected, rtol=0, atol=1e-12)
        assert product_by_rows(layer, x).is_contiguous()


def test_changed_weights_are_noticed() -> None:
    layer, x = nn.Linear(4, 30), torch.randn(1, 4)
    with torch.inference_mode():
        product(layer, x)
    with torch.no_grad():
        layer.weight.mul_(2)
    torch.testing.assert_close(product(layer, x), F.linear(x, layer.weight, layer.bias))


def test_what_is_prepared_is_forgotten_and_no_part_of_the_state() -> None:
    layer = nn.Linear(4, 30)
    with torch.inference_mode():
        product(layer, torch.randn(1, 4))
    assert set(layer.state_dict()) == {"weight", "bias"}
    layer.weight.data.zero_()  # counted nowhere
    forget(layer)
    torch.testing.assert_close(product(layer, torch.ones(1, 4)), layer.bias[None])


def test_another_weight_in_the_same_place_is_noticed() -> None:
    """Memory that was given back may be given out again."""
    layer, x, memory = nn.Linear(4, 30), torch.randn(1, 4), np.ones((30, 4), np.float32)
    for number in (1, 2):
        memory[:] = number
        layer.weight = nn.Parameter(torch.from_numpy(memory))
        torch.testing.assert_close(product(layer, x), F.linear(x, layer.weight, layer.bias))


@torch.inference_mode()
def test_weights_that_count_no_changes() -> None:
    layer, x = nn.Linear(4, 30), torch.randn(1, 4)
    product(layer, x)
    layer.weight.mul_(2)
    torch.testing.assert_close(product(layer, x), F.linear(x, layer.weight, layer.bias))
