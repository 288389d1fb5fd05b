"""Random changes of images: exact for known maps, a function of the generator, off where they are not asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from glassformer.data.augmenting import CHANGES, affine_maps, augmented


def random() -> np.random.Generator:
    return np.random.default_rng(5)


def test_without_changes_nothing_changes() -> None:
    images = torch.rand(3, 2, 7, 5)
    assert augmented(images, (), random()) is images


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_changes_something_and_keeps_the_shape(change: str) -> None:
    images = torch.rand(6, 2, 7, 9)
    found = augmented(images, (change,), random())
    assert found.shape == images.shape
    assert not torch.allclose(found, images)
    assert torch.equal(found, augmented(images, (change,), random()))


def test_flip_mirrors_left_and_right_in_about_half() -> None:
    images = torch.rand(200, 1, 4, 6)
    found = augmented(images, ("flip",), random())
    kept = [torch.allclose(a, b, atol=1e-5) for a, b in zip(found, images, strict=True)]
    mirrored = [torch.allclose(a, b.flip(-1), atol=1e-5) for a, b in zip(found, images, strict=True)]
    assert all(a != b for a, b in zip(kept, mirrored, strict=True))
    assert 70 < sum(mirrored) < 130


def test_a_rotation_keeps_distances_also_in_images_that_are_not_square() -> None:
    """In pixels, the linear part is orthogonal."""
    height, width = 30, 20
    maps = affine_maps(50, height / width, ("rotate",), random())[:, :, :2].astype(np.float64)
    scale = np.diag([width, height]).astype(np.float64)  # x, y from -1..1 to pixels
    linear = scale @ maps @ np.linalg.inv(scale)
    np.testing.assert_allclose(linear @ linear.swapaxes(1, 2), np.broadcast_to(np.eye(2), linear.shape), atol=1e-5)
    assert np.abs(linear[:, 0, 1]).max() > 0.1


def test_a_shift_moves_a_point_by_what_was_drawn() -> None:
    image = torch.zeros(1, 1, 21, 21)
    image[0, 0, 10, 10] = 1
    found = augmented(image, ("shift",), random())[0, 0]
    place = (found * torch.arange(21.0)[:, None]).sum(), (found * torch.arange(21.0)).sum()
    x, y = affine_maps(1, 1.0, ("shift",), random())[0, :, 2] * 21 / 2
    assert float(place[0]) == pytest.approx(10 - y, abs=1e-3)
    assert float(place[1]) == pytest.approx(10 - x, abs=1e-3)


def test_the_changes_of_one_kind_do_not_depend_on_the_others() -> None:
    shift, both = (affine_maps(4, 1.0, names, random()) for names in (("shift",), ("shift", "rotate")))
    np.testing.assert_array_equal(shift[:, :, 2], both[:, :, 2])
