"""Encoder and decoder of transformer.py on tapes (nn/native/tape.py): the same arithmetic, one call for a whole step.

A test compares the two; tapes.py decides when tapes are used.
Shapes: B sentences, R rows (hypotheses), S source tokens, D width, G key/value heads, E head width.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
from torch import Tensor, nn

from glassformer.models.decoding.state import DecodingState, Memories
from glassformer.models.fast.taped_step import StepOnTape, whole
from glassformer.nn.attention import CrossAttention, SelfAttention
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.native.tape import Op, Panels, Tape, empty
from glassformer.nn.norms import LayerNorm
from glassformer.nn.residual import PreNorm

if TYPE_CHECKING:
    from glassformer.models.fast.encoder_decoder import FastEncoderDecoder
    from glassformer.models.transformer import AddNorm, Decoder, DecoderBlock, Encoder, EncoderBlock


class Workspace:
    """A tape and the buffers that every block works on."""

    def __init__(self, rows: int, *, width: int, inner: int, capacity: int, panels: Panels) -> None:
        self.tape = Tape(rows, capacity=capacity, panels=panels)
        self.x, self.normed, self.z = (self.tape.buffer(width) for _ in range(3))  # (R, D)
        self.qkv = self.tape.buffer(3 * width)
        self.inner = self.tape.buffer(inner)  # (R, F)

    def first_norm(self, norm: nn.Module) -> None:
        """x = LN(x), where the embeddings have a norm."""
        if isinstance(norm, LayerNorm):
            self.tape.norm(norm, self.x, to=self.x)

    def add_norm(self, residual: AddNorm, sublayer: Callable[[Tensor], None]) -> None:
        """x = LN(x + f(x)), or x + f(LN(x)); the sublayer adds its output to x."""
        if isinstance(residual, PreNorm):
            self.tape.norm(residual.norm, self.x, to=self.normed)
            sublayer(self.normed)
        else:
            sublayer(self.x)
            self.tape.norm(residual.norm, self.x, to=self.x)

    def feed_forward(self, layer: FeedForward, given: Tensor) -> None:
        self.tape.product(layer.up, given, to=self.inner, activation=layer.activation)
        self.tape.product(layer.down, self.inner, to=self.x, plus=self.x)

    def attend(self, attention: SelfAttention | CrossAttention) -> Op:
        """Attention whose queries are the first part of qkv."""
        width, head_width = self.x.size(1), attention.head_width
        q = self.qkv[:, :width]
        op = self.tape.attend(
            q, to=self.z, groups=width // head_width, head_width=head_width, scale=attention.core.scale
        )
        self.tape.product(attention.out.linear, self.z, to=self.x, plus=self.x)
        return op


class TapedEncoder:
    """Reads sentences and gives the keys and values for the decoder's cross-attention."""

    def __init__(self, encoder: Encoder, decoder: Decoder, *, rows: int, panels: Panels) -> None:
        blocks = [cast("EncoderBlock", block) for block in encoder.blocks]
        first, table = blocks[0], encoder.inputs.embedding
        capacity = 10 * len(blocks) + len(decoder.blocks) + 3
        self.encoder, self.rows = encoder, rows
        self.head_width = first.self_attention.head_width
        self.work = work = Workspace(
            rows, width=table.weight.size(1), inner=first.feed_forward.up.out_features, capacity=capacity, panels=panels
        )
        self.embedding = work.tape.embed(table.weight, to=work.x, scale=table.scale)
        work.first_norm(encoder.inputs.norm)
        self.attentions: list[Op] = []
        for block in blocks:
            self.write(block)
        if isinstance(encoder.final_norm, LayerNorm):
            work.tape.norm(encoder.final_norm, work.x, to=work.x)
        readers = [cast("DecoderBlock", block).cross_attention.key_value for block in decoder.blocks]
        self.key_values = [work.tape.product(one, work.x, to=empty(0, one.out_features)) for one in readers]

    def write(self, block: EncoderBlock) -> None:
        work = self.work

        def attend(given: Tensor) -> None:
            work.tape.product(block.self_attention.qkv, given, to=work.qkv)
            self.attentions.append(work.attend(block.self_attention))

        work.add_norm(block.self_attention_residual, attend)
        work.add_norm(block.feed_forward_residual, lambda given: work.feed_forward(block.feed_forward, given))

    def run(self, ids: Tensor, mask: Tensor | None) -> Memories:
        """ids (B, S) and their additive mask (B, 1, 1, S) -> keys and values (B, G, S, E) of every decoder block."""
        (sentences, length), ids = ids.shape, whole(ids)
        positions = self.encoder.inputs.positions
        places = None if positions is None else positions(length)
        self.embedding.set_ids(ids, places, together=length)
        rows, numbers = ids.numel(), np.repeat(np.arange(sentences), length)
        owners = numbers.ctypes.data
        _, keys, values = self.in_heads(self.work.qkv[:rows], sentences, 3)
        for op in self.attentions:
            seen = None if mask is None else mask[:, 0, 0]
            op.set_keys_values(keys, values, slots=length, owners=owners, mask=seen, together=True)
        memories = empty(len(self.key_values), rows, self.key_values[0].outputs)  # (N, B*S, 2 * G * E)
        for op, memory in zip(self.key_values, memories, strict=True):
            op.y = memory.data_ptr()
        self.work.tape.run(rows)
        parts = (self.in_heads(memory, sentences, 2) for memory in memories)
        return [(keys, values) for keys, values in parts]

    def in_heads(self, rows: Tensor, sentences: int, parts: int) -> tuple[Tensor, ...]:
        """(B*S, parts * G * E) -> parts times (B, G, S, E)."""
        return (
            rows.view(sentences, -1, parts, rows.size(1) // parts // self.head_width, self.head_width)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )


class TapedDecoder(StepOnTape):
    """A step of the decoder, and the output layer."""

    def __init__(self, model: FastEncoderDecoder, *, rows: int, panels: Panels) -> None:
        super().__init__(rows)
        decoder, table = model.decoder, model.decoder.inputs.embedding
        blocks = [cast("DecoderBlock", block) for block in decoder.blocks]
        self.positions = decoder.inputs.positions
        self.memory: Callable[[], Tensor | None] = lambda: None  # the memory that the operations know
        inner = blocks[0].feed_forward.up.out_features
        self.work = work = Workspace(
            rows, width=table.weight.size(1), inner=inner, capacity=15 * len(blocks) + 4, panels=panels
        )
        self.tape = work.tape
        self.embedding = work.tape.embed(table.weight, to=work.x, scale=table.scale)
        work.first_norm(decoder.inputs.norm)
        self.cross_attentions: list[Op] = []  # cross-attention, one for each block
        for block in blocks:
            self.write(block)
        if isinstance(decoder.final_norm, LayerNorm):
            work.tape.norm(decoder.final_norm, work.x, to=work.x)
        self.logits = work.tape.product(model.head, work.x, to=empty(0, model.head.weight.size(0)))

    def write(self, block: DecoderBlock) -> None:
        work, width = self.work, self.work.x.size(1)
        own, cross = block.self_attention, block.cross_attention

        def attend_self(given: Tensor) -> None:
            work.tape.product(own.qkv, given, to=work.qkv)
            groups = width // own.head_width
            self.appends.append(work.tape.append(work.qkv[:, width:], groups=groups, head_width=own.head_width))
            self.self_attentions.append(work.attend(own))

        def attend_source(given: Tensor) -> None:
            work.tape.product(cross.query, given, to=work.qkv[:, :width])
            self.cross_attentions.append(work.attend(cross))

        work.add_norm(block.self_attention_residual, attend_self)
        work.add_norm(block.cross_attention_residual, attend_source)
        work.add_norm(block.feed_forward_residual, lambda given: work.feed_forward(block.feed_forward, given))

    def advance(self, ids: Tensor, state: DecodingState) -> None:
        position = None if self.positions is None else self.positions.forward(1, start=state.length)
        self.embedding.set_ids(ids, position, together=1)
        same_rows = state.memories[0][0] is self.memory() and state.owners is self.owners
        if not same_rows:
            self.memory, self.owners = weakref.ref(state.memories[0][0]), state.owners
            self.set_cross_attention(state)
        self.set_self_attention(state, same_rows=same_rows)
        self.tape.run(ids.numel())

    def set_cross_attention(self, state: DecodingState) -> None:
        """Sets the source's keys and values, which stay the same for many steps."""
        mask = None if state.memory_mask is None else state.memory_mask[:, 0, 0]  # (B, S)
        owners = state.owners.ctypes.data
        for op, (keys, values) in zip(self.cross_attentions, state.memories, strict=True):
            op.set_keys_values(keys, values, slots=keys.size(2), owners=owners, mask=mask)
