"""Batches of texts with one class each. Shapes: B texts, T tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.columns import Columns, Index


@dataclass(frozen=True)
class LabelledBatch:
    """Texts, or pairs of texts in two segments, and their classes."""

    ids: Tensor  # (B, T), padded at the end
    lengths: Tensor  # (B,)
    segments: Tensor | None  # (B, T): 1 in the second text; None: no second text
    labels: Tensor  # (B,)
    index: Index

    @property
    def weight(self) -> int:
        return len(self.labels)

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> LabelledBatch:
        segments = None if self.segments is None else self.segments.to(device)
        ids, lengths, labels = self.ids.to(device), self.lengths.to(device), self.labels.to(device)
        return replace(self, ids=ids, lengths=lengths, segments=segments, labels=labels)


@dataclass(frozen=True)
class LabelledTexts:
    """Columns: `text` with its special tokens, `first` (tokens before the second text), `label`."""

    columns: Columns
    pad: int
    hidden: float = 0.0  # share of the tokens, without the first and the last of a text, that `unknown` replaces
    unknown: int | None = None

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def lengths(self) -> Index:
        return self.columns["text"].lengths[:, None]

    def batch(self, index: Index, random: np.random.Generator | None = None) -> LabelledBatch:
        ids = self.columns["text"].padded(index, pad=self.pad)
        lengths = torch.from_numpy(self.columns["text"].lengths_of(index))
        if self.hidden and self.unknown is not None and random is not None:
            ids = hidden_in(ids, lengths, random.random(ids.shape) < self.hidden, self.unknown)
        first = torch.from_numpy(self.columns["first"].flat[index].astype(np.int64))
        places = torch.arange(ids.size(1))
        second = (places >= first[:, None]) & (places < lengths[:, None])
        segments = second.long() if bool(second.any()) else None
        labels = torch.from_numpy(self.columns["label"].flat[index].astype(np.int64))
        return LabelledBatch(ids, lengths, segments, labels, index)


def hidden_in(ids: Tensor, lengths: Tensor, chosen: NDArray[np.bool_], unknown: int) -> Tensor:
    """(B, T) with `unknown` at the chosen places, except for the first and the last token of each text."""
    places = torch.arange(ids.size(1))
    inside = (places > 0) & (places < lengths[:, None] - 1)
    return ids.masked_fill(torch.from_numpy(chosen) & inside, unknown)
