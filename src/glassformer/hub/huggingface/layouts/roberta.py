"""RoBERTa: BERT with positions that begin after the padding's id. Its class head is BERT's pooler under other names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from glassformer.errors import ExportError, ImportingError
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
    "sentence": "ForSequenceClassification",
    "tokens": "ForTokenClassification",
    "span": "ForQuestionAnswering",
}
DECODER, BIAS = "lm_head.decoder", "lm_head.bias"


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    fields.must_be(theirs, "position_embedding_type", "absolute")
    first, positions = first_position(theirs), fields.whole(theirs, "max_position_embeddings", 512)
    if positions <= first:
        raise ImportingError(
            f"config.json: max_position_embeddings = {positions}: it must be more than pad_token_id + 1."
        )
    words = "lm_head.dense.weight" in names
    head = "words" if words else encoders.class_head(theirs, names, pooler=has(names, "pooler.dense.weight")) or "none"
    return {
        **encoders.shape(theirs),
        "first_position": first,
        "max_length": positions - first,
        "pooler": head == "sentence" or has(names, "pooler.dense.weight"),
        "head": head,
        "head_activation": "gelu" if words else None,  # whatever hidden_act says
        "classes": encoders.classes(theirs),
    }


def first_position(theirs: Theirs) -> int:
    if not fields.is_whole(theirs.get("pad_token_id", 1), least=0):
        raise fields.wrong(theirs, "pad_token_id", "an id, since positions begin after it")
    return int(theirs.get("pad_token_id", 1)) + 1


def from_config(bundle: Bundle) -> dict[str, Any]:
    config = cast(BertConfig, bundle.model.config)
    if not config.first_position:
        raise ExportError("first_position = 0: RoBERTa's positions begin after the padding's id.")
    if config.head == "words" and (config.head_activation or config.activation) != "gelu":
        raise ExportError(f"head_activation = {config.head_activation!r}: RoBERTa has 'gelu' in its head.")
    if config.head == "pretraining":
        raise ExportError(
            "head = 'pretraining': RoBERTa has no next-sentence prediction. Models with head = 'words' can be exported."
        )
    return {
        "model_type": "roberta",
        **encoders.their_shape(bundle, base="Roberta", heads=HEADS),
        "pad_token_id": config.first_position - 1,
        "max_position_embeddings": config.max_length + config.first_position,
        "position_embedding_type": "absolute",
    }


def lines(config: BertConfig) -> Sequence[Line]:
    positions = Line("inputs.positions.weight", "{p}embeddings.position_embeddings.weight")
    pooled = "classifier.dense" if config.head == "sentence" else "{p}pooler.dense"
    pooler = linear("pooler.linear", pooled) if config.pooler else []
    return [*encoders.inputs(), positions, *encoders.block(), *pooler, *head_lines(config)]


def head_lines(config: BertConfig) -> list[Line]:
    heads = {
        "none": [],
        "words": encoders.words(
            config, transform="lm_head.dense", transform_norm="lm_head.layer_norm", decoder=DECODER, bias=BIAS
        ),
        "sentence": linear("head.linear", "classifier.out_proj"),
        "tokens": linear("head.linear", "classifier"),
        "span": linear("head.linear", "qa_outputs"),
    }
    return heads[config.head]


def counts(config: BertConfig) -> Counts:
    return {"i": config.N}


def tied(config: BertConfig) -> Mapping[str, str]:
    return encoders.tied_words(config, decoder=DECODER, bias=BIAS) if config.head == "words" else {}


LAYOUT = Layout(
    model_types=("roberta",),
    kind="bert",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    tied=tied,
    ignored=("*embeddings.position_ids", "*embeddings.token_type_ids", BIAS),
    older=encoders.OLDER_NORMS,
    prefixes=("roberta.", ""),
    expressed=encoders.framed,
    read_extras=encoders.read_extras,
    write_extras=encoders.write_extras,
)
