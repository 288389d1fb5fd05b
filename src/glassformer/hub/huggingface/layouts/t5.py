"""T5, T5 1.1, Flan-T5 and mT5: one file layout; config.json says which version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from glassformer.errors import ExportError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.ends import read_ends
from glassformer.hub.huggingface.keys import Counts, Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.models.t5 import T5Config
from glassformer.store.bundle import Bundle

SHARED, OUTPUT, SCALED, TIED = "shared.weight", "lm_head.weight", "scale_decoder_outputs", "tie_word_embeddings"
GATED = "gated-"
# feed_forward_proj: our activation, and whether it is gated. "gated-gelu" has always meant the tanh form.
FEED_FORWARDS = {
    **{name: (ours, False) for name, ours in fields.ACTIVATIONS.items()},
    **{GATED + name: (ours, True) for name, ours in fields.ACTIVATIONS.items()},
    "gated-gelu": ("gelu_tanh", True),
}


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    fields.must_be(theirs, "is_encoder_decoder", True)
    activation, gated = fields.one_of(theirs, "feed_forward_proj", FEED_FORWARDS, "relu")
    blocks = fields.whole(theirs, "num_layers")
    return {
        "vocabulary": fields.whole(theirs, "vocab_size"),
        "N": blocks,
        "N_decoder": fields.whole(theirs, "num_decoder_layers", blocks),
        "d": fields.whole(theirs, "d_model"),
        "h": fields.whole(theirs, "num_heads"),
        "d_kv": fields.whole(theirs, "d_kv"),
        "d_ff": fields.whole(theirs, "d_ff"),
        "dropout": fields.number(theirs, "dropout_rate", 0.1),
        "activation": activation,
        "gated": gated,
        "buckets": fields.whole(theirs, "relative_attention_num_buckets", 32),
        "max_distance": fields.whole(theirs, "relative_attention_max_distance", 128),
        "norm_eps": fields.number(theirs, "layer_norm_epsilon", 1e-6),
        "tied": is_tied(theirs, names),
        "scaled_output": is_scaled(theirs),
    }


def is_scaled(theirs: Theirs) -> bool:
    """Whether the output is scaled. Newer files say so; in older ones tied models are. mT5 never is."""
    if theirs.get("model_type") == "mt5":
        return False
    return fields.flag(theirs, SCALED, fields.flag(theirs, TIED, True))


def is_tied(theirs: Theirs, names: frozenset[str]) -> bool:
    """Newer files always say that they are tied, so the tensors decide. Older files of tied models may have the matrix
    twice."""
    if OUTPUT not in names:
        return True
    older = SCALED not in theirs and theirs.get("model_type") != "mt5"
    return older and fields.flag(theirs, TIED, True)


def from_config(bundle: Bundle) -> dict[str, Any]:
    config, marks = cast(T5Config, bundle.model.config), bundle.marks
    return {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "vocab_size": config.vocabulary,
        "num_layers": config.N,
        "num_decoder_layers": config.N_decoder or config.N,
        "d_model": config.d,
        "num_heads": config.h,
        "d_kv": config.d_kv,
        "d_ff": config.d_ff,
        "dropout_rate": config.dropout,
        "feed_forward_proj": feed_forward_proj(config),
        "relative_attention_num_buckets": config.buckets,
        "relative_attention_max_distance": config.max_distance,
        "layer_norm_epsilon": config.norm_eps,
        TIED: config.tied,
        SCALED: config.scaled_output,
        "is_encoder_decoder": True,
        "eos_token_id": bundle.extras.get("ends", marks.eos),
        "pad_token_id": marks.pad,
        "decoder_start_token_id": marks.pad if marks.start is None else marks.start,
        "dtype": "float32",
    }


def feed_forward_proj(config: T5Config) -> str:
    if not config.gated:
        return fields.THEIR_ACTIVATIONS[config.activation]
    if config.activation == "gelu":
        raise ExportError(
            "model.activation = 'gelu' with a gate: transformers' T5 has the tanh form there (model.activation = "
            "'gelu_tanh')."
        )
    return GATED + ("gelu" if config.activation == "gelu_tanh" else config.activation)


# Names of tensors


def lines(config: T5Config) -> Sequence[Line]:
    return [
        Line("encoder.inputs.embedding.weight", SHARED),
        *stack(config, "encoder", "{i}", feed_forward=1),
        *stack(config, "decoder", "{j}", feed_forward=2),
        *cross_attention("decoder.blocks.{j}", "decoder.block.{j}.layer.1"),
        *([] if config.tied else [Line("head.weight", OUTPUT)]),
    ]


def stack(config: T5Config, side: str, counter: str, *, feed_forward: int) -> list[Line]:
    """One side; its first block has the table of distances."""
    ours, theirs = f"{side}.blocks.{counter}", f"{side}.block.{counter}.layer"
    inner = f"{theirs}.{feed_forward}.DenseReluDense"
    up = {"gate": "wi_0", "up": "wi_1"} if config.gated else {"up": "wi"}
    return [
        Line(f"{side}.positions.weight", f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"),
        Line(f"{ours}.self_attention.qkv.weight", tuple(f"{theirs}.0.SelfAttention.{part}.weight" for part in "qkv")),
        Line(f"{ours}.self_attention.out.linear.weight", f"{theirs}.0.SelfAttention.o.weight"),
        Line(f"{ours}.self_attention_residual.norm.gain", f"{theirs}.0.layer_norm.weight"),
        *(Line(f"{ours}.feed_forward.{name}.weight", f"{inner}.{their}.weight") for name, their in up.items()),
        Line(f"{ours}.feed_forward.down.weight", f"{inner}.wo.weight"),
        Line(f"{ours}.feed_forward_residual.norm.gain", f"{theirs}.{feed_forward}.layer_norm.weight"),
        Line(f"{side}.final_norm.gain", f"{side}.final_layer_norm.weight"),
    ]


def cross_attention(ours: str, theirs: str) -> list[Line]:
    attention = f"{theirs}.EncDecAttention"
    return [
        Line(f"{ours}.cross_attention.query.weight", f"{attention}.q.weight"),
        Line(f"{ours}.cross_attention.key_value.weight", (f"{attention}.k.weight", f"{attention}.v.weight")),
        Line(f"{ours}.cross_attention.out.linear.weight", f"{attention}.o.weight"),
        Line(f"{ours}.cross_attention_residual.norm.gain", f"{theirs}.layer_norm.weight"),
    ]


def counts(config: T5Config) -> Counts:
    return {"i": config.N, "j": config.N_decoder or config.N}


def tied(config: T5Config) -> Mapping[str, str]:
    names = ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight", *([OUTPUT] if config.tied else [])]
    return dict.fromkeys(names, SHARED)


LAYOUT = Layout(
    model_types=("t5", "mt5"),
    kind="t5",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    tied=tied,
    ignored=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),  # of old files, never used
    read_extras=read_ends,
)
