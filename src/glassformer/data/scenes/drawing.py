"""Draws scenes with NumPy: every shape is a distance to its outline, so edges are smooth. Shapes: n shapes, S side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassformer.data.scenes.grammar import Scene

SIDE = 40  # pixels
PALETTE = {
    "red": (214, 40, 40),
    "green": (40, 160, 70),
    "blue": (45, 90, 210),
    "yellow": (240, 210, 40),
    "purple": (140, 60, 180),
    "orange": (245, 130, 30),
}
CHUNK = 512  # scenes drawn together
Field = NDArray[np.float32]  # (n, S, S)


def draw(scenes: Sequence[Scene], side: int = SIDE) -> NDArray[np.uint8]:
    """(scenes, side, side, 3)"""
    parts = [_draw(scenes[start : start + CHUNK], side) for start in range(0, len(scenes), CHUNK)]
    return np.concatenate(parts) if parts else np.zeros((0, side, side, 3), dtype=np.uint8)


def _draw(scenes: Sequence[Scene], side: int) -> NDArray[np.uint8]:
    owners = [i for i, scene in enumerate(scenes) for group in scene.groups for _ in group.sizes]
    groups = [group for scene in scenes for group in scene.groups]
    centres = np.concatenate([group.centres for group in groups]).astype(np.float32)  # (n, 2)
    sizes, turns = (
        np.concatenate([getattr(g, name) for g in groups]).astype(np.float32) for name in ("sizes", "turns")
    )
    shapes = np.array([group.shape for group in groups for _ in group.sizes])
    colours = np.array([PALETTE[group.colour] for group in groups for _ in group.sizes], dtype=np.float32)  # (n, 3)
    cover = coverage(centres, sizes, turns, shapes, side)  # (n, S, S)
    images, shades = _backgrounds(scenes, side)
    colours = np.clip(colours * shades[owners, None], 0, 255)
    for i, (owner, colour) in enumerate(zip(owners, colours, strict=True)):
        share = cover[i, :, :, None]
        images[owner] = images[owner] * (1 - share) + colour * share
    return np.clip(np.rint(images), 0, 255).astype(np.uint8)


def _backgrounds(scenes: Sequence[Scene], side: int) -> tuple[Field, Field]:
    """A light or dark grey with a little noise, and the brightness of the colours of each scene."""
    images = np.empty((len(scenes), side, side, 3), dtype=np.float32)
    shades = np.empty(len(scenes), dtype=np.float32)
    for i, scene in enumerate(scenes):
        random = np.random.default_rng(scene.seed)
        grey = random.uniform(225, 255) if random.random() < 0.5 else random.uniform(0, 40)
        images[i] = grey + random.normal(0, 4, (side, side, 1)).astype(np.float32)
        shades[i] = random.uniform(0.88, 1.08)
    return images, shades


def coverage(centres: Field, sizes: Field, turns: Field, shapes: NDArray[np.str_], side: int) -> Field:
    """How much of each pixel a shape covers, 0 to 1: the distance to the outline, over one pixel."""
    axis = (np.arange(side, dtype=np.float32) + 0.5) / side
    y = axis[None, :, None] - centres[:, 0, None, None]
    x = axis[None, None, :] - centres[:, 1, None, None]
    cos, sin = np.cos(turns)[:, None, None], np.sin(turns)[:, None, None]
    size = sizes[:, None, None]
    across, down = (cos * x + sin * y) / size, (cos * y - sin * x) / size  # (n, S, S), in sizes
    inside = np.empty_like(across)
    for shape, distance in DISTANCES.items():
        own = shapes == shape
        inside[own] = -distance(across[own], down[own])
    return np.clip(inside * size * side + 0.5, 0, 1).astype(np.float32)


def circle(x: Field, y: Field) -> Field:
    found: Field = np.hypot(x, y) - 1
    return found


def square(x: Field, y: Field) -> Field:
    found: Field = np.maximum(np.abs(x), np.abs(y)) - np.float32(0.88)
    return found


def triangle(x: Field, y: Field) -> Field:
    """Its base is below."""
    found: Field = np.maximum(y - 0.8, 0.894 * np.abs(x) - 0.447 * (y + 1.1))
    return found


def cross(x: Field, y: Field) -> Field:
    x, y = np.abs(x), np.abs(y)
    found: Field = np.minimum(np.maximum(x - 1, y - 0.34), np.maximum(y - 1, x - 0.34))
    return found


def star(x: Field, y: Field) -> Field:
    """Five points: the angle, folded into one of ten equal parts, crosses one straight edge."""
    radius, angle = np.hypot(x, y), np.arctan2(x, -y)
    part = 2 * np.pi / 5
    folded = np.abs((angle + part / 2) % part - part / 2)  # 0 at a point, part / 2 between two
    outer, inner = np.array([0.0, 1.12]), 0.46 * np.array([np.sin(part / 2), np.cos(part / 2)])
    edge = inner - outer
    normal = np.array([-edge[1], edge[0]]) / np.hypot(*edge)
    found: Field = (radius * np.sin(folded) - outer[0]) * normal[0] + (radius * np.cos(folded) - outer[1]) * normal[1]
    return found.astype(np.float32)


DISTANCES = {"circle": circle, "square": square, "triangle": triangle, "star": star, "cross": cross}
