"""Span corruption (Raffel et al. 2019, section 3.1.4): spans of a text are removed, and the model writes them.

    text      Thank you for inviting me to your party last week
    input     Thank you <extra_id_0> me to your party <extra_id_1> week </s>
    output    <extra_id_0> for inviting <extra_id_1> last </s>

How many tokens and spans are removed depends only on the length of the text; which ones is drawn from the generator of
the batch. So the lengths of inputs and outputs are known before they are drawn, and windows of equal length make
batches without padding. Shapes: B windows, L tokens of a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from glassformer.data.batches import Batch, Encoder, Marks, padded
from glassformer.data.columns import Columns, Encoded, Index, Ragged, stored_ids
from glassformer.data.windows import Text, documents

SENTINEL = "<extra_id_{}>"
SENTINELS = 100  # as in the paper
SHORTEST = 3  # tokens of a window: something stays, something is removed


@dataclass(frozen=True)
class Corruption:
    """How much is removed: the share of the tokens, and the mean length of a span."""

    share: float
    span: float
    most_spans: int  # there are this many sentinels

    def sizes(self, length: int) -> tuple[int, int]:
        """How many tokens of a window are removed, and in how many spans."""
        removed = min(max(round(self.share * length), 1), length - 1)
        spans = max(round(removed / self.span), 1)
        return removed, min(spans, removed, length - removed, self.most_spans)

    def lengths(self, length: int) -> tuple[int, int]:
        """Tokens of input and output, with sentinels and the end mark."""
        removed, spans = self.sizes(length)
        return length - removed + spans + 1, removed + spans + 1

    def removed(self, length: int, random: np.random.Generator) -> NDArray[np.bool_]:
        """(L,), True where a token is removed. Kept and removed spans alternate; the first is kept."""
        removed, spans = self.sizes(length)
        kept_lengths = parts_of(length - removed, spans, random)
        removed_lengths = parts_of(removed, spans, random)
        lengths = np.stack([kept_lengths, removed_lengths], axis=1).ravel()
        return np.repeat(np.arange(2 * spans) % 2 == 1, lengths)


def parts_of(total: int, parts: int, random: np.random.Generator) -> Index:
    """`total` as the sum of `parts` positive numbers; all such sums are equally likely."""
    cuts = np.sort(random.choice(total - 1, size=parts - 1, replace=False)) + 1
    return np.diff(np.concatenate([[0], cuts, [total]]))


def corrupted(ids: Sequence[int], removed: NDArray[np.bool_], sentinels: Sequence[int]) -> tuple[list[int], list[int]]:
    """Input and output: each removed span is replaced by its sentinel, and follows that sentinel in the output."""
    source: list[int] = []
    target: list[int] = []
    span = -1
    for place, (token, gone) in enumerate(zip(ids, removed.tolist(), strict=True)):
        if gone and (place == 0 or not removed[place - 1]):
            span += 1
            source.append(sentinels[span])
            target.append(sentinels[span])
        (target if gone else source).append(token)
    return source, target


@dataclass(frozen=True)
class CorruptedWindows:
    """Windows in memory. Their spans are drawn when a batch is made."""

    columns: Columns
    marks: Marks
    sentinels: tuple[int, ...]
    corruption: Corruption

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def lengths(self) -> Index:
        own = self.columns["text"].lengths
        known = {length: self.corruption.lengths(length) for length in np.unique(own).tolist()}
        return np.array([known[length] for length in own.tolist()], dtype=np.int64).reshape(-1, 2)

    def batch(self, index: Index, random: np.random.Generator | None = None) -> Batch:
        random = np.random.default_rng(0) if random is None else random
        rows = [self.columns["text"][int(i)].astype(np.int64) for i in index]
        made = [corrupted(row.tolist(), self.corruption.removed(len(row), random), self.sentinels) for row in rows]
        end, pad = self.marks.eos, self.marks.pad
        sources, targets = [[*source, end] for source, _ in made], [[*target, end] for _, target in made]
        shifted = [[self.marks.bos, *target[:-1]] for target in targets]
        lengths = torch.from_numpy(self.lengths[index])
        return Batch(
            padded(sources, pad), lengths[:, 0], padded(shifted, pad), padded(targets, pad), lengths[:, 1], index
        )


def encode_packed(pieces: Sequence[Text], tokenizer: Encoder, *, size: int, end: int) -> Encoded:
    """All documents one after the other, each closed by `end`, cut into windows of `size` tokens.

    Only the last window of a shard may be shorter. What is left of it below three tokens is dropped.
    """
    flat, lengths = tokenizer.encode_flat([text for text, _, _ in pieces])
    ends = np.cumsum(lengths)
    parts: list[Any] = []
    for first, last in documents(pieces):
        parts += [flat[ends[first] - lengths[first] : ends[last]], np.array([end], dtype=flat.dtype)]
    whole = np.concatenate(parts) if parts else flat[:0]
    full, rest = divmod(len(whole), size)
    sizes = [size] * full + ([rest] if rest >= SHORTEST else [])
    stored = stored_ids(whole[: sum(sizes)], len(tokenizer))
    return Encoded(Columns({"text": Ragged(stored, np.array(sizes, dtype=np.int64))}))
