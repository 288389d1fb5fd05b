"""What encoder-decoders do in the same way: they read once, then write all of a target at once or token by token.

How the blocks are wired stands in each model's own file. Shapes: B sentences (or images), R rows (hypotheses), k of
them side by side, S what was read, T target tokens, N blocks, D width, H heads, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.models.decoding_state import DecodingState, Grid
from glassformer.nn.cache import KVCache
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.products import forget, product_by_rows
from glassformer.nn.taps import Tap, WithTaps, listen

Memories = list[tuple[Tensor, Tensor]]  # keys and values (B, H, S, E) of what was read, of each block


class TargetBatch(Protocol):
    """What teacher forcing needs besides what is read: the target shifted right, (B, T)."""

    @property
    def target_in(self) -> Tensor: ...


class CrossDecoder(nn.Module):
    """A decoder that reads a memory in each of its blocks."""

    def read(self, memory: Tensor) -> Memories:
        """The cross-attention keys and values of every block for a memory (B, S, D)."""
        raise NotImplementedError

    def forward(self, ids: Tensor, memories: Memories, *, memory_mask: Tensor | None) -> Tensor:
        """ids (B, T) -> hidden states (B, T, D), ready for the output layer."""
        raise NotImplementedError

    def advance(self, ids: Tensor, state: DecodingState, lineage: Tensor | None) -> Tensor:
        """The next token of each hypothesis, ids (B, k) -> hidden states (B, k, D). The caches move on.

        lineage (B, 1, k, slots): 0 for the slots of a hypothesis' own past, one for each of its tokens, in order.
        """
        raise NotImplementedError


class EncoderDecoder(WithTaps):
    """Speaks the decoding protocol: start, step, select. A model gives it `encode`, a decoder and a head."""

    decoder: CrossDecoder
    head: VocabularyHead
    memory: Tap
    logits: Tap

    def encode(self, batch: Any) -> tuple[Tensor, Tensor | None]:
        """The memory (B, S, D) that the decoder reads, and its additive padding mask (B, 1, 1, S)."""
        raise NotImplementedError

    def read(self, batch: Any) -> tuple[Memories, Tensor | None]:
        """Runs the encoder, once, and reads its output for every decoder block."""
        memory, mask = self.encode(batch)
        return self.decoder.read(self.memory(memory)), mask

    # Every position of the target at once (teacher forcing).

    def forward(self, batch: TargetBatch) -> Tensor:
        """Logits (B, T, V) of each next target token."""
        return self.logits(self.head(self.hidden(batch)))

    def hidden(self, batch: TargetBatch) -> Tensor:
        """The decoder's last hidden states (B, T, D), before the output layer."""
        memories, mask = self.read(batch)
        hidden: Tensor = self.decoder(batch.target_in, memories, memory_mask=mask)
        return hidden

    # Decoding: one token after the other, the past kept in caches.

    def start(self, batch: Any) -> DecodingState:
        memories, mask = self.read(batch)
        owners = np.arange(memories[0][0].size(0))
        return DecodingState(memories, mask, [KVCache() for _ in memories], owners=owners)

    def step(
        self, ids: Tensor, state: DecodingState, *, want_attention: bool = False
    ) -> tuple[Tensor, DecodingState, Tensor | None]:
        """The last token of each row (R,) -> logits (R, V) of the next, the state that follows, and if wanted the
        cross-attention (R, N, H, S). `state` itself moves on."""
        if ids.numel() != state.rows:
            raise ValueError(f"got {ids.numel()} tokens for {state.rows} hypotheses")
        state.leave(share=1 / 8)
        state.grow()
        grid = Grid.of(state)
        lineage = None if state.lineage is None else grid.spread(state.lineage).unsqueeze(1)  # (B, 1, k, slots)
        wanted = lambda name: want_attention and name.endswith("cross_attention.core.pattern")  # noqa: E731
        with listen(self.decoder, wanted) as heard:
            hidden = grid.gathered(self.decoder.advance(grid.spread(ids), state, lineage))  # (R, D)
        state.length += 1
        attention = grid.gathered(patterns_of(heard)) if want_attention else None
        return product_by_rows(self.head, hidden), state, attention

    def select(self, state: DecodingState, rows: Tensor) -> DecodingState:
        """The state whose row i is the old row rows[i]."""
        return state.select(rows)

    # What decoding has prepared of the weights is forgotten when they are about to change.

    def train(self, mode: bool = True) -> Self:
        if mode:
            forget(self)
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        forget(self)
        return super()._apply(fn, recurse)


def patterns_of(heard: dict[str, list[Tensor]]) -> Tensor:
    """What each block has read, in their order: (B, k, N, H, S)."""
    return torch.stack([values[0].transpose(1, 2) for values in heard.values()], dim=2)
