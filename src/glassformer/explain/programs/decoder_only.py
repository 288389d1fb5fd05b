"""The wiring of models with one causal stack: GPT-2 and the Llama family."""

from __future__ import annotations

from typing import cast

from glassformer.explain.code_lines import line_in
from glassformer.explain.program import Program
from glassformer.explain.programs.attention import View, turns_of
from glassformer.explain.programs.blocks import OnlyBlock, only_block
from glassformer.explain.programs.heads import head, vocabulary
from glassformer.explain.programs.inputs import summed, token_and_position, token_vectors
from glassformer.explain.programs.layers import norm
from glassformer.explain.programs.writer import Value, Writer
from glassformer.models.decoding.decoder_only import DecoderOnly
from glassformer.models.gpt import Gpt
from glassformer.models.llama import Llama


def write_gpt(w: Writer, model: Gpt) -> Program:
    text, w.part = w.sequence("text"), "inputs"
    return read(w, model, token_and_position(w, model.inputs, text), View(causal=True))


def write_llama(w: Writer, model: Llama) -> Program:
    text, w.part = w.sequence("text"), "inputs"
    x = summed(w, model.inputs, [token_vectors(w, model.inputs, text)])
    view = View(causal=True, window=model.window or 0, turns=turns_of(model.rotary))
    return read(w, model, x, view)


def read(w: Writer, model: DecoderOnly, x: Value, view: View) -> Program:
    """The blocks, the final norm, and the next token's logits or those of the whole text's class."""
    for i, block in enumerate(model.blocks):
        x = only_block(w, cast(OnlyBlock, block), x, view, place=str(i))
    w.part = "final_norm"
    x = norm(w, model.final_norm, x)
    w.part = "output"
    if model.classifier is None:
        logits = w.tap(
            vocabulary(w, model.head, x), model.logits, code=line_in(DecoderOnly.next_tokens, "self.logits(")
        )
    else:
        logits = w.tap(head(w, model.classifier, x), model.logits, code=line_in(DecoderOnly.forward, "self.logits("))
    return w.program(outputs={"logits": logits}, causal=("text",))
