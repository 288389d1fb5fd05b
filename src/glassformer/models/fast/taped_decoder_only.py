"""A decoder-only model on a tape (nn/native/tape.py): the same arithmetic as its modules, one call per step.

A test compares the two. Shapes: R rows (hypotheses), D width, H heads, G key/value heads, E head width, F inner width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from glassformer.models.decoding.state import DecodingState
from glassformer.models.fast.taped_step import StepOnTape
from glassformer.nn.attention import SelfAttention
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.native.tape import Op, Panels, Tape, empty
from glassformer.nn.norms import LayerNorm, RMSNorm
from glassformer.nn.positions import LearnedPositions, RotaryPositions
from glassformer.nn.residual import PreNorm

if TYPE_CHECKING:
    from glassformer.models.decoding.decoder_only import DecoderOnly


def can_be_taped(model: DecoderOnly) -> bool:
    """Tapes have no mixture of experts: each row would need its own operations."""
    return all(type(block.feed_forward) is FeedForward for block in model.blocks)


class TapedDecoderOnly(StepOnTape):
    """A step of the whole model."""

    def __init__(self, model: DecoderOnly, *, rows: int, panels: Panels) -> None:
        super().__init__(rows)
        table, first = cast(Embedding, model.inputs.embedding), model.blocks[0]
        own = cast(SelfAttention, first.attention)
        self.positions: LearnedPositions | None = getattr(model.inputs, "positions", None)
        self.rotary: RotaryPositions | None = getattr(model, "rotary", None)
        self.tape = tape = Tape(rows, capacity=11 * len(model.blocks) + 3, panels=panels)
        self.x, self.normed = tape.buffer(table.weight.size(1)), tape.buffer(table.weight.size(1))  # (R, D)
        self.qkv, self.z = tape.buffer(sum(own.rows)), tape.buffer(own.rows[0])  # (R, (H+2G)*E), (R, H*E)
        self.inner = tape.buffer(cast(FeedForward, first.feed_forward).up.out_features)  # (R, F)
        self.turns: list[Op] = []  # of rotary positions
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
        attend = tape.attend(self.qkv[:, :queries], to=self.z, groups=own.kv_heads, head_width=width, scale=scale)
        self.self_attentions.append(attend)
        tape.product(own.out.linear, self.z, to=self.x, plus=self.x)
        tape.norm(norm_of(block.feed_forward_residual), self.x, to=self.normed)
        if feed.gate is None:
            tape.product(feed.up, self.normed, to=self.inner, activation=feed.activation)
        else:
            tape.product(feed.up, self.normed, to=self.inner)
            tape.product(feed.gate, self.normed, to=self.inner, activation=feed.activation, times=self.inner)
        tape.product(feed.down, self.inner, to=self.x, plus=self.x)

    def advance(self, ids: Tensor, state: DecodingState) -> None:
        held = self.set_positions(ids, state)  # kept until the tape has run
        same_rows, self.owners = state.owners is self.owners, state.owners
        self.set_self_attention(state, same_rows=same_rows)
        self.tape.run(ids.numel())
        del held

    def set_positions(self, ids: Tensor, state: DecodingState) -> list[Tensor]:
        """Sets the tokens and their positions; rows that are all at the same position share its vector."""
        places = state.positions[state.owners]  # (R,)
        if len(places) == 1 or (places == places[0]).all():
            places = places[:1]
        index, together, held = torch.from_numpy(places), len(places), []
        if self.positions is not None:
            held.append(self.positions.at(index))  # (R, D)
        self.embedding.set_ids(ids, held[0] if held else None, together=together)
        if self.rotary is not None:
            held.append(self.rotary.turns.at(index))  # (R, 2, E/2)
            for op in self.turns:
                op.set_turns(held[-1], together=together)
        return held


def norm_of(residual: object) -> LayerNorm | RMSNorm:
    return cast(LayerNorm | RMSNorm, cast(PreNorm, residual).norm)
