"""The wiring of the Vision Transformer, and of the captioner, which writes about what one sees."""

from __future__ import annotations

from typing import cast

from glassformer.explain.code_lines import line_in
from glassformer.explain.program import Program
from glassformer.explain.programs.attention import View
from glassformer.explain.programs.blocks import DecoderBlock, EncoderBlock, decoder_block, encoder_block
from glassformer.explain.programs.heads import head, picked, pooler, vocabulary
from glassformer.explain.programs.inputs import summed, token_and_position
from glassformer.explain.programs.layers import linear, norm
from glassformer.explain.programs.writer import Value, Writer
from glassformer.models.captioner import Captioner, Decoder
from glassformer.models.decoding.encoder_decoder import EncoderDecoder
from glassformer.models.vit import Inputs, Vit
from glassformer.nn.patches import GridPositions, cut_patches


def write_vit(w: Writer, model: Vit) -> Program:
    x = seen(w, model, stack="")
    w.part = "output"
    if model.head is not None:
        code = line_in(Vit.forward, "self.logits(")
        x = head(w, model.head, picked(w, "head.first", x, at=0, code=code))
        return w.program(outputs={"logits": w.tap(x, model.logits, code=code)})
    code = line_in(Vit.pool, "self.pooled(")
    if model.pooler is None:
        return w.program(outputs={"hidden": picked(w, "head.first", x, at=0, code=code)})
    return w.program(outputs={"hidden": w.tap(pooler(w, model.pooler, x), model.pooled, code=code)})


def write_captioner(w: Writer, model: Captioner) -> Program:
    x, target = seen(w, model.encoder, stack="encoder"), w.sequence("target")
    if model.bridge is not None:
        x = linear(w, "bridge.out", x, model.bridge.weight, model.bridge.bias)
    memory = w.tap(x, model.memory, code=line_in(EncoderDecoder.read, "self.memory("))
    decoder, w.part = cast(Decoder, model.decoder), "decoder.inputs"
    x = token_and_position(w, decoder.inputs, target)
    for i, block in enumerate(decoder.blocks):
        x = decoder_block(w, cast(DecoderBlock, block), x, memory, View(causal=True), place=f"decoder.{i}")
    w.part = "decoder.final_norm"
    x = norm(w, decoder.final_norm, x)
    w.part = "output"
    logits = w.tap(vocabulary(w, model.head, x), model.logits, code=line_in(EncoderDecoder.forward, "self.logits("))
    return w.program(outputs={"logits": logits}, causal=("target",))


def seen(w: Writer, model: Vit, *, stack: str) -> Value:
    """The last hidden states of an image's patches, with the extra token before them."""
    before = f"{stack}." if stack else ""
    w.part = f"{before}inputs"
    x = image_inputs(w, model.inputs, w.sequence("image", "image"))
    for i, block in enumerate(model.blocks):
        x = encoder_block(w, cast(EncoderBlock, block), x, View(), place=f"{before}{i}")
    w.part = f"{before}final_norm"
    return norm(w, model.final_norm, x)


def image_inputs(w: Writer, module: Inputs, image: Value) -> Value:
    """Patches times a matrix, the extra token before them, positions: for images of the size that was learned."""
    name, (height, width), weight = w.name(module), module.patch, module.patches.weight
    down, across = module.positions.grid
    count, d = down * across, weight.size(0)
    cut = w.step(
        f"{name}.cut",
        "patches",
        [image],
        axes=("patch", "pixel"),
        shape=(count, weight.size(1)),
        settings={"height": height, "width": width},
        code=line_in(cut_patches, "squares.permute"),
    )
    code = line_in(Inputs.forward, "self.patches(cut_patches(")
    vectors = linear(w, f"{name}.patches.out", cut, weight, module.patches.bias, code=code)
    code, axes = line_in(Inputs.forward, "self.token("), ("patch", "width")
    first = w.step(f"{name}.extra", "constant", [], weights=[module.first], axes=axes, shape=(1, d), code=code)
    both = w.step(f"{name}.row", "concat", [first, vectors], axes=axes, shape=(count + 1, d), code=code)
    token = w.tap(both, module.token, code=code)
    code = line_in(GridPositions.forward, "return self.weight")
    table = [module.positions.weight]
    place = w.step(f"{name}.grid", "constant", [], weights=table, axes=axes, shape=(count + 1, d), code=code)
    place = w.tap(place, module.position, code=line_in(Inputs.forward, "self.position("))
    return summed(w, module, [token, place])
