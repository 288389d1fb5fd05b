"""A decoder that stands alone, written on a tape (nn/tape.py): the same arithmetic as its modules, one call a step.

A test holds the two together. Shapes: R rows (hypotheses that go on), D width, H heads, G key/value heads, E head
width, F inner width.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from glassformer.models.decoding_state import DecodingState, Ints
from glassformer.nn.attention import SelfAttention
from glassformer.nn.cache import Store
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.norms import LayerNorm, RMSNorm
from glassformer.nn.positions import LearnedPositions, RotaryPositions
from glassformer.nn.residual import PreNorm
from glassformer.nn.tape import Best, Op, Panels, Tape, empty, grown, looking, placed, telling_all, telling_best, turned

if TYPE_CHECKING:
    from glassformer.models.decoder_only import DecoderOnly


def can_be_written(model: DecoderOnly) -> bool:
    """Experts, which each row chooses for itself, are not for tapes."""
    return all(type(block.feed_forward) is FeedForward for block in model.blocks)


class TapedDecoderOnly:
    """The next token of every hypothesis, again and again, for up to so many rows."""

    def __init__(self, model: DecoderOnly, *, rows: int, panels: Panels) -> None:
        table, first = cast(Embedding, model.inputs.embedding), model.blocks[0]
        own = cast(SelfAttention, first.attention)
        self.rows = rows
        self.positions: LearnedPositions | None = getattr(model.inputs, "positions", None)
        self.rotary: RotaryPositions | None = getattr(model, "rotary", None)
        self.tape = tape = Tape(rows, room=11 * len(model.blocks) + 3, panels=panels)
        self.x, self.normed = tape.buffer(table.weight.size(1)), tape.buffer(table.weight.size(1))  # (R, D)
        self.qkv, self.z = tape.buffer(sum(own.rows)), tape.buffer(own.rows[0])  # (R, (H+2G)*E), (R, H*E)
        self.inner = tape.buffer(cast(FeedForward, first.feed_forward).up.out_features)  # (R, F)
        self.turns: list[Op] = []
        self.appends: list[Op] = []
        self.looks: list[Op] = []
        self.owners: Ints | None = None  # whose rows were told last
        self.store: Callable[[], Store | None] = lambda: None  # where the past of the first block was told to be
        self.embedding = tape.embed(table.weight, to=self.x, scale=table.scale)
        for block in model.blocks:
            self.write(block)
        tape.norm(cast(LayerNorm | RMSNorm, model.final_norm), self.x, to=self.x)
        self.logits = tape.product(model.head, self.x, to=empty(0, model.head.weight.size(0)))

    def write(self, block: nn.Module) -> None:
        tape, own, feed = self.tape, cast(SelfAttention, block.attention), cast(FeedForward, block.feed_forward)
        queries, width = own.rows[0], own.head_width
        tape.norm(norm_of(block.attention_residual), self.x, to=self.normed)
        tape.product(own.qkv, self.normed, to=self.qkv)
        if self.rotary is not None:
            self.turns.append(tape.rotate(self.qkv[:, : queries + own.rows[1]], head_width=width))
        self.appends.append(tape.append(self.qkv[:, queries:], groups=own.kv_heads, head_width=width))
        scale = own.core.scale
        look = tape.attend(self.qkv[:, :queries], to=self.z, groups=own.kv_heads, head_width=width, scale=scale)
        self.looks.append(look)
        tape.product(own.out.linear, self.z, to=self.x, plus=self.x)
        tape.norm(norm_of(block.feed_forward_residual), self.x, to=self.normed)
        if feed.gate is None:
            tape.product(feed.up, self.normed, to=self.inner, activation=feed.activation)
        else:
            tape.product(feed.up, self.normed, to=self.inner)
            tape.product(feed.gate, self.normed, to=self.inner, activation=feed.activation, times=self.inner)
        tape.product(feed.down, self.inner, to=self.x, plus=self.x)

    def run(self, ids: Tensor, state: DecodingState) -> Tensor:
        """The last token of each row (R,) -> logits (R, V) of the next. The caches move on."""
        logits = telling_all(self.logits, ids.numel())
        self.advance(ids, state)
        return logits

    def best(self, ids: Tensor, state: DecodingState, n: int) -> Best:
        """The same, but only the n largest log-probabilities of each row, and their tokens: both (R, n)."""
        found = telling_best(self.logits, ids.numel(), n)
        self.advance(ids, state)
        return found

    def advance(self, ids: Tensor, state: DecodingState) -> None:
        if ids.dtype != torch.int64 or not ids.is_contiguous():
            ids = ids.to(torch.int64).contiguous()
        held = self.place(ids, state)  # until the tape has run
        self.look_back(state)
        self.tape.run(ids.numel())
        del held

    def place(self, ids: Tensor, state: DecodingState) -> list[Tensor]:
        """Where each row stands; rows that all stand at the same place share its vector."""
        places = state.positions[state.owners]  # (R,)
        if len(places) == 1 or (places == places[0]).all():
            places = places[:1]
        index, together, held = torch.from_numpy(places), len(places), []
        if self.positions is not None:
            held.append(self.positions.at(index))  # (R, D)
        placed(self.embedding, ids, held[0] if held else None, together=together)
        if self.rotary is not None:
            held.append(self.rotary.turns.at(index))  # (R, 2, E/2)
            for op in self.turns:
                turned(op, held[-1], together=together)
        return held

    def look_back(self, state: DecodingState) -> None:
        """What was said, with a new slot for each row. Of rows that are known only the slots are told."""
        told = state.owners is self.owners and state.caches[0].store is self.store()  # modules may have moved it
        known = told and state.lineage is None
        self.owners = state.owners
        sentences, width = state.sentences, state.width
        for append, op, cache in zip(self.appends, self.looks, state.caches, strict=True):
            first, store = cache.length, cache.store
            keys, values = cache.reserve(sentences, append.groups, width, append.head_width, like=self.x)
            if known and cache.store is store:
                append.first_slot, op.slots = first, first + width
                continue
            owners, places = state.owners.ctypes.data, state.places.ctypes.data
            grown(append, keys, values, first_slot=first, owners=owners, places=places)
            looking(op, keys, values, slots=first + width, owners=owners, row_mask=state.lineage)
        self.store = weakref.ref(cast(Store, state.caches[0].store))


def norm_of(residual: object) -> LayerNorm | RMSNorm:
    return cast(LayerNorm | RMSNorm, cast(PreNorm, residual).norm)
