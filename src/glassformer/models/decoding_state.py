"""What an encoder-decoder remembers between two steps of decoding.

Shapes: B sentences, k hypotheses of each, R = B*k rows, S source tokens, H heads, E head width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.nn.cache import KVCache

Ints = NDArray[np.int64]

WORTH_CLEARING = 512  # slots


@dataclass
class DecodingState:
    """What a decoding step continues from: B sentences, k hypotheses of each, all of the same length.

    The keys and values of a sentence's hypotheses lie side by side in its slots, and nothing is moved when hypotheses
    are dropped or go on twice: a hypothesis sees the slots of its own past and no others.
    """

    memories: list[tuple[Tensor, Tensor]]  # per block: keys and values (B, H, S, E), once per sentence
    memory_mask: Tensor | None  # (B, 1, 1, S)
    caches: list[KVCache]  # per block: self-attention's past (B, H, slots, E)
    width: int = 1  # k
    length: int = 0  # tokens so far
    lineage: Tensor | None = None  # (B, k, slots): 0 for the slots of a hypothesis, else -inf; None: all are its own
    cleared: int = 0  # slots that were left when those which nobody needed were given up

    @property
    def sentences(self) -> int:
        return self.memories[0][0].size(0)

    @property
    def rows(self) -> int:
        return self.sentences * self.width

    def grow(self) -> None:
        """Every hypothesis gets a slot for its next token."""
        if self.lineage is not None:
            own = torch.eye(self.width, dtype=self.lineage.dtype, device=self.lineage.device).log()  # 0 and -inf
            self.lineage = torch.cat([self.lineage, own.expand(self.sentences, -1, -1)], dim=2)

    def lineage_of(self, rows: Tensor) -> Tensor:
        """The slots of chosen rows, (R, slots)."""
        if self.lineage is not None:
            return self.lineage.flatten(0, 1).index_select(0, rows)
        return self.memories[0][0].new_zeros(rows.numel(), self.caches[0].length)

    def select(self, rows: Tensor) -> DecodingState:
        """The state whose row i is the old row rows[i]; sentences that lost all their rows are dropped."""
        owners = rows.cpu().numpy() // self.width  # (R',): so few numbers are quicker there
        kept = evenly_owned(owners)
        width = len(owners) // len(kept)
        alone = width == self.width == 1 and self.lineage is None
        lineage = None if alone else self.lineage_of(rows).view(len(kept), width, -1)
        if len(kept) == self.sentences and bool((kept == np.arange(len(kept))).all()):
            memories, mask, caches = self.memories, self.memory_mask, [cache.twin() for cache in self.caches]
        else:
            index = torch.as_tensor(kept, device=rows.device)
            memories = [(k.index_select(0, index), v.index_select(0, index)) for k, v in self.memories]
            mask = None if self.memory_mask is None else self.memory_mask.index_select(0, index)
            caches = [cache.select(index) for cache in self.caches]
        chosen = DecodingState(memories, mask, caches, width, self.length, lineage, self.cleared)
        if lineage is not None and lineage.size(2) > max(WORTH_CLEARING, 2 * self.cleared):
            chosen.clear()
        return chosen

    def clear(self) -> None:
        """Gives up the slots that no hypothesis needs any more."""
        assert self.lineage is not None
        needed = (self.lineage == 0).any(dim=1)  # (B, slots)
        self.cleared = int(needed.sum(dim=1).max())
        places = needed.byte().argsort(dim=1, descending=True, stable=True)[:, : self.cleared]  # (B, slots')
        self.lineage = self.lineage.gather(2, places[:, None].expand(-1, self.width, -1))
        self.caches = [cache.pick(places) for cache in self.caches]


def evenly_owned(owners: Ints) -> Ints:
    """The sentences to keep, so that row i belongs to sentence i // (rows per sentence). Where the rows are not
    evenly many or not together, a sentence is kept once per row."""
    starts = np.flatnonzero(owners[1:] != owners[:-1]) + 1
    counts = np.diff(starts, prepend=0, append=len(owners))
    return owners[np.append(0, starts)] if (counts == counts[0]).all() else owners
