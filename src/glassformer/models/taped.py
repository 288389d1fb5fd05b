"""Encoder and decoder written on tapes (nn/tape.py): the same arithmetic as transformer.py, one call for a whole step.

A test holds the two together; when it is done is told in tapes.py.
Shapes: B sentences, R rows (hypotheses that go on), S source tokens, D width, G key/value heads, E head width.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor

from glassformer.models.decoding_state import DecodingState, Ints
from glassformer.nn.attention import CrossAttention, SelfAttention
from glassformer.nn.cache import Store
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.norms import LayerNorm
from glassformer.nn.tape import (
    Best,
    Op,
    Panels,
    Tape,
    empty,
    grown,
    looking,
    placed,
    telling_all,
    telling_best,
)

if TYPE_CHECKING:
    from glassformer.models.transformer import AddNorm, Decoder, DecoderBlock, Encoder, EncoderBlock, Transformer

Memories = list[tuple[Tensor, Tensor]]


class Workspace:
    """The rows that every block works on."""

    def __init__(self, rows: int, *, width: int, inner: int, room: int, panels: Panels) -> None:
        self.tape = Tape(rows, room=room, panels=panels)
        self.x, self.normed, self.z = (self.tape.buffer(width) for _ in range(3))  # (R, D)
        self.qkv = self.tape.buffer(3 * width)
        self.inner = self.tape.buffer(inner)  # (R, F)

    def add_norm(self, residual: AddNorm, sublayer: Callable[[Tensor], None]) -> None:
        """x = LN(x + f(x)), or x + f(LN(x)); the sublayer adds to x what it finds."""
        if residual.pre_norm:
            self.tape.norm(residual.norm, self.x, to=self.normed)
            sublayer(self.normed)
        else:
            sublayer(self.x)
            self.tape.norm(residual.norm, self.x, to=self.x)

    def feed_forward(self, layer: FeedForward, given: Tensor) -> None:
        self.tape.product(layer.up, given, to=self.inner, activation=layer.activation)
        self.tape.product(layer.down, self.inner, to=self.x, plus=self.x)

    def attend(self, attention: SelfAttention | CrossAttention) -> Op:
        """The queries are the first part of qkv."""
        width, head_width = self.x.size(1), attention.head_width
        q = self.qkv[:, :width]
        op = self.tape.attend(
            q, to=self.z, groups=width // head_width, head_width=head_width, scale=attention.core.scale
        )
        self.tape.product(attention.out.linear, self.z, to=self.x, plus=self.x)
        return op


class TapedEncoder:
    """Reads sentences, and gives what the decoder's blocks look at."""

    def __init__(self, encoder: Encoder, decoder: Decoder, *, rows: int, panels: Panels) -> None:
        blocks = [cast("EncoderBlock", block) for block in encoder.blocks]
        first, table = blocks[0], encoder.inputs.embedding
        room = 10 * len(blocks) + len(decoder.blocks) + 2
        self.encoder, self.rows = encoder, rows
        self.head_width = first.self_attention.head_width
        self.work = work = Workspace(
            rows, width=table.weight.size(1), inner=first.feed_forward.up.out_features, room=room, panels=panels
        )
        self.embedding = work.tape.embed(table.weight, to=work.x, scale=table.scale)
        self.looks: list[Op] = []
        for block in blocks:
            self.write(block)
        if isinstance(encoder.final_norm, LayerNorm):
            work.tape.norm(encoder.final_norm, work.x, to=work.x)
        readers = [cast("DecoderBlock", block).cross_attention.key_value for block in decoder.blocks]
        self.reads = [work.tape.product(one, work.x, to=empty(0, one.out_features)) for one in readers]

    def write(self, block: EncoderBlock) -> None:
        work = self.work

        def attend(given: Tensor) -> None:
            work.tape.product(block.self_attention.qkv, given, to=work.qkv)
            self.looks.append(work.attend(block.self_attention))

        work.add_norm(block.self_attention_residual, attend)
        work.add_norm(block.feed_forward_residual, lambda given: work.feed_forward(block.feed_forward, given))

    def run(self, ids: Tensor, mask: Tensor | None) -> Memories:
        """ids (B, S) and their additive mask (B, 1, 1, S) -> keys and values (B, G, S, E) of every decoder block."""
        (sentences, length), ids = ids.shape, ids.to(torch.int64).contiguous()
        positions = self.encoder.inputs.positions
        places = None if positions is None else positions(length)
        placed(self.embedding, ids, places, together=length)
        rows, numbers = ids.numel(), np.repeat(np.arange(sentences), length)
        owners = numbers.ctypes.data
        _, keys, values = self.in_heads(self.work.qkv[:rows], sentences, 3)
        for op in self.looks:
            seen = None if mask is None else mask[:, 0, 0]
            looking(op, keys, values, slots=length, owners=owners, mask=seen, together=True)
        memories = empty(len(self.reads), rows, self.reads[0].outputs)  # (N, B*S, 2 * G * E)
        for op, memory in zip(self.reads, memories, strict=True):
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


class TapedDecoder:
    """The next token of every hypothesis, again and again."""

    def __init__(self, model: Transformer, *, rows: int, panels: Panels) -> None:
        decoder, table = model.decoder, model.decoder.inputs.embedding
        blocks = [cast("DecoderBlock", block) for block in decoder.blocks]
        self.positions, self.rows = decoder.inputs.positions, rows
        self.memory: Callable[[], Tensor | None] = lambda: None  # whose sentences were looked at last
        self.owners: Ints | None = None
        self.store: Callable[[], Store | None] = lambda: None  # where the past of the first block was told to be
        inner = blocks[0].feed_forward.up.out_features
        self.work = work = Workspace(
            rows, width=table.weight.size(1), inner=inner, room=15 * len(blocks) + 3, panels=panels
        )
        self.embedding = work.tape.embed(table.weight, to=work.x, scale=table.scale)
        self.appends: list[Op] = []
        self.looks_back: list[Op] = []
        self.looks_over: list[Op] = []
        for block in blocks:
            self.write(block)
        if isinstance(decoder.final_norm, LayerNorm):
            work.tape.norm(decoder.final_norm, work.x, to=work.x)
        self.logits = work.tape.product(model.head, work.x, to=empty(0, model.head.weight.size(0)))

    def write(self, block: DecoderBlock) -> None:
        work, width = self.work, self.work.x.size(1)
        own, cross = block.self_attention, block.cross_attention

        def look_back(given: Tensor) -> None:
            work.tape.product(own.qkv, given, to=work.qkv)
            groups = width // own.head_width
            self.appends.append(work.tape.append(work.qkv[:, width:], groups=groups, head_width=own.head_width))
            self.looks_back.append(work.attend(own))

        def look_over(given: Tensor) -> None:
            work.tape.product(cross.query, given, to=work.qkv[:, :width])
            self.looks_over.append(work.attend(cross))

        work.add_norm(block.self_attention_residual, look_back)
        work.add_norm(block.cross_attention_residual, look_over)
        work.add_norm(block.feed_forward_residual, lambda given: work.feed_forward(block.feed_forward, given))

    def run(self, ids: Tensor, state: DecodingState) -> Tensor:
        """The next token of each hypothesis, ids (R,) -> logits (R, V). The caches move on."""
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
        place = None if self.positions is None else self.positions.forward(1, start=state.length)
        placed(self.embedding, ids, place, together=1)
        known = state.memories[0][0] is self.memory() and state.owners is self.owners
        if not known:
            self.memory, self.owners = weakref.ref(state.memories[0][0]), state.owners
            self.look_over(state)
        self.look_back(state, known=known and state.lineage is None)
        self.work.tape.run(ids.numel())

    def look_over(self, state: DecodingState) -> None:
        """The source, whose sentences stay the same for many steps."""
        mask = None if state.memory_mask is None else state.memory_mask[:, 0, 0]  # (B, S)
        owners = state.owners.ctypes.data
        for op, (keys, values) in zip(self.looks_over, state.memories, strict=True):
            looking(op, keys, values, slots=keys.size(2), owners=owners, mask=mask)

    def look_back(self, state: DecodingState, *, known: bool) -> None:
        """What was said, with a new slot for each row. Of rows that are known only the slots are told."""
        sentences, width = state.sentences, 1 if state.lineage is None else state.width
        known = known and state.caches[0].store is self.store()  # the modules, or another thread, may have moved it
        for append, op, cache in zip(self.appends, self.looks_back, state.caches, strict=True):
            first, store = cache.length, cache.store
            keys, values = cache.reserve(sentences, append.groups, width, append.head_width, like=self.work.x)
            if known and cache.store is store:
                append.first_slot, op.slots = first, first + width
                continue
            owners, places = state.owners.ctypes.data, state.places.ctypes.data
            grown(append, keys, values, first_slot=first, owners=owners, places=places)
            looking(op, keys, values, slots=first + width, owners=owners, row_mask=state.lineage)
        self.store = weakref.ref(cast(Store, state.caches[0].store))
