"""Patches: one product is the convolution that it stands for; positions keep to their grid."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from glassformer.nn.patches import GridPositions, cut_patches, grid_of


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("size", [(6, 10), (7, 14), (3, 5)])
def test_one_product_is_the_convolution(size: tuple[int, int]) -> None:
    patch, images = (3, 5), torch.randn(2, 3, *size)
    kernel, bias = torch.randn(7, 3, *patch), torch.randn(7)
    expected = F.conv2d(images, kernel, bias, stride=patch).flatten(2).mT
    got = cut_patches(images, patch) @ kernel.flatten(1).mT + bias
    assert got.shape == (2, size[0] // 3 * (size[1] // 5), 7)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)


def test_patches_are_ordered_row_by_row() -> None:
    image = torch.arange(24).view(1, 1, 4, 6)
    got = cut_patches(image, (2, 3))
    assert got[0].tolist() == [
        [0, 1, 2, 6, 7, 8],
        [3, 4, 5, 9, 10, 11],
        [12, 13, 14, 18, 19, 20],
        [15, 16, 17, 21, 22, 23],
    ]
    assert grid_of((4, 6), (2, 3)) == (2, 2)


def test_positions_of_the_own_grid_are_the_learned_ones() -> None:
    positions = GridPositions((2, 3), 5)
    assert positions((2, 3)) is positions.weight
    assert positions.weight.shape == (7, 5)


@pytest.mark.parametrize("others", [0, 1, 2])
def test_tokens_outside_the_grid_keep_their_vectors(others: int) -> None:
    positions = GridPositions((2, 3), 5, others=others)
    stretched = positions((3, 2))
    assert stretched.shape == (others + 6, 5)
    assert torch.equal(stretched[:others], positions.weight[:others])
    assert not torch.equal(stretched[others:], positions.weight[others:])


def test_gradients_reach_the_positions_of_another_grid() -> None:
    positions = GridPositions((2, 3), 5)
    positions((5, 7)).square().sum().backward()
    assert torch.count_nonzero(positions.weight.grad) == positions.weight.numel()
