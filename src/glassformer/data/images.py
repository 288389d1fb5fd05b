"""Prepares images for a model: number of channels, size, and scale of values.

Shapes: C channels; images are (height, width, C) bytes before, (C, height, width) numbers after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.data.readers.arrays import Picture
from glassformer.errors import DataError

LUMA = np.array([299, 587, 114])  # weights of red, green and blue in brightness (ITU-R BT.601), in thousandths
MODES = {"nearest": "nearest-exact", "bilinear": "bilinear", "bicubic": "bicubic"}


@dataclass(frozen=True)
class Preparation:
    """The steps of preparing an image, in this order; None skips a step."""

    channels: int
    size: tuple[int, int] | None = None  # resize to this height and width
    shortest: int | None = None  # or: resize so that the shorter side has this length
    resample: str = "bilinear"
    crop: tuple[int, int] | None = None  # keep the middle of this height and width
    rescale: float = 1.0
    mean: tuple[float, ...] = (0.0,)  # of each channel: subtracted
    std: tuple[float, ...] = (1.0,)  # of each channel: divided by, after the mean is subtracted

    @classmethod
    def of(cls, config: Mapping[str, Any] | None, *, size: tuple[int, int], channels: int) -> Preparation:
        """From the config in a model's folder. Default, as usual for ViTs: the model's size, values from -1 to 1."""
        if not config:
            return cls(channels, size, rescale=1 / 255, mean=(0.5,), std=(0.5,))
        pair = lambda *names: tuple(config[name] for name in names) if names[0] in config else None  # noqa: E731
        return cls(
            channels,
            size=pair("height", "width"),
            shortest=config.get("shortest"),
            resample=config.get("resample", "bilinear"),
            crop=pair("crop_height", "crop_width"),
            rescale=config.get("rescale", 1.0),
            mean=tuple(config.get("mean", (0.0,))),
            std=tuple(config.get("std", (1.0,))),
        )

    def __call__(self, picture: Picture) -> Tensor:
        """(height, width, C) -> (C, height, width)"""
        image = torch.from_numpy(np.array(recoloured(picture, self.channels))).permute(2, 0, 1)
        image = self.resized(image)
        if self.crop is not None:
            image = middle(image, self.crop)
        mean, std = (torch.tensor(values, dtype=torch.float32).view(-1, 1, 1) for values in (self.mean, self.std))
        if self.channels % len(self.mean) or self.channels % len(self.std):
            raise DataError(
                f"The folder gives mean and deviation for {len(self.mean)} channels; this model reads {self.channels}."
            )
        return (image.float() * self.rescale - mean) / std

    def resized(self, image: Tensor) -> Tensor:
        height, width = image.shape[1:]
        size = self.size
        if self.shortest is not None:
            short, long = sorted((height, width))
            other = max(1, int(self.shortest * long / short))
            size = (self.shortest, other) if height <= width else (other, self.shortest)
        if size is None or size == (height, width):
            return image
        smooth = self.resample != "nearest"
        options = {"align_corners": False, "antialias": True} if smooth else {}
        return F.interpolate(image[None], size=size, mode=MODES[self.resample], **options)[0]


def fitted(picture: Picture, size: tuple[int, int], channels: int) -> Picture:
    """An image as bytes of this size, with this number of channels; the sides are stretched if necessary."""
    coloured = recoloured(picture, channels)
    if coloured.shape[:2] == size:
        return coloured
    image = torch.from_numpy(np.array(coloured)).permute(2, 0, 1)
    resized: Picture = Preparation(channels, size).resized(image).permute(1, 2, 0).numpy()
    return resized


def recoloured(picture: Picture, channels: int) -> Picture:
    """Converts to this number of channels: grey to colour by repeating it, colour to grey by brightness."""
    if picture.ndim != 3 or picture.shape[2] not in (1, 3, 4, channels) or 0 in picture.shape:
        raise DataError(f"An image has shape {picture.shape}; it must be (height, width, channels).")
    own = picture.shape[2]
    if own == channels:
        return picture
    colours = np.repeat(picture, 3, axis=2) if own == 1 else on_white(picture)
    if channels == 3:
        return colours
    if channels == 1:
        return ((colours.astype(np.int64) @ LUMA + 500) // 1000).astype(np.uint8)[:, :, None]
    raise DataError(f"An image has {own} channels; this model reads {channels}.")


def on_white(picture: Picture) -> Picture:
    """The colours of an image; where it is transparent, the colours that a white page would have."""
    if picture.shape[2] < 4:
        return picture
    colours, alpha = picture[:, :, :3].astype(np.int64), picture[:, :, 3:].astype(np.int64)
    return ((colours * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)


def middle(image: Tensor, size: tuple[int, int]) -> Tensor:
    """The middle (C, *size) of an image, padded with black if the image is smaller."""
    for axis, wanted in enumerate(size, start=1):
        missing = wanted - image.size(axis)
        if missing > 0:
            before = missing // 2
            pads = [0, 0, before, missing - before] if axis == 1 else [before, missing - before]
            image = F.pad(image, pads)
        image = image.narrow(axis, (image.size(axis) - wanted) // 2, wanted)
    return image


def batches_of(images: Sequence[Tensor], count: int) -> Iterator[tuple[list[int], Tensor]]:
    """Batches of up to `count` images of one size: their indices, and (B, C, height, width)."""
    sizes: dict[tuple[int, ...], list[int]] = {}
    for place, image in enumerate(images):
        sizes.setdefault(tuple(image.shape), []).append(place)
    for places in sizes.values():
        for start in range(0, len(places), count):
            part = places[start : start + count]
            yield part, torch.stack([images[place] for place in part])
