"""Windows of running text, for models that predict each next token. Shapes: B windows, T tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.data.batches import Encoder
from glassformer.data.columns import Columns, Encoded, Index, Ragged, stored_ids

Text = tuple[str, bool, bool]  # a piece of text; whether a document begins with it; whether it is a whole document


@dataclass(frozen=True)
class WindowBatch:
    """Windows of text: the input tokens, and at each position the token to predict."""

    ids: Tensor  # (B, T)
    lengths: Tensor  # (B,)
    target_out: Tensor  # (B, T)
    index: Index
    padding: int  # tokens that are only there to make the windows equally long

    @property
    def target_lengths(self) -> Tensor:
        return self.lengths

    @property
    def target_mask(self) -> Tensor:
        """(B, T), True where there is a token to predict."""
        return torch.arange(self.ids.size(1), device=self.ids.device) < self.lengths[:, None]

    def real(self, values: Tensor) -> Tensor:
        """(B, T, ...) -> (M, ...): what belongs to tokens. Windows of equal lengths need no copy."""
        return values.flatten(0, 1) if self.padding == 0 else values[self.target_mask]

    @property
    def weight(self) -> int:
        return self.ids.numel() - self.padding

    tokens = weight

    def to(self, device: torch.device) -> WindowBatch:
        return replace(
            self, ids=self.ids.to(device), lengths=self.lengths.to(device), target_out=self.target_out.to(device)
        )


@dataclass(frozen=True)
class Windows:
    """Windows in memory; each has one token more than it predicts."""

    columns: Columns
    pad: int

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def lengths(self) -> Index:
        return self.columns["text"].lengths[:, None] - 1

    def of_epoch(self, random: np.random.Generator) -> Windows:
        """The same texts cut at other places, so that an epoch does not repeat the windows of the one before."""
        return Windows(Columns({"text": cut_elsewhere(self.columns["text"], random)}), self.pad)

    def batch(self, index: Index, random: np.random.Generator | None = None) -> WindowBatch:  # noqa: ARG002
        rows = self.columns["text"].padded(index, pad=self.pad)
        lengths = self.columns["text"].lengths_of(index) - 1
        padding = len(index) * (rows.size(1) - 1) - int(lengths.sum())
        return WindowBatch(rows[:, :-1], torch.from_numpy(lengths), rows[:, 1:], index, padding)


def encode_windows(
    pieces: Sequence[Text], tokenizer: Encoder, *, size: int, begin: int, end: int | None = None
) -> Encoded:
    """Joins the pieces of each document and cuts it into windows of `size` predictions. Whole documents get an `end`.

    A window starts with the token that the first prediction is made from: `begin`, or the last token before it.
    """
    flat, lengths = tokenizer.encode_flat([text for text, _, _ in pieces])
    ends = np.cumsum(lengths)
    rows: list[Any] = []
    sizes: list[int] = []
    for first, last in documents(pieces):
        ids = flat[ends[first] - lengths[first] : ends[last]]
        last_token = [end] if pieces[last][2] and end is not None else []
        whole = np.concatenate([[begin], ids, last_token]).astype(flat.dtype)
        cut = [whole[at : at + size + 1] for at in range(0, len(whole) - 1, size)]
        rows += cut
        written = sum(len(text.encode("utf-8", "surrogatepass")) for text, _, _ in pieces[first : last + 1])
        sizes += shares_of(written, [len(row) - 1 for row in cut])
    stored = stored_ids(np.concatenate(rows) if rows else flat[:0], len(tokenizer))
    text = Ragged(stored, np.array([len(row) for row in rows], dtype=np.int64))
    return Encoded(Columns({"text": text, "bytes": Ragged.of([[count] for count in sizes])}))


def cut_elsewhere(rows: Ragged, random: np.random.Generator) -> Ragged:
    """Joins the windows that continue each other, and cuts each long text again: its first window is shorter.

    Every token is still predicted once. Texts of one window stay as they are.
    """
    lengths = rows.lengths
    size = int(lengths.max(initial=2)) - 1  # predictions of a full window
    firsts, lasts = rows.flat[rows.offsets[:-1]], rows.flat[rows.offsets[1:] - 1]
    continues = np.concatenate([[False], (lengths[:-1] == size + 1) & (lasts[:-1] == firsts[1:])])  # the one before it
    joined = np.delete(rows.flat, rows.offsets[:-1][continues])  # the token that two windows share
    starts = np.flatnonzero(~continues)
    spans = np.add.reduceat(lengths - continues, starts) if len(starts) else lengths  # tokens of each text
    many = spans > size + 1
    first_cut = np.where(many, random.integers(1, size + 1, len(spans)), spans - 1)  # predictions of the first window
    counts = 1 + np.where(many, -(-(spans - 1 - first_cut) // size), 0)  # windows of each text
    text = np.repeat(np.arange(len(spans)), counts)
    place = np.arange(len(text)) - np.repeat(np.cumsum(counts) - counts, counts)  # of a window in its text
    begins = np.where(place == 0, 0, first_cut[text] + (place - 1) * size)  # within the text
    ends = np.minimum(first_cut[text] + place * size, spans[text] - 1) + 1
    new = (ends - begins).astype(np.int64)
    shift = (np.cumsum(spans) - spans)[text] + begins - (np.cumsum(new) - new)
    return Ragged(joined[np.arange(int(new.sum())) + np.repeat(shift, new)], new)


def documents(pieces: Sequence[Text]) -> Iterator[tuple[int, int]]:
    """The first and the last piece of each document."""
    starts = [number for number, (_, starts, _) in enumerate(pieces) if starts or number == 0]
    for first, following in zip(starts, [*starts[1:], len(pieces)], strict=True):
        yield first, following - 1


def shares_of(total: int, weights: Sequence[int]) -> list[int]:
    """An integer split in proportion to weights; the shares add up to it."""
    upto = np.rint(total * np.cumsum(weights) / max(1, sum(weights))).astype(np.int64)
    return np.diff(upto, prepend=0).tolist()
