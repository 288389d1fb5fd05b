"""BERT written on a tape (nn/tape.py): the same arithmetic as bert.py, one call for a whole batch, without padding.

A test holds the two together; when it is done is told in tapes.py. What is computed for a sentence does not depend on
the sentences beside it. Shapes: R rows (tokens), B sentences, D width, E head width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from glassformer.models.taped import Workspace
from glassformer.nn.norms import LayerNorm
from glassformer.nn.tape import Op, Panels, looking, placed

if TYPE_CHECKING:
    from glassformer.models.bert import Bert, Block

LONGEST = 512  # tokens of a text; over longer ones torch's fused attention is quicker


class TapedBert:
    """Inputs and blocks, for up to so many rows."""

    def __init__(self, model: Bert, *, rows: int, panels: Panels) -> None:
        blocks, inputs = [cast("Block", block) for block in model.blocks], model.inputs
        width, inner = inputs.embedding.weight.size(1), blocks[0].feed_forward.up.out_features
        self.rows, self.head_width = rows, blocks[0].self_attention.head_width
        with torch.no_grad():
            self.places = inputs.positions.weight[inputs.start :] + inputs.segments.weight[0]  # (max_length, D)
        self.work = work = Workspace(rows, width=width, inner=inner, room=7 * len(blocks) + 2, panels=panels)
        self.embedding = work.tape.embed(inputs.embedding.weight, to=work.x, scale=1.0)
        work.tape.norm(inputs.norm, work.x, to=work.x)
        self.looks = [self.write(block) for block in blocks]

    def write(self, block: Block) -> Op:
        work = self.work
        work.tape.product(block.self_attention.qkv, work.x, to=work.qkv)
        looks = work.attend(block.self_attention)
        work.tape.norm(cast(LayerNorm, block.self_attention_residual.norm), work.x, to=work.x)
        work.feed_forward(block.feed_forward, work.x)
        work.tape.norm(cast(LayerNorm, block.feed_forward_residual.norm), work.x, to=work.x)
        return looks

    def run(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """ids (B, T) and lengths (B,) -> (R, D). A sentence is where its first row is: no two need be equally long."""
        size = ids.size(1)
        real = torch.arange(size) < lengths[:, None]  # (B, T)
        ids, place = ids[real].to(torch.int64), torch.arange(size).expand_as(real)[real]  # (R,) both
        placed(self.embedding, ids, places := self.places[place], together=len(ids))
        first = torch.arange(len(ids)) - place  # (R,)
        unseen = torch.zeros_like(real, dtype=torch.float32).masked_fill_(~real, float("-inf"))
        mask = None if bool(real.all()) else unseen.repeat_interleave(lengths, dim=0)  # (R, T)
        keys, values = self.keys_values(len(ids))
        for op in self.looks:
            looking(op, keys, values, slots=size, owners=first.data_ptr(), mask=mask, together=True)
        self.work.tape.run(len(ids))
        del places  # until now the tape has read them
        return self.work.x[: len(ids)].clone()

    def keys_values(self, rows: int) -> tuple[Tensor, Tensor]:
        """Keys and values as if a sentence began at every row: (R, H, 1, E), and the next slot is in the next row."""
        _, keys, values = self.work.qkv[:rows].unflatten(1, (3, -1, self.head_width)).unbind(1)  # (R, H, E)
        row, head, one = keys.stride()
        shape, steps = (rows, keys.size(1), 1, self.head_width), (row, head, row, one)
        return keys.as_strided(shape, steps), values.as_strided(shape, steps)
