"""Examples as named columns of ids. A column is one flat array with many sequences: no Python object per example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Ids = NDArray[np.int32] | NDArray[np.uint32] | NDArray[np.uint16] | NDArray[np.uint8]  # bytes: pixels
Index = NDArray[np.int64]


class Ragged:
    """Many id sequences in one flat array: no Python object per sentence."""

    def __init__(self, flat: Ids, lengths: Index) -> None:
        self.flat = flat
        self.offsets: Index = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Ragged:
        """Whole numbers only: a fraction is an error."""
        lengths = np.fromiter((len(s) for s in sequences), dtype=np.int64, count=len(sequences))
        flat = np.fromiter((index(i) for s in sequences for i in s), dtype=np.int32, count=int(lengths.sum()))
        return cls(flat, lengths)

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
        """The sequences at `index` as (B, longest) int64, framed by `before` and `after`, padded with `pad`."""
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

    def at(self, index: Index) -> Ragged:
        """The sequences at `index`, in that order."""
        lengths = self.lengths_of(index)
        shift = np.repeat(self.offsets[index] - (np.cumsum(lengths) - lengths), lengths)
        return Ragged(self.flat[np.arange(len(shift)) + shift], lengths)

    def lengths_of(self, index: Index) -> Index:
        lengths: Index = self.offsets[index + 1] - self.offsets[index]
        return lengths


@dataclass(frozen=True)
class Columns:
    """The same examples in every column, such as `source` and `target`, or `text` and `label`."""

    columns: Mapping[str, Ragged]

    def __getitem__(self, name: str) -> Ragged:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def at(self, index: Index) -> Columns:
        """The examples at `index`, in that order."""
        return Columns({name: column.at(index) for name, column in self.columns.items()})

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """All examples of all parts, in their order."""
        return cls({name: Ragged.joined([part[name] for part in parts]) for name in parts[0].columns})


@dataclass(frozen=True)
class Encoded:
    """Examples as columns, how many others could not be used, and how many were truncated."""

    columns: Columns
    left_out: int = 0
    cut: int = 0


class Batch(Protocol):
    """What the engine needs of a batch. What a model reads in it is between the task and the model."""

    @property
    def index(self) -> Index:
        """Which examples of the pool these are."""

    @property
    def weight(self) -> int:
        """What the summed loss is divided by: the number of targets. `Task.loss` returns the same number."""

    @property
    def tokens(self) -> int:
        """Real tokens, without padding, for the speed that is shown."""

    def to(self, device: torch.device) -> Any: ...


class Pool(Protocol):
    """Examples in memory, with their lengths, that can be made into batches."""

    @property
    def columns(self) -> Columns: ...

    @property
    def lengths(self) -> Index:
        """(n, 1 or 2) tokens of each example on each side of a batch, marks included."""

    def __len__(self) -> int: ...

    def batch(self, index: Index, random: np.random.Generator | None = None) -> Batch:
        """The examples at `index` as one padded batch; `random` draws what is random in it, such as masks."""


@runtime_checkable
class Changing(Protocol):
    """A pool whose examples differ from epoch to epoch, such as windows of a text that begin elsewhere."""

    def of_epoch(self, random: np.random.Generator) -> Pool: ...


class Pools(Protocol):
    """A corpus of any size. An epoch goes through it pool by pool; only one pool is in memory."""

    def __len__(self) -> int: ...

    @property
    def left_out(self) -> int: ...

    def pools(self, *, seed: int, epoch: int) -> Iterator[Pool]: ...


def stored_ids(flat: NDArray[Any], vocabulary: int) -> Ids:
    """Ids in 2 bytes where the vocabulary allows it, else in 4."""
    return flat.astype(np.uint16) if vocabulary <= 1 << 16 else flat.astype(np.uint32)
