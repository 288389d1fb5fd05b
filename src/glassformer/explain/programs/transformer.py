"""The wiring of the encoder-decoder of 2017."""

from __future__ import annotations

from typing import cast

from glassformer.explain.code_lines import line_in
from glassformer.explain.program import Program
from glassformer.explain.programs.attention import View, turns_of
from glassformer.explain.programs.blocks import decoder_block, encoder_block
from glassformer.explain.programs.heads import vocabulary
from glassformer.explain.programs.inputs import token_and_position
from glassformer.explain.programs.layers import norm
from glassformer.explain.programs.writer import Value, Writer
from glassformer.models.decoding.encoder_decoder import EncoderDecoder
from glassformer.models.transformer import DecoderBlock, EncoderBlock, Transformer


def write_transformer(w: Writer, model: Transformer) -> Program:
    source, target = w.sequence("source"), w.sequence("target")
    memory = encoder(w, model, source)
    w.part, inputs = "decoder.inputs", model.decoder.inputs
    x = token_and_position(w, inputs, target, then=inputs.norm)
    view = View(causal=True, turns=turns_of(model.decoder.rotary))
    for i, each in enumerate(model.decoder.blocks):
        x = decoder_block(w, cast(DecoderBlock, each), x, memory, view, place=f"decoder.{i}")
    w.part = "decoder.final_norm"
    x = norm(w, model.decoder.final_norm, x)
    w.part = "output"
    logits = w.tap(vocabulary(w, model.head, x), model.logits, code=line_in(EncoderDecoder.forward, "self.logits("))
    return w.program(outputs={"logits": logits}, causal=("target",))


def encoder(w: Writer, model: Transformer, source: Value) -> Value:
    w.part, inputs = "encoder.inputs", model.encoder.inputs
    x = token_and_position(w, inputs, source, then=inputs.norm)
    view = View(turns=turns_of(model.encoder.rotary))
    for i, each in enumerate(model.encoder.blocks):
        x = encoder_block(w, cast(EncoderBlock, each), x, view, place=f"encoder.{i}")
    w.part = "encoder.final_norm"
    x = norm(w, model.encoder.final_norm, x)
    return w.tap(x, model.memory, code=line_in(EncoderDecoder.read, "self.memory(memory)"))
