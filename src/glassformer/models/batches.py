"""What models read from a batch: one protocol for each shape of batch. Any object with these attributes will do."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class TextBatch(Protocol):
    """Texts: ids (B, T), padded at the end, and the length of each text (B,)."""

    @property
    def ids(self) -> Tensor: ...
    @property
    def lengths(self) -> Tensor: ...


class SegmentedBatch(TextBatch, Protocol):
    """Texts in parts: also the segment of each token (B, T); None: all are in segment 0."""

    @property
    def segments(self) -> Tensor | None: ...


def casing_of(batch: TextBatch) -> Tensor | None:
    """The pattern of capitals of each token (B, T), of batches that have it."""
    found: Tensor | None = getattr(batch, "casing", None)
    return found


class SourceBatch(Protocol):
    """What an encoder reads: source ids (B, S), padded at the end, and the length of each sentence (B,)."""

    @property
    def source(self) -> Tensor: ...
    @property
    def source_lengths(self) -> Tensor: ...


class TargetBatch(Protocol):
    """What teacher forcing reads: the target shifted right (B, T)."""

    @property
    def target_in(self) -> Tensor: ...


class TranslationBatch(SourceBatch, TargetBatch, Protocol):
    """A source and the target that is written for it."""


class ImageBatch(Protocol):
    """Images (B, C, height, width), their values scaled as in the model's training."""

    @property
    def images(self) -> Tensor: ...
