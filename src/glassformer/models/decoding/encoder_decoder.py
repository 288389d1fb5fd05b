"""Encoder-decoders: they read the source once, then write the target all at once or token by token.

The wiring of the blocks is in each model's own file. Shapes: B sentences (or images), R rows (hypotheses), k of them
side by side, S source positions, T target tokens, N blocks, D width, H heads, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.models.batches import TargetBatch
from glassformer.models.decoding.autoregressive import Autoregressive
from glassformer.models.decoding.state import DecodingState, Grid, Memories
from glassformer.nn.cache import KVCache
from glassformer.nn.taps import Tap, WithTaps, listen


class CrossDecoder(WithTaps):
    """A decoder whose blocks all read a memory, the encoder's output."""

    def read(self, memory: Tensor) -> Memories:
        """The cross-attention keys and values of every block for a memory (B, S, D)."""
        raise NotImplementedError

    def forward(self, ids: Tensor, memories: Memories, *, memory_mask: Tensor | None) -> Tensor:
        """ids (B, T) -> hidden states (B, T, D), ready for the output layer."""
        raise NotImplementedError

    def advance(self, ids: Tensor, state: DecodingState, lineage: Tensor | None) -> Tensor:
        """The next token of each hypothesis: ids (B, k) -> hidden states (B, k, D). Appends to the caches.

        lineage (B, 1, k, slots): 0 for the slots of a hypothesis' own past, one for each of its tokens, in order.
        """
        raise NotImplementedError


class EncoderDecoder(Autoregressive):
    """A model provides `encode`, a decoder and a head."""

    decoder: CrossDecoder
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

    # One token after the other, with the past in caches.

    def start(self, batch: Any) -> DecodingState:
        """Reads the source; the state has one row for each sentence."""
        return first_state(*self.read(batch))

    def advance(
        self, ids: Tensor, state: DecodingState, *, want_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        grid = Grid.of(state)
        lineage = None if state.lineage is None else grid.spread(state.lineage).unsqueeze(1)  # (B, 1, k, slots)
        if not want_attention:
            return grid.gathered(self.decoder_step(grid.spread(ids), state, lineage)), None
        with listen(self.decoder, lambda name: name.endswith("cross_attention.core.pattern")) as heard:
            hidden = self.decoder_step(grid.spread(ids), state, lineage)
        return grid.gathered(hidden), grid.gathered(patterns_of(heard))  # (R, D), (R, N, H, S)

    def decoder_step(self, ids: Tensor, state: DecodingState, lineage: Tensor | None) -> Tensor:
        """`CrossDecoder.advance`, or a faster way to the same numbers."""
        return self.decoder.advance(ids, state, lineage)


def first_state(memories: Memories, mask: Tensor | None) -> DecodingState:
    owners = np.arange(memories[0][0].size(0))
    return DecodingState(memories, mask, [KVCache() for _ in memories], owners=owners)


def patterns_of(heard: dict[str, list[Tensor]]) -> Tensor:
    """The attention pattern of each block, in the order in which they ran: (B, k, N, H, S)."""
    return torch.stack([values[0].transpose(1, 2) for values in heard.values()], dim=2)
