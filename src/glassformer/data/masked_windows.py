"""Windows of text in which some tokens are masked. Shapes: B windows, T tokens, M masked tokens of all windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.data.batches import Encoder
from glassformer.data.columns import Columns, Encoded, Index, Ragged, stored_ids
from glassformer.data.masking import Masking
from glassformer.data.windows import Text, documents, shares_of
from glassformer.text.framing import Frame


@dataclass(frozen=True)
class MaskedBatch:
    """Windows as the model sees them, and the tokens that it must find at the masked places."""

    ids: Tensor  # (B, T), padded at the end
    lengths: Tensor  # (B,)
    places: Tensor  # (M,) of masked tokens, in the flattened windows: window * T + place
    labels: Tensor  # (M,) the true tokens there
    index: Index
    segments: Tensor | None = None

    @property
    def weight(self) -> int:
        return len(self.labels)

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    @property
    def windows(self) -> Tensor:
        """(M,) the window that each masked token belongs to."""
        return self.places // self.ids.size(1)

    def to(self, device: torch.device) -> MaskedBatch:
        ids, lengths = self.ids.to(device), self.lengths.to(device)
        return replace(self, ids=ids, lengths=lengths, places=self.places.to(device), labels=self.labels.to(device))


@dataclass(frozen=True)
class MaskedWindows:
    """Windows in memory. Column `text`: the ids. Held-out windows also have `shown` and `places`: fixed masks."""

    columns: Columns
    pad: int
    masking: Masking

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def lengths(self) -> Index:
        return self.columns["text"].lengths[:, None]

    def batch(self, index: Index, random: np.random.Generator | None = None) -> MaskedBatch:
        ids = self.columns["text"].padded(index, pad=self.pad)
        lengths = self.columns["text"].lengths_of(index)
        if "places" in self.columns.columns:
            shown = self.columns["shown"].padded(index, pad=self.pad)
            flat = self.columns["places"].at(index)
            places = torch.from_numpy(flat.flat + np.repeat(np.arange(len(index)) * ids.size(1), flat.lengths))
        else:
            seen, masked = self.masking.drawn(ids.numpy(), lengths, random or np.random.default_rng(0))
            shown, places = torch.from_numpy(seen), torch.from_numpy(np.flatnonzero(masked))
        return MaskedBatch(shown, torch.from_numpy(lengths), places, ids.flatten()[places], index)


def encode_packed(pieces: Sequence[Text], tokenizer: Encoder, *, size: int, frame: Frame) -> Encoded:
    """The pieces as windows of at most `size` tokens, special tokens included.

    Running text is cut into full windows. Short texts share a window, separated as the frame separates two texts; a
    text that fits into a window is never cut.
    """
    flat, lengths = tokenizer.encode_flat([text for text, _, _ in pieces])
    ends = np.cumsum(lengths)
    room = size - len(frame.single([]))
    texts = (flat[ends[first] - lengths[first] : ends[last]] for first, last in documents(pieces))
    parts = (ids[at : at + room] for ids in texts for at in range(0, len(ids), room))
    rows = [np.array(frame.single(row), dtype=flat.dtype) for row in packed(parts, room, frame.between)]
    written = sum(len(text.encode("utf-8", "surrogatepass")) for text, _, _ in pieces)
    sizes = shares_of(written, [len(row) for row in rows])
    stored = stored_ids(np.concatenate(rows) if rows else flat[:0], len(tokenizer))
    text = Ragged(stored, np.array([len(row) for row in rows], dtype=np.int64))
    return Encoded(Columns({"text": text, "bytes": Ragged.of([[count] for count in sizes])}))


def packed(parts: Iterator[Any], room: int, between: Sequence[int]) -> Iterator[list[int]]:
    """Consecutive parts together while they fit into `room` tokens, with `between` between them."""
    row: list[int] = []
    for part in parts:
        if row and len(row) + len(between) + len(part) > room:
            yield row
            row = []
        row += [*(between if row else ()), *part.tolist()]
    if row:
        yield row


def with_fixed_masks(columns: Columns, masking: Masking) -> Columns:
    """Held-out windows with masks that depend on the window alone."""
    text = columns["text"]
    found = [masking.held(text[i].astype(np.int64)) for i in range(len(text))]
    shown = Ragged.of([ids.tolist() for ids, _ in found])
    return Columns({**columns.columns, "shown": shown, "places": Ragged.of([at.tolist() for _, at in found])})
