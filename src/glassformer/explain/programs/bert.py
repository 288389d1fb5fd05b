"""The wiring of encoders that see the text in both directions: BERT with its relatives, and RoFormer."""

from __future__ import annotations

from typing import cast

from torch import nn

from glassformer.explain.code_lines import line_in
from glassformer.explain.program import Program
from glassformer.explain.programs.attention import View, turns_of
from glassformer.explain.programs.blocks import EncoderBlock, encoder_block
from glassformer.explain.programs.heads import head, pooler
from glassformer.explain.programs.inputs import added, capitals, positions, segments, summed, token_vectors
from glassformer.explain.programs.layers import linear, norm
from glassformer.explain.programs.word_odds import with_word_odds
from glassformer.explain.programs.writer import Value, Writer
from glassformer.models.bert import Bert
from glassformer.models.roformer import Inputs as RoFormerInputs
from glassformer.models.roformer import RoFormer
from glassformer.nn.heads import ClassHead


def write_bert(w: Writer, model: Bert) -> Program:
    text, inputs, w.part = w.sequence("text"), model.inputs, "inputs"
    parts = [token_vectors(w, inputs, text), *segments(w, inputs, text), *capitals(w, inputs, text)]
    parts.append(positions(w, inputs, text, start=inputs.start))
    x = stack(w, model.blocks, summed(w, inputs, parts, then=inputs.norm), View())
    if model.head is None:
        return w.program(outputs={"hidden": x})
    if model.config.head == "sentence":
        return class_of_text(w, model, x, text)
    logits = w.tap(head(w, model.head, x), model.logits, code=line_in(Bert.forward, "self.logits(self.head(hidden))"))
    return w.program(outputs={"logits": logits})


def class_of_text(w: Writer, model: Bert, x: Value, text: Value) -> Program:
    """The vector of the whole text, and the logits of its class."""
    if model.config.pooling == "mean" or model.pooler is None:
        code = line_in(Bert.whole, "mean_of_rows(")
        x = w.step("pooled.mean", "mean_rows", [x], axes=("one", "width"), shape=(1, x.shape[1]), code=code)
    else:
        x, code = pooler(w, model.pooler, x), line_in(Bert.pool, "self.pooled(")
    x = head(w, cast(ClassHead, model.head), w.tap(x, model.pooled, code=code))
    if model.word_odds is not None:
        x = with_word_odds(w, model.word_odds, x, text)
    return w.program(
        outputs={"logits": w.tap(x, model.logits, code=line_in(Bert.forward, "self.whole(hidden, batch)"))}
    )


def write_roformer(w: Writer, model: RoFormer) -> Program:
    text, inputs, w.part = w.sequence("text"), model.inputs, "inputs"
    parts = [token_vectors(w, inputs, text), *segments(w, inputs, text), *capitals(w, inputs, text)]
    x = norm(w, inputs.norm, added(w, inputs, parts))
    code = line_in(RoFormerInputs.forward, "self.sum(self.widen(")
    if isinstance(inputs.widen, nn.Linear):
        x = linear(w, f"{w.name(inputs.widen)}.out", x, inputs.widen.weight, inputs.widen.bias, code=code)
    x = stack(w, model.blocks, w.tap(x, inputs.sum, code=code), View(turns=turns_of(model.rotary)))
    if model.head is None:
        return w.program(outputs={"hidden": x})
    code = line_in(RoFormer.forward, "self.logits(")
    if model.pooler is not None:
        x = w.tap(pooler(w, model.pooler, x), model.pooled, code=code)
    return w.program(outputs={"logits": w.tap(head(w, model.head, x), model.logits, code=code)})


def stack(w: Writer, blocks: nn.ModuleList, x: Value, view: View) -> Value:
    for i, block in enumerate(blocks):
        x = encoder_block(w, cast(EncoderBlock, block), x, view, place=str(i))
    w.part = "output"
    return x
