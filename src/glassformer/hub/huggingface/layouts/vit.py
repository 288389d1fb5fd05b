"""ViT: with a class head, or without one and with or without a pooler."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from glassformer.errors import ExportError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.images import read_preparation, written_preparation
from glassformer.hub.huggingface.keys import Counts, Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts.encoders import labels, linear, norm, their_labels
from glassformer.models.vit import VitConfig
from glassformer.store.bundle import Bundle

CLASSIFIER, POOLER = "classifier.weight", "pooler.dense.weight"


# config.json


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    fields.must_be(theirs, "pooler_act", "tanh")
    fields.must_be(theirs, "pooler_output_size", None, fields.whole(theirs, "hidden_size"))
    return {
        "N": fields.whole(theirs, "num_hidden_layers"),
        "d": fields.whole(theirs, "hidden_size"),
        "h": fields.whole(theirs, "num_attention_heads"),
        "d_ff": fields.whole(theirs, "intermediate_size"),
        "patch": pair(theirs, "patch_size", 16),
        "image": pair(theirs, "image_size", 224),
        "channels": fields.whole(theirs, "num_channels", 3),
        "dropout": fields.number(theirs, "hidden_dropout_prob", 0.0),
        "activation": fields.one_of(theirs, "hidden_act", fields.ACTIVATIONS, "gelu"),
        "norm_eps": fields.number(theirs, "layer_norm_eps", 1e-12),
        "qkv_bias": fields.flag(theirs, "qkv_bias", True),
        "pooler": any(name.endswith(POOLER) for name in names),
        "classes": (len(labels(theirs)) or fields.whole(theirs, "num_labels", 2)) if CLASSIFIER in names else 0,
    }


def pair(theirs: Theirs, field: str, default: int) -> tuple[int, int]:
    """Height and width: one number, or two."""
    value = theirs.get(field, default)
    found = value if isinstance(value, list) else [value, value]
    if len(found) != 2 or not all(fields.is_whole(one) for one in found):
        raise fields.wrong(theirs, field, "a number of pixels, or height and width")
    return found[0], found[1]


def from_config(bundle: Bundle) -> dict[str, Any]:
    config = cast(VitConfig, bundle.model.config)
    if config.classes and config.pooler:
        raise ExportError("A ViT of transformers has a pooler or classes, not both.")
    names = their_labels(bundle, config.classes) if config.classes else {}
    architecture = "ViTForImageClassification" if config.classes else "ViTModel"
    return {"architectures": [architecture], **shape(config), **names, "dtype": "float32"}


def shape(config: VitConfig) -> dict[str, Any]:
    return {
        "model_type": "vit",
        "num_hidden_layers": config.N,
        "hidden_size": config.d,
        "num_attention_heads": config.h,
        "intermediate_size": config.d_ff,
        "patch_size": one_if_square(config.patch),
        "image_size": one_if_square(config.image),
        "num_channels": config.channels,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": 0.0,
        "hidden_act": fields.THEIR_ACTIVATIONS[config.activation],
        "layer_norm_eps": config.norm_eps,
        "qkv_bias": config.qkv_bias,
        "encoder_stride": config.patch[0],
    }


def one_if_square(size: tuple[int, int]) -> int | list[int]:
    return size[0] if size[0] == size[1] else list(size)


# Names of tensors


def lines(config: VitConfig) -> Sequence[Line]:
    heads = linear("head.linear", "classifier") if config.classes else []
    return [*body(config, ours="", theirs="{p}"), *heads]


def body(config: VitConfig, *, ours: str, theirs: str) -> list[Line]:
    """Everything except the head; also used inside larger models, under other names."""
    block, layer = f"{ours}blocks.{{i}}", f"{theirs}encoder.layer.{{i}}"
    attention = (f"{layer}.attention.attention.{part}" for part in ("query", "key", "value"))
    return [
        Line(f"{ours}inputs.first", f"{theirs}embeddings.cls_token", "vector"),
        Line(f"{ours}inputs.positions.weight", f"{theirs}embeddings.position_embeddings", "row"),
        Line(f"{ours}inputs.patches.weight", f"{theirs}embeddings.patch_embeddings.projection.weight", "patches"),
        Line(f"{ours}inputs.patches.bias", f"{theirs}embeddings.patch_embeddings.projection.bias"),
        *linear(f"{block}.self_attention.qkv", *attention)[: 2 if config.qkv_bias else 1],
        *linear(f"{block}.self_attention.out.linear", f"{layer}.attention.output.dense"),
        *norm(f"{block}.self_attention_residual.norm", f"{layer}.layernorm_before"),
        *linear(f"{block}.feed_forward.up", f"{layer}.intermediate.dense"),
        *linear(f"{block}.feed_forward.down", f"{layer}.output.dense"),
        *norm(f"{block}.feed_forward_residual.norm", f"{layer}.layernorm_after"),
        *norm(f"{ours}final_norm", f"{theirs}layernorm"),
        *(linear(f"{ours}pooler.linear", f"{theirs}pooler.dense") if config.pooler else []),
    ]


def counts(config: VitConfig) -> Counts:
    height, width = config.patch
    return {"i": config.N, "channels": config.channels, "patch_height": height, "patch_width": width}


# Further files


def read_extras(folder: Path, theirs: Theirs) -> dict[str, Any]:
    """How images are prepared, and the names of the classes."""
    named = labels(theirs)
    return {**read_preparation(folder), **({"labels": named} if named else {})}


def write_extras(bundle: Bundle) -> dict[str, bytes]:
    return written_preparation(bundle.extras)


LAYOUT = Layout(
    model_types=("vit",),
    kind="vit",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    prefixes=("vit.", ""),
    read_extras=read_extras,
    write_extras=write_extras,
)
