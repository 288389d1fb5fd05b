"""Positions: the paper's table, its rotations, and rotary positions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.nn.positions import FixedPositions, RotaryPositions, rotate, sinusoidal, sinusoidal_halves

pytestmark = pytest.mark.usefixtures("double")


def table_by_hand(length: int, width: int) -> np.ndarray:
    table = np.zeros((length, width))
    for pos in range(length):
        for column in range(width):
            angle = pos / 10000 ** (2 * (column // 2) / width)
            table[pos, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


@pytest.mark.parametrize("width", [1, 2, 5, 8, 13])
def test_the_sinusoidal_table_is_the_formula(width: int) -> None:
    np.testing.assert_allclose(sinusoidal(11, width).numpy(), table_by_hand(11, width), rtol=0, atol=1e-12)


@pytest.mark.parametrize("width", [1, 2, 5, 8, 13])
def test_the_halves_are_the_same_columns_with_all_sines_first(width: int) -> None:
    table = table_by_hand(11, width)
    expected = np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)
    np.testing.assert_allclose(sinusoidal_halves(11, width).numpy(), expected, rtol=0, atol=1e-12)


def test_five_positions_of_width_five_are_the_textbook_numbers() -> None:
    columns = [
        [0, 0.841, 0.909, 0.141, -0.757],
        [1, 0.540, -0.416, -0.990, -0.654],
        [0, 0.025, 0.050, 0.075, 0.100],
        [1, 1, 0.999, 0.997, 0.995],
        [0, 0.001, 0.001, 0.002, 0.003],
    ]
    np.testing.assert_allclose(sinusoidal(5, 5).numpy().T, columns, rtol=0, atol=0.0005 + 1e-9)


def test_position_zero_is_zero_one_zero_one() -> None:
    assert sinusoidal(1, 7)[0].tolist() == [0, 1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("shift", [1, 3, 17])
def test_one_fixed_rotation_takes_every_position_to_the_one_a_shift_later(shift: int) -> None:
    width = 12
    move = np.zeros((width, width))
    for i in range(width // 2):
        angle = shift / 10000 ** (2 * i / width)
        sin, cos = math.sin(angle), math.cos(angle)
        move[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cos, sin], [-sin, cos]]
    table = sinusoidal(41, width).numpy()
    np.testing.assert_allclose(move @ move.T, np.eye(width), atol=1e-12)
    for t in range(41 - shift):
        np.testing.assert_allclose(move @ table[t], table[t + shift], rtol=0, atol=1e-12)


def test_positions_are_bounded_and_no_two_are_alike() -> None:
    table = sinusoidal(2003, 16)
    assert table.abs().max() <= 1
    assert (torch.cdist(table, table) + torch.eye(2003)).min() > 1e-3


def test_one_sine_alone_repeats_but_the_table_does_not() -> None:
    sine = torch.sin(torch.arange(400) * 2 * math.pi / 20)
    assert torch.allclose(sine[:20], sine[20:40])
    table = sinusoidal(400, 16)
    assert not torch.allclose(table[:20], table[20:40], atol=0.1)


def product(q: Tensor, k: Tensor, t: int, s: int, rotary: RotaryPositions) -> float:
    turned_q, turned_k = rotate(q, rotary(1, start=t)), rotate(k, rotary(1, start=s))
    return float((turned_q * turned_k).sum())


@pytest.mark.parametrize("width", [3, 7, 8])
def test_rotary_products_depend_on_the_distance_alone(width: int) -> None:
    q, k = torch.randn(1, 1, 1, width), torch.randn(1, 1, 1, width)
    rotary = RotaryPositions(width)
    near = product(q, k, 5, 2, rotary)
    assert product(q, k, 103, 100, rotary) == pytest.approx(near, abs=1e-10)
    assert product(q, k, 5, 3, rotary) != pytest.approx(near, abs=1e-3)
    assert product(q, k, 2, 5, rotary) != pytest.approx(near, abs=1e-3)


@pytest.mark.parametrize("width", [2, 5, 8, 11])
def test_rotation_is_a_complex_product_that_keeps_lengths_and_an_odd_last_value(width: int) -> None:
    x = torch.randn(2, 3, 7, width)
    turned = rotate(x, RotaryPositions(width)(7, start=4)).numpy()
    pairs = width // 2
    given = x.numpy()[..., 0 : 2 * pairs : 2] + 1j * x.numpy()[..., 1 : 2 * pairs : 2]
    for t in range(7):
        for i in range(pairs):
            expected = given[:, :, t, i] * np.exp(1j * (t + 4) / 10000 ** (2 * i / width))
            got = turned[:, :, t, 2 * i] + 1j * turned[:, :, t, 2 * i + 1]
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(turned[..., 2 * pairs :], x.numpy()[..., 2 * pairs :])
    np.testing.assert_allclose(np.linalg.norm(turned, axis=-1), x.norm(dim=-1).numpy(), atol=1e-10)


def test_the_first_position_is_not_turned() -> None:
    x = torch.randn(2, 3, 1, 7)
    assert torch.equal(rotate(x, RotaryPositions(7)(1)), x)


def test_another_base_turns_otherwise() -> None:
    cos, _ = RotaryPositions(4, base=100.0)(3)
    np.testing.assert_allclose(cos.numpy()[2], [math.cos(2), math.cos(2 / 10)], atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rotary_positions_stay_exact_far_out_in_narrow_number_types(dtype: torch.dtype) -> None:
    cos, sin = RotaryPositions(8, length=8192).to(dtype)(1, start=8191)
    angle = torch.tensor([8191 / 10000 ** (2 * i / 8) for i in range(4)])
    step = torch.finfo(dtype).eps
    torch.testing.assert_close(cos[0].double(), angle.cos(), rtol=0, atol=step)
    torch.testing.assert_close(sin[0].double(), angle.sin(), rtol=0, atol=step)


def test_a_table_made_longer_keeps_its_first_rows() -> None:
    positions = FixedPositions(lambda n: sinusoidal(n, 5), length=3)
    before = positions(3).clone()
    assert positions(4, start=7).shape == (4, 5)
    assert torch.equal(positions(3), before)
    torch.testing.assert_close(positions(4, start=7), torch.tensor(table_by_hand(11, 5)[7:]), rtol=0, atol=1e-12)
