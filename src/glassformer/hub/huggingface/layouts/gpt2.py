"""GPT-2: its projections have inputs as rows; queries, keys and values are side by side in one matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.ends import read_ends
from glassformer.hub.huggingface.keys import Counts, Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.models.gpt import GptConfig
from glassformer.store.bundle import Bundle


def to_config(theirs: Theirs, _: frozenset[str]) -> dict[str, Any]:
    for field in ("scale_attn_by_inverse_layer_idx", "add_cross_attention"):
        fields.must_be(theirs, field, False)
    fields.must_be(theirs, "scale_attn_weights", True)
    width = fields.whole(theirs, "n_embd")
    return {
        "vocabulary": fields.whole(theirs, "vocab_size"),
        "N": fields.whole(theirs, "n_layer"),
        "d": width,
        "h": fields.whole(theirs, "n_head"),
        "d_ff": fields.whole(theirs, "n_inner", 4 * width),
        "dropout": fields.number(theirs, "resid_pdrop", 0.1),
        "activation": fields.one_of(theirs, "activation_function", fields.ACTIVATIONS, "gelu_new"),
        "norm_eps": fields.number(theirs, "layer_norm_epsilon", 1e-5),
        "max_length": fields.whole(theirs, "n_positions", 1024),
        "tied": fields.flag(theirs, "tie_word_embeddings", True),
    }


def from_config(bundle: Bundle) -> dict[str, Any]:
    config, marks = cast(GptConfig, bundle.model.config), bundle.marks
    fields.refuse_class_head(config.head, "GPT-2")
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
        "bos_token_id": marks.bos,
        "eos_token_id": bundle.extras.get("ends", marks.eos),
        "pad_token_id": marks.pad,
        "dtype": "float32",
    }


def lines(config: GptConfig) -> Sequence[Line]:
    ours, theirs = "blocks.{i}", "{p}h.{i}"
    return [
        Line("inputs.embedding.weight", "{p}wte.weight"),
        Line("inputs.positions.weight", "{p}wpe.weight"),
        *norm(f"{ours}.attention_residual.norm", f"{theirs}.ln_1"),
        *linear(f"{ours}.attention.qkv", f"{theirs}.attn.c_attn"),
        *linear(f"{ours}.attention.out.linear", f"{theirs}.attn.c_proj"),
        *norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.ln_2"),
        *linear(f"{ours}.feed_forward.up", f"{theirs}.mlp.c_fc"),
        *linear(f"{ours}.feed_forward.down", f"{theirs}.mlp.c_proj"),
        *norm("final_norm", "{p}ln_f"),
        *([] if config.tied else [Line("head.weight", "lm_head.weight")]),
    ]


def norm(ours: str, theirs: str) -> list[Line]:
    return [Line(f"{ours}.gain", f"{theirs}.weight"), Line(f"{ours}.bias", f"{theirs}.bias")]


def linear(ours: str, theirs: str) -> list[Line]:
    return [Line(f"{ours}.weight", f"{theirs}.weight", "transposed"), Line(f"{ours}.bias", f"{theirs}.bias")]


def counts(config: GptConfig) -> Counts:
    return {"i": config.N}


def tied(config: GptConfig) -> Mapping[str, str]:
    return {"lm_head.weight": "{p}wte.weight"} if config.tied else {}


LAYOUT = Layout(
    model_types=("gpt2",),
    kind="gpt",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    tied=tied,
    ignored=("*.attn.bias", "*.attn.masked_bias"),  # masks
    prefixes=("transformer.", ""),
    read_extras=read_ends,
)
