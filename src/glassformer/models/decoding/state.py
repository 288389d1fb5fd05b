"""The state between two steps of decoding, of encoder-decoders and decoder-only models.

Shapes: B sentences, R rows (live hypotheses), k places for them in each sentence, S source tokens, H heads, E head
width.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.nn.cache import KVCache
from glassformer.nn.native.one_thread import rows_of

Ints = NDArray[np.int64]
Memories = list[tuple[Tensor, Tensor]]  # for each block: keys and values (B, H, S, E) of what was read

COMPACT_ABOVE = 512  # slots
HIDDEN = float("-inf")


@dataclass
class DecodingState:
    """What a decoding step continues from: rows, all of the same length, each a hypothesis of a sentence.

    A decoder-only model has no memories. Its sentences continue texts that may differ in length: these are in the first
    slots of the caches, and no row sees the slots that a shorter text leaves empty.

    The keys and values of a sentence's hypotheses are side by side in its slots, and nothing is moved when hypotheses
    are dropped or repeated: a row sees the slots of its own past and no others. Sentences without rows stay until there
    are enough of them to drop (`drop_finished`).
    """

    memories: Memories  # once per sentence; empty in decoder-only models
    memory_mask: Tensor | None  # (B, 1, 1, S)
    caches: list[KVCache]  # per block: self-attention's past (B, H, slots, E)
    owners: Ints  # (R,) the sentence of each row
    length: int = 0  # tokens so far
    lineage: Tensor | None = None  # (R, slots): 0 for the slots of a row, else -inf; None: a sentence has one row
    compacted: int = 0  # slots left after the last `compact`
    offsets: Ints | None = None  # (B,) tokens before the first of `length`; None: none
    window: int | None = None  # a row sees its latest `window` tokens; None: all

    @property
    def held(self) -> Tensor:
        """The keys of one block, (B, H, any, E)."""
        if self.memories:
            return self.memories[0][0]
        store = self.caches[0].store
        assert store is not None, "caches without memories have a store from the start, even if it is empty"
        return store.keys

    @property
    def sentences(self) -> int:
        return self.held.size(0)

    @property
    def positions(self) -> Ints:
        """(B,) the position of each sentence's next token."""
        return self.length + (np.zeros(self.sentences, dtype=np.int64) if self.offsets is None else self.offsets)

    @property
    def rows(self) -> int:
        return len(self.owners)

    @property
    def plain(self) -> bool:
        """Whether everything is in float32 on the CPU."""
        held, store = self.held, self.caches[0].store
        return is_plain(held) and (store is None or store.keys is held or is_plain(store.keys))

    @cached_property
    def places(self) -> Ints:
        """(R,) the number of each row among those of its sentence."""
        if self.lineage is None:
            return np.zeros_like(self.owners)
        order = self.owners.argsort(kind="stable")
        ordered, numbers = self.owners[order], np.arange(len(order))
        first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        places = np.empty_like(self.owners)
        places[order] = numbers - np.maximum.accumulate(np.where(first, numbers, 0))
        return places

    @property
    def width(self) -> int:
        """k: the largest number of rows of a sentence."""
        if self.lineage is None:
            return min(self.rows, 1)
        return int(self.places.max(initial=-1)) + 1

    def add_slots(self) -> None:
        """Adds a slot for every row's next token, at its place among the new slots of its sentence."""
        if self.exceeds_window and self.lineage is None:
            self.lineage = self.held.new_zeros(self.rows, self.caches[0].length)
        if self.lineage is not None:
            own = np.full((self.rows, self.width), HIDDEN, dtype=np.float32)
            own[np.arange(len(own)), self.places] = 0
            self.lineage = torch.cat([self.lineage, torch.as_tensor(own).to(self.lineage)], dim=1)
            if self.window is not None and self.exceeds_window:
                self.lineage = latest(self.lineage, self.window)

    @property
    def exceeds_window(self) -> bool:
        """Whether some sentence is longer than the window."""
        return self.window is not None and bool(self.positions.max(initial=0) >= self.window)

    def select(self, rows: Tensor) -> DecodingState:
        """The state whose row i is the old row rows[i]."""
        owners = self.owners[rows.cpu().numpy()]  # faster in NumPy for few numbers
        caches = [cache.share() for cache in self.caches]
        chosen = DecodingState(
            memories=self.memories,
            memory_mask=self.memory_mask,
            caches=caches,
            owners=owners,
            length=self.length,
            lineage=self.lineage_of(rows, owners),
            compacted=self.compacted,
            offsets=self.offsets,
            window=self.window,
        )
        if chosen.lineage is not None and chosen.lineage.size(1) > max(COMPACT_ABOVE, 2 * self.compacted):
            chosen.compact()
        return chosen

    def lineage_of(self, rows: Tensor, owners: Ints) -> Tensor | None:
        """The slots of the selected rows, (R, slots)."""
        if self.lineage is not None:
            return rows_of(self.lineage, rows)
        if (owners[1:] > owners[:-1]).all():  # still one row per sentence
            return None
        return self.held.new_zeros(len(owners), self.caches[0].length)

    def compact(self) -> None:
        """Drops the slots that no row needs any more."""
        assert self.lineage is not None
        owners = torch.as_tensor(self.owners, device=self.lineage.device)
        counts = torch.zeros(self.sentences, self.lineage.size(1), dtype=torch.float32, device=self.lineage.device)
        needed = counts.index_add_(0, owners, (self.lineage == 0).float()) > 0  # (B, slots)
        self.compacted = int(needed.sum(dim=1).max())
        places = needed.byte().argsort(dim=1, descending=True, stable=True)[:, : self.compacted]  # (B, slots')
        self.lineage = self.lineage.gather(1, places.index_select(0, owners))
        self.caches = [cache.pick(places) for cache in self.caches]

    def drop_finished(self, *, share: float) -> None:
        """Drops the sentences that have no rows any more, if they are at least this share of all."""
        left = self.rows if self.lineage is None else int((self.places == 0).sum())
        if left > (1 - share) * self.sentences:
            return
        kept = np.unique(self.owners)
        index = torch.as_tensor(kept, device=self.held.device)
        self.memories = [(rows_of(k, index), rows_of(v, index)) for k, v in self.memories]
        self.memory_mask = None if self.memory_mask is None else self.memory_mask.index_select(0, index)
        self.caches = [cache.select(index) for cache in self.caches]
        self.offsets = None if self.offsets is None else self.offsets[kept]
        self.owners = np.searchsorted(kept, self.owners)


def is_plain(tensor: Tensor) -> bool:
    return tensor.is_cpu and tensor.dtype is torch.float32


def latest(lineage: Tensor, window: int) -> Tensor:
    """Hides all but the last `window` slots of each row (R, slots); slots are in the order of the row's tokens."""
    remaining = (lineage == 0).flip(1).cumsum(dim=1).flip(1)  # how many of the row's slots are here or later
    return lineage.masked_fill(remaining > window, HIDDEN)


@dataclass(frozen=True)
class Grid:
    """The rows side by side, (B, k), for products over whole batches; places without a row are zeros."""

    sentences: int
    width: int
    index: Tensor  # (R,) the place of each row

    @classmethod
    def of(cls, state: DecodingState) -> Grid:
        index = state.owners * state.width + state.places
        return cls(state.sentences, state.width, torch.as_tensor(index, device=state.held.device))

    def spread(self, values: Tensor) -> Tensor:
        """(R, ...) -> (B, k, ...)"""
        grid = values.new_zeros(self.sentences * self.width, *values.shape[1:])
        return grid.index_copy_(0, self.index, values).unflatten(0, (self.sentences, self.width))

    def gathered(self, values: Tensor) -> Tensor:
        """(B, k, ...) -> (R, ...)"""
        return values.flatten(0, 1).index_select(0, self.index)
