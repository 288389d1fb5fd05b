"""RoFormer: token vectors that may be narrower than the model, and a table of sines that is computed, not learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.keys import Counts, Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import encoders
from glassformer.hub.huggingface.layouts.encoders import linear
from glassformer.models.roformer import RoFormerConfig
from glassformer.nn.positions import sinusoidal_halves
from glassformer.store.bundle import Bundle

HEADS = {
    "none": "Model",
    "words": "ForMaskedLM",
    "sentence": "ForSequenceClassification",
    "tokens": "ForTokenClassification",
    "span": "ForQuestionAnswering",
}
DECODER, BIAS = "cls.predictions.decoder", "cls.predictions.bias"


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    fields.must_be(theirs, "rotary_value", False)
    width = fields.whole(theirs, "hidden_size")
    narrow = fields.whole(theirs, "embedding_size", width)
    words = "cls.predictions.transform.dense.weight" in names
    return {
        **encoders.shape(theirs),
        **({"d_token": narrow} if narrow != width else {}),
        "max_length": fields.whole(theirs, "max_position_embeddings", 1536),
        "head": "words" if words else encoders.class_head(theirs, names, pooler=False) or "none",
        "classes": encoders.classes(theirs),
    }


def from_config(bundle: Bundle) -> dict[str, Any]:
    config = cast(RoFormerConfig, bundle.model.config)
    return {
        "model_type": "roformer",
        **encoders.their_shape(bundle, base="RoFormer", heads=HEADS),
        "embedding_size": config.d_token or config.d,
        "max_position_embeddings": config.max_length,
        "rotary_value": False,
    }


def lines(config: RoFormerConfig) -> Sequence[Line]:
    narrow = config.d_token not in (None, config.d)
    widen = linear("inputs.widen", "{p}embeddings_project") if narrow else []
    return [*encoders.inputs(), *widen, *encoders.block(), *head_lines(config)]


def head_lines(config: RoFormerConfig) -> list[Line]:
    heads = {
        "none": [],
        "words": encoders.words(
            config,
            transform="cls.predictions.transform.dense",
            transform_norm="cls.predictions.transform.LayerNorm",
            decoder=DECODER,
            bias=BIAS,
        ),
        "sentence": [*linear("pooler.linear", "classifier.dense"), *linear("head.linear", "classifier.out_proj")],
        "tokens": linear("head.linear", "classifier"),
        "span": linear("head.linear", "qa_outputs"),
    }
    return heads[config.head]


def counts(config: RoFormerConfig) -> Counts:
    return {"i": config.N}


def tied(config: RoFormerConfig) -> Mapping[str, str]:
    return encoders.tied_words(config, decoder=DECODER, bias=BIAS) if config.head == "words" else {}


def positions(bundle: Bundle) -> Mapping[str, Tensor]:
    """The position table, which RoFormer has in its files although it is computed."""
    config = cast(RoFormerConfig, bundle.model.config)
    table = sinusoidal_halves(config.max_length, config.d // config.h).to(torch.float32)
    return {"roformer.encoder.embed_positions.weight": table}


LAYOUT = Layout(
    model_types=("roformer",),
    kind="roformer",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    tied=tied,
    constants=positions,
    sinusoids=("*encoder.embed_positions.weight",),
    ignored=(BIAS,),
    older=encoders.OLDER_NORMS,
    prefixes=("roformer.", ""),
    expressed=encoders.framed,
    read_extras=encoders.read_extras,
    write_extras=encoders.write_extras,
)
