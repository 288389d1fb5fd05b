"""Captioners: a ViT and a GPT-2 with cross-attention, as in transformers' VisionEncoderDecoderModel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from glassformer.errors import ImportingError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.ends import read_ends
from glassformer.hub.huggingface.images import read_preparation, written_preparation
from glassformer.hub.huggingface.keys import Counts, Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import gpt2, vit
from glassformer.hub.huggingface.layouts.encoders import linear as plain_linear
from glassformer.hub.huggingface.layouts.gpt2 import linear, norm
from glassformer.models.captioner import CaptionerConfig
from glassformer.store.bundle import Bundle

BODY = "decoder.transformer"


# config.json


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    encoder, decoder = part(theirs, "encoder", "vit"), part(theirs, "decoder", "gpt2")
    fields.must_be(decoder, "add_cross_attention", True)
    width = fields.whole(encoder, "hidden_size")
    fields.must_be(decoder, "cross_attention_hidden_size", None)
    if fields.whole(decoder, "n_embd") != width and "enc_to_dec_proj.weight" not in names:
        raise ImportingError(
            f"enc_to_dec_proj.weight is missing: the encoder's vectors have {width} numbers, the decoder's "
            f"{decoder['n_embd']}."
        )
    seen = frozenset(name.removeprefix("encoder.") for name in names if name.startswith("encoder."))
    return {
        **gpt2.to_config({**decoder, "add_cross_attention": False}, names),
        "encoder": vit.to_config(encoder, seen),
    }


def part(theirs: Theirs, side: str, model_type: str) -> Mapping[str, Any]:
    """The config of one side, which must have the given model type."""
    found = theirs.get(side)
    if not isinstance(found, dict):
        raise fields.wrong(theirs, side, f"the {side}'s own config")
    if found.get("model_type") != model_type:
        raise ImportingError(
            f"config.json: {side}.model_type = {fields.shown(found.get('model_type'))} is not supported. "
            f"Allowed: {model_type!r}."
        )
    return found


def from_config(bundle: Bundle) -> dict[str, Any]:
    config, marks = cast(CaptionerConfig, bundle.model.config), bundle.marks
    ids = {
        "bos_token_id": marks.bos,
        "eos_token_id": bundle.extras.get("ends", marks.eos),
        "pad_token_id": marks.pad,
        "decoder_start_token_id": marks.bos if marks.start is None else marks.start,
    }
    return {
        "model_type": "vision-encoder-decoder",
        "architectures": ["VisionEncoderDecoderModel"],
        "encoder": {"architectures": ["ViTModel"], **vit.shape(config.encoder)},
        "decoder": {**decoder_shape(config), **ids},
        "is_encoder_decoder": True,
        "tie_word_embeddings": False,  # between the two sides; the decoder's own tie is in its part
        "dtype": "float32",
        **ids,
    }


def decoder_shape(config: CaptionerConfig) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": config.vocabulary,
        "n_layer": config.N,
        "n_embd": config.d,
        "n_head": config.h,
        "n_inner": config.d_ff,
        "n_positions": config.max_length,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": 0.0,
        "activation_function": fields.THEIR_ACTIVATIONS[config.activation],
        "layer_norm_epsilon": config.norm_eps,
        "tie_word_embeddings": config.tied,
        "is_decoder": True,
        "add_cross_attention": True,
    }


# Names of tensors


def lines(config: CaptionerConfig) -> Sequence[Line]:
    ours, theirs = "decoder.blocks.{j}", f"{BODY}.h.{{j}}"
    bridge = plain_linear("bridge", "enc_to_dec_proj") if config.encoder.d != config.d else []
    return [
        *vit.body(config.encoder, ours="encoder.", theirs="encoder."),
        *bridge,
        Line("decoder.inputs.embedding.weight", f"{BODY}.wte.weight"),
        Line("decoder.inputs.positions.weight", f"{BODY}.wpe.weight"),
        *norm(f"{ours}.self_attention_residual.norm", f"{theirs}.ln_1"),
        *linear(f"{ours}.self_attention.qkv", f"{theirs}.attn.c_attn"),
        *linear(f"{ours}.self_attention.out.linear", f"{theirs}.attn.c_proj"),
        *norm(f"{ours}.cross_attention_residual.norm", f"{theirs}.ln_cross_attn"),
        *linear(f"{ours}.cross_attention.query", f"{theirs}.crossattention.q_attn"),
        *linear(f"{ours}.cross_attention.key_value", f"{theirs}.crossattention.c_attn"),
        *linear(f"{ours}.cross_attention.out.linear", f"{theirs}.crossattention.c_proj"),
        *norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.ln_2"),
        *linear(f"{ours}.feed_forward.up", f"{theirs}.mlp.c_fc"),
        *linear(f"{ours}.feed_forward.down", f"{theirs}.mlp.c_proj"),
        *norm("decoder.final_norm", f"{BODY}.ln_f"),
        *([] if config.tied else [Line("head.weight", "decoder.lm_head.weight")]),
    ]


def counts(config: CaptionerConfig) -> Counts:
    return {**vit.counts(config.encoder), "j": config.N}


def tied(config: CaptionerConfig) -> Mapping[str, str]:
    return {"decoder.lm_head.weight": f"{BODY}.wte.weight"} if config.tied else {}


# Further files


def read_extras(folder: Path, theirs: Theirs) -> dict[str, Any]:
    return {**read_preparation(folder), **read_ends(folder, theirs)}


def write_extras(bundle: Bundle) -> dict[str, bytes]:
    return written_preparation(bundle.extras)


LAYOUT = Layout(
    model_types=("vision-encoder-decoder",),
    kind="captioner",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    tied=tied,
    ignored=("*.attn.bias", "*.attn.masked_bias", "*.crossattention.bias", "*.crossattention.masked_bias"),  # masks
    read_extras=read_extras,
    write_extras=write_extras,
)
