"""Batches: sentences of similar length, up to a number of tokens, in an order that is a function of (seed, epoch).

Shapes: B batch, S source, T target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.columns import Columns, Encoded, Index, Pool, Pools, Ragged, stored_ids
from glassformer.errors import DataError

BATCH_DRAWS = 7  # keeps the random numbers of batches apart from others of the same seed


@dataclass(frozen=True)
class SourceBatch:
    """Sentences to translate."""

    source: Tensor  # (B, S) padded ids
    source_lengths: Tensor  # (B,)

    def to(self, device: torch.device) -> SourceBatch:
        return SourceBatch(self.source.to(device), self.source_lengths.to(device))


@dataclass(frozen=True)
class Batch:
    """Sentence pairs for teacher forcing: the input is the target shifted right, the output is the target."""

    source: Tensor  # (B, S)
    source_lengths: Tensor  # (B,)
    target_in: Tensor  # (B, T): <s> y1 y2 ...
    target_out: Tensor  # (B, T): y1 y2 ... </s>
    target_lengths: Tensor  # (B,)
    index: Index  # which pairs of the corpus these are

    @property
    def target_mask(self) -> Tensor:
        """(B, T), True for real target tokens, False for padding."""
        return torch.arange(self.target_out.size(1), device=self.target_out.device) < self.target_lengths[:, None]

    @property
    def weight(self) -> int:
        """Target tokens: what the summed loss is divided by."""
        return int(self.target_lengths.sum())

    @property
    def tokens(self) -> int:
        """Real tokens of both sides."""
        return int(self.source_lengths.sum() + self.target_lengths.sum())

    def to(self, device: torch.device) -> Batch:
        return Batch(
            self.source.to(device),
            self.source_lengths.to(device),
            self.target_in.to(device),
            self.target_out.to(device),
            self.target_lengths.to(device),
            self.index,
        )


@dataclass(frozen=True)
class Marks:
    """The ids that frame the sentences of one side."""

    pad: int
    bos: int
    eos: int


@dataclass(frozen=True)
class EncodedPairs:
    """A corpus as bare ids; start and end marks are added when a batch is made."""

    sources: Ragged
    targets: Ragged
    source_marks: Marks
    target_marks: Marks

    def __len__(self) -> int:
        return len(self.sources)

    @cached_property
    def lengths(self) -> Index:
        """(n, 2): source and target lengths in a batch, end marks included."""
        return np.stack([self.sources.lengths + 1, self.targets.lengths + 1], axis=1)

    left_out = 0

    @classmethod
    def of(cls, columns: Columns, source_marks: Marks, target_marks: Marks) -> EncodedPairs:
        return cls(columns["source"], columns["target"], source_marks, target_marks)

    @property
    def columns(self) -> Columns:
        return Columns({"source": self.sources, "target": self.targets})

    def pools(self, *, seed: int, epoch: int) -> Iterator[EncodedPairs]:  # noqa: ARG002 (the same in every epoch)
        """All pairs are in memory: one pool."""
        yield self

    def batch(self, index: Index, random: np.random.Generator | None = None) -> Batch:  # noqa: ARG002
        """The pairs at `index` as one padded batch."""
        source, target = self.source_marks, self.target_marks
        source_ids = self.sources.padded(index, pad=source.pad, after=source.eos)
        target_in = self.targets.padded(index, pad=target.pad, before=target.bos)
        target_out = self.targets.padded(index, pad=target.pad, after=target.eos)
        lengths = torch.from_numpy(self.lengths[index])
        return Batch(source_ids, lengths[:, 0], target_in, target_out, lengths[:, 1], index)


class Encoder(Protocol):
    """Texts to ids, such as a tokenizer."""

    def __len__(self) -> int: ...
    def encode_flat(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...


def encode_pairs(pairs: Sequence[tuple[str, str]], source: Encoder, target: Encoder, *, most: int) -> Encoded:
    """Pairs as columns. A pair is left out if one side has no tokens or more than `most`."""
    sides = [encoder.encode_flat([pair[i] for pair in pairs]) for i, encoder in enumerate((source, target))]
    lengths = np.stack([lengths for _, lengths in sides], axis=1)
    keep = (lengths.min(axis=1) > 0) & (lengths.max(axis=1) <= most)
    columns = {
        name: Ragged(stored_ids(flat[np.repeat(keep, side)], len(encoder)), side[keep])
        for name, (flat, side), encoder in zip(("source", "target"), sides, (source, target), strict=True)
    }
    return Encoded(Columns(columns), int((~keep).sum()))


def padded(rows: Sequence[Sequence[int]], pad: int) -> Tensor:
    """(B, longest) int64, padded with `pad` on the right."""
    result = np.full((len(rows), max(len(row) for row in rows)), pad, dtype=np.int64)
    for i, row in enumerate(rows):
        result[i, : len(row)] = row
    return torch.from_numpy(result)


def source_batch(rows: Sequence[Sequence[int]], marks: Marks) -> SourceBatch:
    """Encoded sentences as a batch for decoding, each closed with the end mark."""
    closed = [[*row, marks.eos] for row in rows]
    return SourceBatch(padded(closed, marks.pad), torch.tensor([len(row) for row in closed]))


def epoch_batches(lengths: Index, *, tokens: int, seed: int, epoch: int, pool: int = 0) -> list[Index]:
    """The batches of one pool in one epoch: a pure function of its arguments.

    Examples are sorted by the length of their first side, then by the length of their second side, alternately
    ascending and descending, so that neighbours are similar on both sides. Examples of equal lengths are shuffled. A
    batch holds as many as fit into `tokens` (padding included, all sides). The order of the batches is shuffled.
    """
    random = np.random.default_rng([seed, epoch, pool] if pool else [seed, epoch])
    shuffled = random.permutation(len(lengths))
    sides = lengths if lengths.shape[1] == 2 else np.pad(lengths, ((0, 0), (0, 1)))  # a single side: nothing beside it
    first, second = sides[shuffled, 0], sides[shuffled, 1]
    up_and_down = np.where(first % 2 == 0, second, -second)
    order = shuffled[np.lexsort((up_and_down, first))]
    batches = list(_cut(order, sides, tokens))
    return [batches[i] for i in random.permutation(len(batches))]


def _cut(order: Index, lengths: Index, tokens: int) -> Iterator[Index]:
    """Cuts the sorted examples into batches whose padded size is at most `tokens`."""
    start, longest_first, longest_second = 0, 0, 0
    for end, (first, second) in enumerate(lengths[order].tolist()):
        longest_first, longest_second = max(longest_first, first), max(longest_second, second)
        if end > start and (end - start + 1) * (longest_first + longest_second) > tokens:
            yield order[start:end]
            start, longest_first, longest_second = end, first, second
    yield order[start:]


def count_batches(pairs: Pools, *, tokens: int, seed: int) -> int:
    """The batches of the first epoch."""
    pools = enumerate(pairs.pools(seed=seed, epoch=0))
    return sum(len(epoch_batches(one.lengths, tokens=tokens, seed=seed, epoch=0, pool=number)) for number, one in pools)


class Taken(NamedTuple):
    """A batch of the stream."""

    epoch: int
    batch: Any
    lengths: Index  # (n, sides) tokens of its examples


def stream(
    pairs: Pools, *, tokens: int, seed: int, skip: int = 0, rank: int = 0, world: int = 1
) -> Iterator[tuple[int, Any]]:
    """Endless (epoch, batch) of `take_batches`."""
    for one in take_batches(pairs, tokens=tokens, seed=seed, skip=skip, rank=rank, world=world):
        yield one.epoch, one.batch


def take_batches(
    pairs: Pools, *, tokens: int, seed: int, skip: int = 0, rank: int = 0, world: int = 1
) -> Iterator[Taken]:
    """Endless batches, without the first `skip` ones: the state of the stream is one integer.

    With several processes, each takes every `world`-th batch of the same order, starting at its `rank`, and makes only
    these. The random numbers of a batch depend only on the seed and the batch's number.
    """
    if not len(pairs):
        raise DataError("There are no examples left to train on.")
    numbered = enumerate(places(pairs, tokens=tokens, seed=seed))
    for number, (epoch, pool, index) in islice(numbered, skip + rank, None, world):
        yield Taken(epoch, pool.batch(index, random_of(seed, number)), pool.lengths[index])


def random_of(seed: int, number: int) -> np.random.Generator:
    """The random numbers of one batch."""
    return np.random.default_rng([seed, number, BATCH_DRAWS])


def places(pairs: Pools, *, tokens: int, seed: int) -> Iterator[tuple[int, Pool, Index]]:
    """Endless positions of batches: epoch, pool, and which examples of the pool."""
    for epoch in count():
        for number, pool in enumerate(pairs.pools(seed=seed, epoch=epoch)):
            for index in epoch_batches(pool.lengths, tokens=tokens, seed=seed, epoch=epoch, pool=number):
                yield epoch, pool, index
