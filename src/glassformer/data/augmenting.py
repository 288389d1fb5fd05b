"""Random changes of training images, so that a model sees a new version of each image in every epoch.

All changes of a batch are one affine map per image, so they cost one interpolation. Shapes: B images, C channels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

SHIFT = 0.08  # of the height and width
TURN = 12.0  # degrees
SCALE = 0.12
SHEAR = 0.15  # a slant of the vertical lines
CHANGES = ("shift", "rotate", "scale", "shear", "flip")


def augmented(images: Tensor, changes: Sequence[str], random: np.random.Generator) -> Tensor:
    """(B, C, height, width) -> the same shape; the numbers drawn do not depend on the pixels. The edge is repeated."""
    if not changes or images.size(0) == 0:
        return images
    maps = torch.from_numpy(affine_maps(len(images), images.size(2) / images.size(3), changes, random))  # (B, 2, 3)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def affine_maps(count: int, ratio: float, changes: Sequence[str], random: np.random.Generator) -> NDArray[np.float32]:
    """(B, 2, 3): for each point of the result, the point of the image that it shows; both from -1 to 1."""
    draws = random.uniform(-1, 1, (6, count))  # always as many, so that each change has its own numbers
    angle = np.deg2rad(TURN) * draws[0] * ("rotate" in changes)
    wide, high = (1 + SCALE * draws[i] * ("scale" in changes) for i in (1, 2))
    slant = SHEAR * draws[3] * ("shear" in changes)
    moves = 2 * SHIFT * draws[4:] * ("shift" in changes)  # (2, B)
    cos, sin = np.cos(angle), np.sin(angle)
    # Turn, after slant, after scale; the ratio keeps angles true in images that are not square.
    rows = np.empty((count, 2, 3), dtype=np.float32)
    rows[:, 0, 0], rows[:, 0, 1] = wide * cos, high * (slant * cos - sin) * ratio
    rows[:, 1, 0], rows[:, 1, 1] = wide * sin / ratio, high * (slant * sin + cos)
    rows[:, :, 2] = moves.T
    if "flip" in changes:
        rows[:, :, 0] *= np.where(random.random(count) < 0.5, -1.0, 1.0)[:, None]
    return rows
