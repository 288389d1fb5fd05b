"""BERT on a tape (nn/native/tape.py): the same arithmetic as bert.py, one call for a whole batch, without padding.

A test compares the two; tapes.py decides when tapes are used. The numbers of a sentence do not depend on the sentences
beside it. Shapes: R rows (tokens), B sentences, D width, E head width.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from glassformer.models.batches import SegmentedBatch, casing_of
from glassformer.models.fast.taped_transformer import Workspace
from glassformer.nn.native.tape import Op, Panels
from glassformer.nn.pooling import real_rows

if TYPE_CHECKING:
    from glassformer.models.bert import Bert, Block

LONGEST = 512  # tokens of a text; for longer ones torch's fused attention is faster


def fast_rows(model: Bert, batch: SegmentedBatch) -> Tensor:
    """The last hidden states of all tokens except padding (R, D), by a tape if one can run."""
    on_tape = batch.ids.is_cpu and batch.segments is None and batch.ids.size(1) <= LONGEST
    if on_tape and model.tapes.ready(model):
        written = model.tapes.kept("encoder", int(batch.lengths.sum()), partial(TapedBert, model))
        return written.run(batch.ids, batch.lengths, casing_of(batch))
    return real_rows(model.hidden(batch), batch.lengths)


class TapedBert:
    """Inputs and blocks, for up to `rows` tokens."""

    def __init__(self, model: Bert, *, rows: int, panels: Panels) -> None:
        blocks, inputs = [cast("Block", block) for block in model.blocks], model.inputs
        width, inner = inputs.embedding.weight.size(1), blocks[0].feed_forward.up.out_features
        self.rows, self.head_width = rows, blocks[0].self_attention.head_width
        with torch.no_grad():
            segment = 0.0 if inputs.segments is None else inputs.segments.weight[0]
            self.places = inputs.positions.weight[inputs.start :] + segment  # (max_length, D)
            casing = inputs.casing
            self.casing = None if casing is None else casing.weight * casing.scale  # (patterns, D)
        self.work = work = Workspace(rows, width=width, inner=inner, capacity=7 * len(blocks) + 2, panels=panels)
        self.embedding = work.tape.embed(inputs.embedding.weight, to=work.x, scale=1.0)
        work.tape.norm(inputs.norm, work.x, to=work.x)
        self.attentions = [self.write(block) for block in blocks]

    def write(self, block: Block) -> Op:
        work = self.work
        work.tape.product(block.self_attention.qkv, work.x, to=work.qkv)
        attend = work.attend(block.self_attention)
        work.tape.norm(block.self_attention_residual.norm, work.x, to=work.x)
        work.feed_forward(block.feed_forward, work.x)
        work.tape.norm(block.feed_forward_residual.norm, work.x, to=work.x)
        return attend

    def run(self, ids: Tensor, lengths: Tensor, casing: Tensor | None = None) -> Tensor:
        """ids and casing (B, T), lengths (B,) -> (R, D). A sentence is known by its first row: lengths may differ."""
        size = ids.size(1)
        real = torch.arange(size) < lengths[:, None]  # (B, T)
        ids, place = ids[real].to(torch.int64), torch.arange(size).expand_as(real)[real]  # (R,) both
        places = self.places[place]
        if self.casing is not None and casing is not None:
            places = places + self.casing[casing[real]]
        self.embedding.set_ids(ids, places, together=len(ids))
        first = torch.arange(len(ids)) - place  # (R,)
        unseen = torch.zeros_like(real, dtype=torch.float32).masked_fill_(~real, float("-inf"))
        mask = None if bool(real.all()) else unseen.repeat_interleave(lengths, dim=0)  # (R, T)
        keys, values = self.keys_values(len(ids))
        for op in self.attentions:
            op.set_keys_values(keys, values, slots=size, owners=first.data_ptr(), mask=mask, together=True)
        self.work.tape.run(len(ids))
        del places  # the tape reads them until here
        return self.work.x[: len(ids)].clone()

    def keys_values(self, rows: int) -> tuple[Tensor, Tensor]:
        """Keys and values as if a sentence began at every row: (R, H, 1, E); the next slot is in the next row."""
        _, keys, values = self.work.qkv[:rows].unflatten(1, (3, -1, self.head_width)).unbind(1)  # (R, H, E)
        row, head, one = keys.stride()
        shape, steps = (rows, keys.size(1), 1, self.head_width), (row, head, row, one)
        return keys.as_strided(shape, steps), values.as_strided(shape, steps)
