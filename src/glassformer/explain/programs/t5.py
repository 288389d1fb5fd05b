"""The wiring of T5: no vectors of positions, but a bias on the scores that all blocks of a stack share."""

from __future__ import annotations

from typing import cast

import torch

from glassformer.explain.code_lines import line_in
from glassformer.explain.program import Program, Setting
from glassformer.explain.programs.attention import View
from glassformer.explain.programs.blocks import DecoderBlock, EncoderBlock, decoder_block, encoder_block
from glassformer.explain.programs.heads import vocabulary
from glassformer.explain.programs.inputs import summed, token_vectors
from glassformer.explain.programs.layers import norm
from glassformer.explain.programs.writer import Value, Writer
from glassformer.models.decoding.encoder_decoder import EncoderDecoder
from glassformer.models.t5 import T5, Decoder, Encoder
from glassformer.nn.relative import RelativeBias, distance_buckets


def write_t5(w: Writer, model: T5) -> Program:
    source, target = w.sequence("source"), w.sequence("target")
    x, view = stack_begin(w, model.encoder, source, stack="encoder")
    for i, block in enumerate(model.encoder.blocks):
        x = encoder_block(w, cast(EncoderBlock, block), x, view, place=f"encoder.{i}")
    w.part = "encoder.final_norm"
    memory = w.tap(
        norm(w, model.encoder.final_norm, x), model.memory, code=line_in(EncoderDecoder.read, "self.memory(")
    )
    decoder = cast(Decoder, model.decoder)
    x, view = stack_begin(w, decoder, target, stack="decoder")
    for i, block in enumerate(decoder.blocks):
        x = decoder_block(w, cast(DecoderBlock, block), x, memory, view, place=f"decoder.{i}")
    w.part = "decoder.final_norm"
    x = norm(w, decoder.final_norm, x)
    if decoder.scale != 1:
        settings, code = {"factor": decoder.scale}, line_in(Decoder.scaled, "* self.scale")
        x = w.step("decoder.scaled", "scale", [x], settings=settings, code=code)
    w.part = "output"
    logits = w.tap(vocabulary(w, model.head, x), model.logits, code=line_in(EncoderDecoder.forward, "self.logits("))
    return w.program(outputs={"logits": logits}, causal=("target",))


def stack_begin(w: Writer, module: Encoder | Decoder, ids: Value, *, stack: str) -> tuple[Value, View]:
    """The inputs and the position bias of a stack."""
    w.part = f"{stack}.inputs"
    x = summed(w, module.inputs, [token_vectors(w, module.inputs, ids)])
    return x, View(causal=stack == "decoder", bias=relative_bias(w, module.positions, ids))


def relative_bias(w: Writer, module: RelativeBias, ids: Value) -> Value:
    code, heads = line_in(RelativeBias.forward, "self.bias("), module.weight.size(1)
    name, axes, shape = f"{w.name(module)}.line", ("head", *ids.axes * 2), (heads, *ids.shape * 2)
    settings: dict[str, Setting] = {"starts": bucket_starts(module), "both_ways": module.both_ways}
    weights = [module.weight]
    bias = w.step(
        name, "relative_bias", [ids, ids], weights=weights, axes=axes, shape=shape, settings=settings, code=code
    )
    return w.tap(bias, module.bias, code=code)


def bucket_starts(module: RelativeBias) -> tuple[int, ...]:
    """The smallest distance of each bucket; with both ways, of the half for earlier keys."""
    count = module.buckets // 2 if module.both_ways else module.buckets
    distance = -torch.arange(module.furthest + 2)
    buckets = distance_buckets(distance, buckets=module.buckets, furthest=module.furthest, both_ways=module.both_ways)
    return tuple(int((buckets < bucket).sum()) for bucket in range(count))
