"""BERT written on a tape (nn/tape.py): the same arithmetic as bert.py, one call for a whole batch, without padding.

Only on a CPU, in float32, without gradients, and where nobody listens; a test holds the two together. What is computed
for a sentence does not depend on the sentences beside it. Shapes: R rows (tokens), B sentences, D width, E head width.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from glassformer.models.taped import Workspace, suits
from glassformer.nn.native import kernels
from glassformer.nn.norms import LayerNorm
from glassformer.nn.tape import Op, Panels, Stamp, looking, placed

if TYPE_CHECKING:
    from glassformer.models.bert import Bert, Block

KEPT_ROWS = 4096
LONGEST = 160  # tokens of a text; over longer ones torch's fused attention is quicker


class BertTapes:
    """What is written for a model, by each thread for itself; again when the weights have changed.

    Weights that change without being counted, as fused optimisers change them, need new ones.
    """

    def __init__(self) -> None:
        self.own = threading.local()
        self.panels = Panels()

    def __deepcopy__(self, memo: object) -> BertTapes:
        return BertTapes()

    def __reduce__(self) -> tuple[type[BertTapes], tuple[()]]:
        return BertTapes, ()

    def ready(self, model: Bert, *, length: int = 1) -> bool:
        """Whether a tape may stand in for the model, and should: for texts up to this length."""
        now, known = Stamp.of(model.tensors()), getattr(self.own, "stamp", None)
        if known is None or not now.same_as(known):
            self.own.stamp, self.own.written = now, None
            self.own.possible = all(map(suits, now.tensors)) and kernels() is not None
        silent = not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu") or model.training or model.heard)
        return silent and self.own.possible and length <= LONGEST

    def run(self, model: Bert, ids: Tensor, lengths: Tensor) -> Tensor:
        """ids (B, T) with padding at the end -> hidden states (R, D)."""
        rows = int(lengths.sum())
        if rows > KEPT_ROWS:  # too large to be kept
            return TapedBert(model, rows=rows, panels=self.panels).run(ids, lengths)
        if self.own.written is None or self.own.written.work.tape.rows < rows:
            self.own.written = TapedBert(model, rows=rows, panels=self.panels)
        written: TapedBert = self.own.written
        return written.run(ids, lengths)


class TapedBert:
    """Inputs and blocks, for up to so many rows."""

    def __init__(self, model: Bert, *, rows: int, panels: Panels) -> None:
        blocks, inputs = [cast("Block", block) for block in model.blocks], model.inputs
        width, inner = inputs.embedding.weight.size(1), blocks[0].feed_forward.up.out_features
        self.head_width = blocks[0].self_attention.head_width
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
            looking(op, keys, values, slots=size, owners=first.data_ptr(), row_mask=mask)
        self.work.tape.run(len(ids))
        del places  # until now the tape has read them
        return self.work.x[: len(ids)].clone()

    def keys_values(self, rows: int) -> tuple[Tensor, Tensor]:
        """Keys and values as if a sentence began at every row: (R, H, 1, E), and the next slot is in the next row."""
        _, keys, values = self.work.qkv[:rows].unflatten(1, (3, -1, self.head_width)).unbind(1)  # (R, H, E)
        row, head, one = keys.stride()
        shape, steps = (rows, keys.size(1), 1, self.head_width), (row, head, row, one)
        return keys.as_strided(shape, steps), values.as_strided(shape, steps)
