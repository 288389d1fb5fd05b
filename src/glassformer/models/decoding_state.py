"""What an encoder-decoder remembers between two steps of decoding.

Shapes: B sentences, k hypotheses of each, R = B*k rows, S source tokens, H heads, E head width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glassformer.nn.cache import KVCache

if TYPE_CHECKING:
    from glassformer.models.taped import TapedDecoder

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
    taped: TapedDecoder | None = None  # what works on it, where that is written on a tape
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

    def lineage_of(self, owner: Tensor, hypothesis: Tensor) -> Tensor:
        """The slots of chosen hypotheses of chosen sentences, (R, slots)."""
        if self.lineage is not None:
            return self.lineage[owner, hypothesis]
        return self.memories[0][0].new_zeros(owner.numel(), self.caches[0].length)

    def select(self, rows: Tensor) -> DecodingState:
        """The state whose row i is the old row rows[i]; sentences that lost all their rows are dropped."""
        owner, hypothesis = rows // self.width, rows % self.width  # (R',)
        kept = evenly_owned(owner)
        width = rows.numel() // kept.numel()
        alone = width == self.width == 1 and self.lineage is None
        lineage = None if alone else self.lineage_of(owner, hypothesis).view(kept.numel(), width, -1)
        if kept.numel() == self.sentences and bool((kept == torch.arange(len(kept), device=kept.device)).all()):
            memories, mask, caches = self.memories, self.memory_mask, [cache.twin() for cache in self.caches]
        else:
            memories = [(k.index_select(0, kept), v.index_select(0, kept)) for k, v in self.memories]
            mask = None if self.memory_mask is None else self.memory_mask.index_select(0, kept)
            caches = [cache.select(kept) for cache in self.caches]
        chosen = DecodingState(memories, mask, caches, width, self.length, lineage, self.taped, self.cleared)
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


def evenly_owned(owner: Tensor) -> Tensor:
    """The sentences to keep, so that row i belongs to sentence i // (rows per sentence). Where the rows are not
    evenly many or not together, a sentence is kept once per row."""
    sentences, counts = torch.unique_consecutive(owner, return_counts=True)
    return sentences if bool((counts == counts[0]).all()) else owner
