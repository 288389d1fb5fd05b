"""Decoder-only models: they read a text in one pass, then continue it token by token.

The wiring of the blocks is in each model's own file. Shapes: B texts, R rows (hypotheses), k of them side by side,
T tokens, D width, V vocabulary.
"""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.models.batches import TextBatch
from glassformer.models.decoding.autoregressive import Autoregressive
from glassformer.models.decoding.state import DecodingState, Grid
from glassformer.models.fast.taped_decoder_only import TapedDecoderOnly, can_be_taped
from glassformer.nn.attention import SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.heads import LastTokenHead
from glassformer.nn.masks import additive, padding_mask
from glassformer.nn.native.tape import Panels
from glassformer.nn.taps import Tap


class WithClasses(Protocol):
    """The settings of a model that a class head needs."""

    @property
    def head(self) -> str: ...
    @property
    def classes(self) -> int: ...
    @property
    def d(self) -> int: ...
    @property
    def dropout(self) -> float: ...


def class_head(config: WithClasses) -> LastTokenHead | None:
    return LastTokenHead(config.d, config.classes, dropout=config.dropout) if config.head == "sentence" else None


class DecoderOnly(Autoregressive):
    """A model provides inputs, blocks with an `attention`, a final norm, a head, and `states`, which is its wiring."""

    inputs: nn.Module
    blocks: nn.ModuleList
    final_norm: nn.Module
    classifier: LastTokenHead | None  # reads the last token of a text
    logits: Tap
    HEADS = ("classifier.",)  # prefixes of parameters that a body has not: the vocabulary head belongs to the body
    LAYERS = ("inputs.sum", "feed_forward_residual.after")  # taps: the vectors before the first block, and after each
    window: int | None = None  # of attention: how many tokens a token sees, itself included; None: all before it

    def states(
        self,
        ids: Tensor,
        *,
        places: Tensor | None = None,
        mask: Tensor | None = None,
        causal: bool = True,
        caches: list[KVCache] | None = None,
    ) -> Tensor:
        """ids (B, T) -> normed hidden states (B, T, D). `places` (B, 1) are the tokens' positions, if not 0, 1, ..."""
        raise NotImplementedError

    # A whole text at once.

    def forward(self, batch: TextBatch) -> Tensor:
        """Logits (B, T, V) of each next token, or (B, classes) of each text.

        No token sees a later one, so padding at the end changes nothing.
        """
        if self.classifier is None:
            return self.next_tokens(batch)
        return self.logits(self.classifier(self.hidden(batch), batch.lengths))

    def next_tokens(self, batch: TextBatch) -> Tensor:
        """Logits (B, T, V) of each next token, also for a model that classifies texts."""
        return self.logits(self.head(self.hidden(batch)))

    def hidden(self, batch: TextBatch) -> Tensor:
        """The last hidden states (B, T, D), before the output layer."""
        return self.states(batch.ids)

    # One token after the other, with the past in caches.

    def start(self, batch: TextBatch) -> DecodingState:
        """Reads each text except its last token, in one pass; the first step reads the last tokens."""
        self.tapes.ready(self)
        before = batch.lengths - 1  # (B,)
        longest = int(before.max()) if len(before) else 0
        caches = [KVCache() for _ in self.blocks]
        if longest and batch.ids.numel():
            self.states(batch.ids[:, :longest], caches=caches)
        else:
            self.reserve(caches, texts=len(batch.ids))
        padded = bool((before < longest).any())
        lineage = additive(padding_mask(before, longest), self.head.weight.dtype)[:, 0, 0] if padded else None
        return DecodingState(
            memories=[],
            memory_mask=None,
            caches=caches,
            owners=np.arange(len(batch.ids)),
            lineage=lineage,
            offsets=before.cpu().numpy(),
            window=self.window,
        )

    def reserve(self, caches: list[KVCache], *, texts: int) -> None:
        """Gives caches without tokens the number of texts."""
        for block, cache in zip(self.blocks, caches, strict=True):
            attention = cast(SelfAttention, block.attention)
            cache.reserve(texts, attention.kv_heads, 0, attention.head_width, like=self.head.weight)

    def step(
        self,
        ids: Tensor,
        state: DecodingState,
        *,
        want_attention: bool = False,  # noqa: ARG002
    ) -> tuple[Tensor, DecodingState, Tensor | None]:
        """There is no cross-attention, so `want_attention` has no effect."""
        return super().step(ids, state)

    def advance(
        self,
        ids: Tensor,
        state: DecodingState,
        *,
        want_attention: bool = False,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor | None]:
        grid = Grid.of(state)
        lineage = None if state.lineage is None else grid.spread(state.lineage).unsqueeze(1)  # (B, 1, k, slots)
        alive = np.isin(np.arange(state.sentences), state.owners)  # a finished text may be past the last position
        places = torch.as_tensor(np.where(alive, state.positions, 0), device=ids.device)[:, None]  # (B, 1)
        hidden = self.states(grid.spread(ids), places=places, mask=lineage, causal=False, caches=state.caches)
        return grid.gathered(hidden), None

    @property
    def can_be_taped(self) -> bool:
        return can_be_taped(self)

    def write_step(self, *, rows: int, panels: Panels) -> TapedDecoderOnly:
        return TapedDecoderOnly(self, rows=rows, panels=panels)
