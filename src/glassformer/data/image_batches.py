"""Batches of images with their classes, or with their captions. Shapes: B images, C channels, T tokens.

Images are kept as bytes, all of one size, in a column. A batch scales them to mean 0 and deviation 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.augmenting import augmented
from glassformer.data.batches import Marks
from glassformer.data.columns import Columns, Index, Ragged

Shape = tuple[int, int, int]  # height, width, channels


@dataclass(frozen=True)
class PixelScale:
    """How bytes become the numbers that a model reads: (byte / 255 - mean) / std, for each channel."""

    shape: Shape
    mean: tuple[float, ...]
    std: tuple[float, ...]
    changes: tuple[str, ...] = ()  # at random
    is_training: bool = False  # held-out images are never changed

    def images(self, column: Ragged, index: Index, random: np.random.Generator | None) -> Tensor:
        """(B, C, height, width)"""
        pixels = torch.from_numpy(bytes_of(column, self.shape)[index])  # (B, height, width, C)
        images = pixels.permute(0, 3, 1, 2).float().contiguous()
        if random is not None and self.is_training:
            images = augmented(images, self.changes, random)
        mean, std = (torch.tensor(values, dtype=torch.float32).view(-1, 1, 1) for values in (self.mean, self.std))
        return images.div_(255).sub_(mean).div_(std)


def bytes_of(column: Ragged, shape: Shape) -> NDArray[np.uint8]:
    """(n, height, width, C), without a copy."""
    return column.flat.reshape(-1, *shape)  # type: ignore[return-value]


def bytes_column(images: NDArray[np.uint8]) -> Ragged:
    """Images (n, height, width, C) as a column of bytes."""
    size = int(np.prod(images.shape[1:]))
    return Ragged(images.reshape(-1), np.full(len(images), size, dtype=np.int64))


@dataclass(frozen=True)
class ClassBatch:
    """Images and their classes."""

    images: Tensor  # (B, C, height, width)
    labels: Tensor  # (B,)
    index: Index
    patches: int  # of an image, with the token for the whole image

    @property
    def weight(self) -> int:
        return len(self.labels)

    @property
    def tokens(self) -> int:
        return len(self.labels) * self.patches

    def to(self, device: torch.device) -> ClassBatch:
        return replace(self, images=self.images.to(device), labels=self.labels.to(device))


@dataclass(frozen=True)
class LabelledImages:
    """Columns: `image`, the bytes, and `label`."""

    columns: Columns
    scale: PixelScale
    patches: int

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def lengths(self) -> Index:
        return np.full((len(self), 1), self.patches, dtype=np.int64)

    def batch(self, index: Index, random: np.random.Generator | None = None) -> ClassBatch:
        labels = torch.from_numpy(self.columns["label"].flat[index].astype(np.int64))
        return ClassBatch(self.scale.images(self.columns["image"], index, random), labels, index, self.patches)


@dataclass(frozen=True)
class CaptionBatch:
    """Images and one caption of each: the input is the caption shifted right, the output is the caption."""

    images: Tensor  # (B, C, height, width)
    target_in: Tensor  # (B, T): <s> y1 y2 ...
    target_out: Tensor  # (B, T): y1 y2 ... </s>
    target_lengths: Tensor  # (B,)
    index: Index
    patches: int

    @property
    def target_mask(self) -> Tensor:
        """(B, T), True for real tokens, False for padding."""
        return torch.arange(self.target_out.size(1), device=self.target_out.device) < self.target_lengths[:, None]

    @property
    def weight(self) -> int:
        return int(self.target_lengths.sum())

    @property
    def tokens(self) -> int:
        return len(self.images) * self.patches + self.weight

    def to(self, device: torch.device) -> CaptionBatch:
        names = ("images", "target_in", "target_out", "target_lengths")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})


@dataclass(frozen=True)
class CaptionedImages:
    """Columns: `image`, the bytes; `caption`, the ids of all captions of an image; `ends`, where each of them ends."""

    columns: Columns
    scale: PixelScale
    patches: int
    marks: Marks

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def lengths(self) -> Index:
        """(n, 2): patches, and the tokens of the longest caption with its end mark."""
        ends = self.columns["ends"]
        starts = np.concatenate([[0], ends.flat[:-1]])
        starts[ends.offsets[:-1]] = 0
        longest = np.maximum.reduceat(ends.flat - starts, ends.offsets[:-1]) + 1
        return np.stack([np.full(len(self), self.patches, dtype=np.int64), longest], axis=1)

    def batch(self, index: Index, random: np.random.Generator | None = None) -> CaptionBatch:
        """One caption of each image, at random; without random numbers, the first."""
        captions = self.chosen(index, random if self.scale.is_training else None)
        target_in = captions.padded(np.arange(len(index)), pad=self.marks.pad, before=self.marks.bos)
        target_out = captions.padded(np.arange(len(index)), pad=self.marks.pad, after=self.marks.eos)
        images = self.scale.images(self.columns["image"], index, random)
        lengths = torch.from_numpy(captions.lengths + 1)
        return CaptionBatch(images, target_in, target_out, lengths, index, self.patches)

    def chosen(self, index: Index, random: np.random.Generator | None) -> Ragged:
        """One caption for each image."""
        ends, ids = self.columns["ends"], self.columns["caption"]
        counts = ends.lengths_of(index)
        picks = np.zeros(len(index), np.int64) if random is None else (random.random(len(index)) * counts).astype(int)
        rows = list[NDArray[np.int32]]()
        for place, pick in zip(index.tolist(), picks.tolist(), strict=True):
            own = ends[place]
            rows.append(ids[place][own[pick - 1] if pick else 0 : own[pick]].astype(np.int32))
        return Ragged(np.concatenate(rows), np.array([len(row) for row in rows], dtype=np.int64))
