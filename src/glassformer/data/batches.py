"""Batches: sentences of like length together, by a budget of tokens, in an order that is a function of (seed, epoch).

Shapes: B batch, S source, T target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.errors import DataError

Ids = NDArray[np.int32] | NDArray[np.uint32] | NDArray[np.uint16]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class SourceBatch:
    """Sentences to translate."""

    source: Tensor  # (B, S) padded ids
    source_lengths: Tensor  # (B,)

    def to(self, device: torch.device) -> SourceBatch:
        return SourceBatch(self.source.to(device), self.source_lengths.to(device))


@dataclass(frozen=True)
class Batch:
    """Sentence pairs for teacher forcing: the target shifted right goes in, the target itself is to come out."""

    source: Tensor  # (B, S)
    source_lengths: Tensor  # (B,)
    target_in: Tensor  # (B, T): <s> y1 y2 ...
    target_out: Tensor  # (B, T): y1 y2 ... </s>
    target_lengths: Tensor  # (B,)
    index: Index  # which pairs of the corpus these are

    @property
    def target_mask(self) -> Tensor:
        """(B, T), True where a real target token stands."""
        return torch.arange(self.target_out.size(1), device=self.target_out.device) < self.target_lengths[:, None]

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


class Ragged:
    """Many id sequences in one flat array: no Python object a sentence."""

    def __init__(self, flat: Ids, lengths: Index) -> None:
        self.flat = flat
        self.offsets: Index = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Ragged:
        lengths = np.fromiter((len(s) for s in sequences), dtype=np.int64, count=len(sequences))
        return cls(np.fromiter((i for s in sequences for i in s), dtype=np.int32, count=int(lengths.sum())), lengths)

    @classmethod
    def joined(cls, parts: Sequence[Ragged]) -> Ragged:
        """All sequences of all parts, in their order."""
        return cls(np.concatenate([part.flat for part in parts]), np.concatenate([part.lengths for part in parts]))

    @property
    def lengths(self) -> Index:
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Ids:
        return self.flat[self.offsets[i] : self.offsets[i + 1]]

    def padded(self, index: Index, *, pad: int, before: int | None = None, after: int | None = None) -> Tensor:
        """The sequences at `index` as (B, longest) int64, framed by `before` and `after`, filled up with `pad`."""
        starts, lengths = self.offsets[index], self.lengths_of(index)
        first = int(before is not None)
        rows = np.full((len(index), first + int(lengths.max()) + int(after is not None)), pad, dtype=np.int64)
        row = np.repeat(np.arange(len(index)), lengths)
        column = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows[row, first + column] = self.flat[np.repeat(starts, lengths) + column]
        if before is not None:
            rows[:, 0] = before
        if after is not None:
            rows[np.arange(len(index)), first + lengths] = after
        return torch.from_numpy(rows)

    def lengths_of(self, index: Index) -> Index:
        lengths: Index = self.offsets[index + 1] - self.offsets[index]
        return lengths


@dataclass(frozen=True)
class Marks:
    """The ids that frame the sentences of one side."""

    pad: int
    bos: int
    eos: int


@dataclass(frozen=True)
class EncodedPairs:
    """A corpus as bare ids; the marks that frame them are put on when a batch is made."""

    sources: Ragged
    targets: Ragged
    source_marks: Marks
    target_marks: Marks

    def __len__(self) -> int:
        return len(self.sources)

    @cached_property
    def lengths(self) -> Index:
        """(n, 2): source and target lengths as they stand in a batch, end marks included."""
        return np.stack([self.sources.lengths + 1, self.targets.lengths + 1], axis=1)

    def pools(self, *, seed: int, epoch: int) -> Iterator[EncodedPairs]:  # noqa: ARG002 (the same in every epoch)
        """What is in memory is one pool."""
        yield self

    def batch(self, index: Index) -> Batch:
        """The pairs at `index` as one padded batch."""
        source, target = self.source_marks, self.target_marks
        source_ids = self.sources.padded(index, pad=source.pad, after=source.eos)
        target_in = self.targets.padded(index, pad=target.pad, before=target.bos)
        target_out = self.targets.padded(index, pad=target.pad, after=target.eos)
        lengths = torch.from_numpy(self.lengths[index])
        return Batch(source_ids, lengths[:, 0], target_in, target_out, lengths[:, 1], index)


def padded(rows: Sequence[Sequence[int]], pad: int) -> Tensor:
    """(B, longest) int64, filled up with `pad` at the right."""
    result = np.full((len(rows), max(len(row) for row in rows)), pad, dtype=np.int64)
    for i, row in enumerate(rows):
        result[i, : len(row)] = row
    return torch.from_numpy(result)


def source_batch(rows: Sequence[Sequence[int]], marks: Marks) -> SourceBatch:
    """Encoded sentences as a batch for decoding, each closed with the end mark."""
    closed = [[*row, marks.eos] for row in rows]
    return SourceBatch(padded(closed, marks.pad), torch.tensor([len(row) for row in closed]))


class Pools(Protocol):
    """A corpus of any size. An epoch goes through it pool by pool; only one pool is in memory."""

    def __len__(self) -> int: ...

    def pools(self, *, seed: int, epoch: int) -> Iterator[EncodedPairs]: ...


def epoch_batches(lengths: Index, *, tokens: int, seed: int, epoch: int, pool: int = 0) -> list[Index]:
    """The batches of one pool in one epoch: a pure function of its arguments.

    Sentences are sorted by source length and, within one source length, by target length, up and down by turns, so
    that neighbours are alike on both sides; equal ones are shuffled. A batch holds as many as fit into `tokens`
    (padding included, both sides). The order of the batches is shuffled.
    """
    random = np.random.default_rng([seed, epoch, pool] if pool else [seed, epoch])
    shuffled = random.permutation(len(lengths))
    source, target = lengths[shuffled, 0], lengths[shuffled, 1]
    up_and_down = np.where(source % 2 == 0, target, -target)
    order = shuffled[np.lexsort((up_and_down, source))]
    batches = list(_cut(order, lengths, tokens))
    return [batches[i] for i in random.permutation(len(batches))]


def _cut(order: Index, lengths: Index, tokens: int) -> Iterator[Index]:
    """Cuts the sorted sentences where the padded size of the next batch would pass the budget."""
    start, longest_source, longest_target = 0, 0, 0
    for end, (source, target) in enumerate(lengths[order].tolist()):
        longest_source, longest_target = max(longest_source, source), max(longest_target, target)
        if end > start and (end - start + 1) * (longest_source + longest_target) > tokens:
            yield order[start:end]
            start, longest_source, longest_target = end, source, target
    yield order[start:]


def count_batches(pairs: Pools, *, tokens: int, seed: int) -> int:
    """The batches of the first epoch."""
    pools = enumerate(pairs.pools(seed=seed, epoch=0))
    return sum(len(epoch_batches(one.lengths, tokens=tokens, seed=seed, epoch=0, pool=number)) for number, one in pools)


def stream(
    pairs: Pools, *, tokens: int, seed: int, skip: int = 0, rank: int = 0, world: int = 1
) -> Iterator[tuple[int, Batch]]:
    """(epoch, batch) without end, the first `skip` batches left out: the state of the stream is one integer.

    Of several processes each takes every `world`-th batch of the same order, from its `rank` on; only those are made.
    """
    if not len(pairs):
        raise DataError("No sentence pair is left to train on.")
    for epoch, pool, index in islice(places(pairs, tokens=tokens, seed=seed), skip + rank, None, world):
        yield epoch, pool.batch(index)


def places(pairs: Pools, *, tokens: int, seed: int) -> Iterator[tuple[int, EncodedPairs, Index]]:
    """Where the batches stand, without end: epoch, pool, and which pairs of the pool."""
    for epoch in count():
        for number, pool in enumerate(pairs.pools(seed=seed, epoch=epoch)):
            for index in epoch_batches(pool.lengths, tokens=tokens, seed=seed, epoch=epoch, pool=number):
                yield epoch, pool, index
