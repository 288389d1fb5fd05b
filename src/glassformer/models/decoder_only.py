"""What every decoder that stands alone does in the same way: it reads texts in one pass, then goes on token by token.

How the blocks are wired stands in each model's own file. Shapes: B texts, R rows (hypotheses), k of them side by side,
T tokens, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol, Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.models.decoding_state import DecodingState, Grid
from glassformer.models.taped_decoder import TapedDecoderOnly, can_be_written
from glassformer.models.tapes import Tapes
from glassformer.nn.attention import SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.masks import additive, padding_mask
from glassformer.nn.products import forget, product_by_rows
from glassformer.nn.tape import Best
from glassformer.nn.taps import Tap, WithTaps


class TextBatch(Protocol):
    """Texts: ids (B, T), padded at the end, and how long each text is (B,)."""

    @property
    def ids(self) -> Tensor: ...
    @property
    def lengths(self) -> Tensor: ...


class DecoderOnly(WithTaps):
    """Speaks the decoding protocol: start, step, select. A model gives it inputs, blocks with an `attention`, a last
    norm, a head, and `states`, which is its wiring."""

    inputs: nn.Module
    blocks: nn.ModuleList
    final_norm: nn.Module
    head: VocabularyHead
    logits: Tap
    window: int | None = None  # of attention: how many tokens a token sees, itself included; None: all before it

    def __init__(self) -> None:
        super().__init__()
        self.tapes = Tapes()

    def states(
        self,
        ids: Tensor,
        *,
        places: Tensor | None = None,
        mask: Tensor | None = None,
        causal: bool = True,
        caches: list[KVCache] | None = None,
    ) -> Tensor:
        """ids (B, T) -> normed hidden states (B, T, D). `places` (B, 1) is where tokens stand, if not at 0, 1, ..."""
        raise NotImplementedError

    # A whole text at once.

    def forward(self, batch: TextBatch) -> Tensor:
        """Logits (B, T, V) of each next token. No token sees a later one, so padding at the end changes nothing."""
        return self.logits(self.head(self.hidden(batch)))

    def hidden(self, batch: TextBatch) -> Tensor:
        """The last hidden states (B, T, D), before the output layer."""
        return self.states(batch.ids)

    # Decoding: one token after the other, the past kept in caches.

    def start(self, batch: TextBatch) -> DecodingState:
        """Reads all of each text but its last token, in one pass; the first step goes on from the last tokens."""
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
        """Caches without tokens know how many texts there are."""
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
        """The last token of each row (R,) -> logits (R, V) of the next, the state that follows. `state` moves on."""
        taped = self.taped(state)
        self.make_room(ids, state, share=1 / 2 if taped else 1 / 8)
        logits = self.tape(ids).run(ids, state) if taped else product_by_rows(self.head, self.advance(ids, state))
        state.length += 1
        return logits, state, None

    def step_to_best(self, ids: Tensor, state: DecodingState, n: int) -> tuple[Best, DecodingState] | None:
        """The same where only the n most likely tokens of each row are wanted: their log-probabilities and ids, both
        (R, n). None where tapes cannot do it."""
        if not self.taped(state):
            return None
        self.make_room(ids, state, share=1 / 2)
        found = self.tape(ids).best(ids, state, n)
        state.length += 1
        return found, state

    def taped(self, state: DecodingState) -> bool:
        """Whether the compiled step may stand in for the modules."""
        return state.plain and self.tapes.usable(self) and can_be_written(self)

    def tape(self, ids: Tensor) -> TapedDecoderOnly:
        return self.tapes.kept("decoder", len(ids), partial(TapedDecoderOnly, self))

    def make_room(self, ids: Tensor, state: DecodingState, *, share: float) -> None:
        """For one more token of each row. Texts that have ended leave when they are such a share of all: tapes pass
        over them, whole batches of products do not."""
        if ids.numel() != state.rows:
            raise ValueError(f"got {ids.numel()} tokens for {state.rows} hypotheses")
        state.leave(share=share)
        state.grow()

    def advance(self, ids: Tensor, state: DecodingState) -> Tensor:
        """The next token of each row, ids (R,) -> hidden states (R, D). The caches move on."""
        grid = Grid.of(state)
        lineage = None if state.lineage is None else grid.spread(state.lineage).unsqueeze(1)  # (B, 1, k, slots)
        going = np.isin(np.arange(state.sentences), state.owners)  # one that has ended may stand beyond all positions
        places = torch.as_tensor(np.where(going, state.positions, 0), device=ids.device)[:, None]  # (B, 1)
        hidden = self.states(grid.spread(ids), places=places, mask=lineage, causal=False, caches=state.caches)
        return grid.gathered(hidden)

    def select(self, state: DecodingState, rows: Tensor) -> DecodingState:
        """The state whose row i is the old row rows[i]."""
        return state.select(rows)

    # What decoding has prepared of the weights is forgotten when they are about to change.

    def train(self, mode: bool = True) -> Self:
        if mode:
            self.forget()
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        self.forget()
        return super()._apply(fn, recurse)

    def forget(self) -> None:
        forget(self)
        self.tapes = Tapes()


def draw_weights(model: nn.Module, *, std: float, into_the_stream: float) -> None:
    """First weights: normal with `std`, biases 0; what a sub-layer adds to the stream is scaled down, so that a deep
    stack of them does not add up."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            adds = name.endswith(("out.linear.weight", "down.weight"))
            nn.init.normal_(parameter, std=std * into_the_stream if adds else std)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
