"""BERT, with any of its heads or none; also as an encoder of sentence-transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from glassformer.errors import ExportError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.keys import Counts, Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import encoders
from glassformer.hub.huggingface.layouts.encoders import has, linear
from glassformer.models.bert import BertConfig
from glassformer.store.bundle import Bundle

HEADS = {
    "none": "Model",
    "words": "ForMaskedLM",
    "pretraining": "ForPreTraining",
    "sentence": "ForSequenceClassification",
    "tokens": "ForTokenClassification",
    "span": "ForQuestionAnswering",
}
DECODER, BIAS = "cls.predictions.decoder", "cls.predictions.bias"


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    fields.must_be(theirs, "position_embedding_type", "absolute")
    pooler = has(names, "pooler.dense.weight")
    return {
        **encoders.shape(theirs),
        "max_length": fields.whole(theirs, "max_position_embeddings", 512),
        "pooler": pooler,
        "head": head(theirs, names, pooler=pooler),
        "classes": encoders.classes(theirs),
    }


def head(theirs: Theirs, names: frozenset[str], *, pooler: bool) -> str:
    if "cls.predictions.transform.dense.weight" in names:
        return "pretraining" if pooler and "cls.seq_relationship.weight" in names else "words"
    return encoders.class_head(theirs, names, pooler=pooler) or "none"


def from_config(bundle: Bundle) -> dict[str, Any]:
    config = cast(BertConfig, bundle.model.config)
    if config.first_position:
        raise ExportError(f"first_position = {config.first_position}: BERT's positions begin at 0, RoBERTa's after it.")
    if config.head_activation not in (None, config.activation):
        raise ExportError(f"head_activation = {config.head_activation!r}: BERT has {config.activation!r} there too.")
    return {
        "model_type": "bert",
        **encoders.their_shape(bundle, base="Bert", heads=HEADS),
        "max_position_embeddings": config.max_length,
        "position_embedding_type": "absolute",
    }


def lines(config: BertConfig) -> Sequence[Line]:
    positions = Line("inputs.positions.weight", "{p}embeddings.position_embeddings.weight")
    pooler = linear("pooler.linear", "{p}pooler.dense") if config.pooler else []
    return [*encoders.inputs(), positions, *encoders.block(), *pooler, *head_lines(config)]


def head_lines(config: BertConfig) -> list[Line]:
    words = encoders.words(
        config,
        transform="cls.predictions.transform.dense",
        transform_norm="cls.predictions.transform.LayerNorm",
        decoder=DECODER,
        bias=BIAS,
    )
    heads = {
        "none": [],
        "words": words,
        "pretraining": [*words, *linear("follows.linear", "cls.seq_relationship")],
        "sentence": linear("head.linear", "classifier"),
        "tokens": linear("head.linear", "classifier"),
        "span": linear("head.linear", "qa_outputs"),
    }
    return heads[config.head]


def counts(config: BertConfig) -> Counts:
    return {"i": config.N}


def tied(config: BertConfig) -> Mapping[str, str]:
    if config.head not in ("words", "pretraining"):
        return {}
    return encoders.tied_words(config, decoder=DECODER, bias=BIAS)


LAYOUT = Layout(
    model_types=("bert",),
    kind="bert",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    tied=tied,
    ignored=("*embeddings.position_ids", "*embeddings.token_type_ids", BIAS),
    older=encoders.OLDER_NORMS,
    prefixes=("bert.", ""),
    expressed=encoders.framed,
    read_extras=encoders.read_extras,
    write_extras=encoders.write_extras,
)
