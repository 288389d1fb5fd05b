"""What a model remembers between two steps of decoding: an encoder-decoder, or a decoder alone.

Shapes: B sentences, R rows (hypotheses that go on), k places for them in each sentence, S source tokens, H heads,
E head width.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.nn.cache import KVCache

Ints = NDArray[np.int64]

WORTH_CLEARING = 512  # slots
HIDDEN = float("-inf")


@dataclass
class DecodingState:
    """What a decoding step continues from: rows, all of the same length, each a hypothesis of a sentence.

    A decoder alone has no memories. Its sentences go on from texts that may differ in length: those stand in the first
    slots of the caches, and slots that a shorter one leaves empty are seen by nobody.

    The keys and values of a sentence's hypotheses lie side by side in its slots, and nothing is moved when hypotheses
    are dropped or go on twice: a row sees the slots of its own past and no others. Sentences whose rows are all gone
    stay until it is worth giving them up.
    """

    memories: list[tuple[Tensor, Tensor]]  # per block: keys and values (B, H, S, E), once per sentence; may be empty
    memory_mask: Tensor | None  # (B, 1, 1, S)
    caches: list[KVCache]  # per block: self-attention's past (B, H, slots, E)
    owners: Ints  # (R,) the sentence of each row
    length: int = 0  # tokens so far
    lineage: Tensor | None = None  # (R, slots): 0 for the slots of a row, else -inf; None: a sentence has one row
    cleared: int = 0  # slots that were left when those which nobody needed were given up
    offsets: Ints | None = None  # (B,) tokens that stand before the first of `length`; None: none
    window: int | None = None  # a row sees so many of its latest tokens; None: all

    @property
    def held(self) -> Tensor:
        """Keys of some block, (B, H, any, E)."""
        if self.memories:
            return self.memories[0][0]
        store = self.caches[0].store
        assert store is not None, "caches without memories begin with a store, be it empty"
        return store.keys

    @property
    def sentences(self) -> int:
        return self.held.size(0)

    @property
    def positions(self) -> Ints:
        """(B,) where the next token of each sentence stands."""
        return self.length + (np.zeros(self.sentences, dtype=np.int64) if self.offsets is None else self.offsets)

    @property
    def rows(self) -> int:
        return len(self.owners)

    @property
    def plain(self) -> bool:
        """Whether all is in float32, on the CPU."""
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
        """k: the most rows that a sentence has."""
        if self.lineage is None:
            return min(self.rows, 1)
        return int(self.places.max(initial=-1)) + 1

    def grow(self) -> None:
        """Every row gets a slot for its next token, at its place among the new ones of its sentence."""
        if self.outgrown and self.lineage is None:
            self.lineage = self.held.new_zeros(self.rows, self.caches[0].length)
        if self.lineage is not None:
            own = np.full((self.rows, self.width), HIDDEN, dtype=np.float32)
            own[np.arange(len(own)), self.places] = 0
            self.lineage = torch.cat([self.lineage, torch.as_tensor(own).to(self.lineage)], dim=1)
            if self.window is not None and self.outgrown:
                self.lineage = latest(self.lineage, self.window)

    @property
    def outgrown(self) -> bool:
        """Whether some sentence is longer than the window."""
        return self.window is not None and bool(self.positions.max(initial=0) >= self.window)

    def select(self, rows: Tensor) -> DecodingState:
        """The state whose row i is the old row rows[i]."""
        owners = self.owners[rows.cpu().numpy()]  # so few numbers are quicker there
        caches = [cache.twin() for cache in self.caches]
        chosen = DecodingState(
            memories=self.memories,
            memory_mask=self.memory_mask,
            caches=caches,
            owners=owners,
            length=self.length,
            lineage=self.lineage_of(rows, owners),
            cleared=self.cleared,
            offsets=self.offsets,
            window=self.window,
        )
        if chosen.lineage is not None and chosen.lineage.size(1) > max(WORTH_CLEARING, 2 * self.cleared):
            chosen.clear()
        return chosen

    def lineage_of(self, rows: Tensor, owners: Ints) -> Tensor | None:
        """The slots of chosen rows, (R, slots)."""
        if self.lineage is not None:
            return self.lineage.index_select(0, rows)
        if (owners[1:] > owners[:-1]).all():  # still one row a sentence
            return None
        return self.held.new_zeros(len(owners), self.caches[0].length)

    def clear(self) -> None:
        """Gives up the slots that no row needs any more."""
        assert self.lineage is not None
        owners = torch.as_tensor(self.owners, device=self.lineage.device)
        counts = torch.zeros(self.sentences, self.lineage.size(1), dtype=torch.float32, device=self.lineage.device)
        needed = counts.index_add_(0, owners, (self.lineage == 0).float()) > 0  # (B, slots)
        self.cleared = int(needed.sum(dim=1).max())
        places = needed.byte().argsort(dim=1, descending=True, stable=True)[:, : self.cleared]  # (B, slots')
        self.lineage = self.lineage.gather(1, places.index_select(0, owners))
        self.caches = [cache.pick(places) for cache in self.caches]

    def leave(self, *, share: float) -> None:
        """Gives up the sentences that have no rows any more, if they are such a share of all."""
        left = self.rows if self.lineage is None else int((self.places == 0).sum())
        if left > (1 - share) * self.sentences:
            return
        kept = np.unique(self.owners)
        index = torch.as_tensor(kept, device=self.held.device)
        self.memories = [(k.index_select(0, index), v.index_select(0, index)) for k, v in self.memories]
        self.memory_mask = None if self.memory_mask is None else self.memory_mask.index_select(0, index)
        self.caches = [cache.select(index) for cache in self.caches]
        self.offsets = None if self.offsets is None else self.offsets[kept]
        self.owners = np.searchsorted(kept, self.owners)


def is_plain(tensor: Tensor) -> bool:
    return tensor.is_cpu and tensor.dtype is torch.float32


def latest(lineage: Tensor, window: int) -> Tensor:
    """Of the slots of each row (R, slots) only the last ones: they stand in the order of its tokens."""
    further = (lineage == 0).flip(1).cumsum(dim=1).flip(1)  # how many of the row's stand from here on
    return lineage.masked_fill(further > window, HIDDEN)


@dataclass(frozen=True)
class Grid:
    """The rows side by side, (B, k), as products over whole batches want them; a place without a row counts nothing."""

    sentences: int
    width: int
    index: Tensor  # (R,) the place of each row

    @classmethod
    def of(cls, state: DecodingState) -> Grid:
        index = state.owners * state.width + state.places
        return cls(state.sentences, state.width, torch.as_tensor(index, device=state.held.device))

    def spread(self, values: Tensor) -> Tensor:
        """(R, ...) -> (B, k, ...)"""
        room = values.new_zeros(self.sentences * self.width, *values.shape[1:])
        return room.index_copy_(0, self.index, values).unflatten(0, (self.sentences, self.width))

    def gathered(self, values: Tensor) -> Tensor:
        """(B, k, ...) -> (R, ...)"""
        return values.flatten(0, 1).index_select(0, self.index)
