"""DistilBERT (Sanh et al. 2019, arXiv 1910.01108): BERT without segments and without the pooler of its pretraining.

Its classifier of sentences has a pooler of its own with ReLU (`pre_classifier`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from glassformer.errors import ExportError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.keys import Counts, Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import encoders
from glassformer.hub.huggingface.layouts.encoders import linear, norm
from glassformer.models.bert import BertConfig
from glassformer.store.bundle import Bundle

HEADS = {
    "none": "DistilBertModel",
    "words": "DistilBertForMaskedLM",
    "sentence": "DistilBertForSequenceClassification",
    "tokens": "DistilBertForTokenClassification",
    "span": "DistilBertForQuestionAnswering",
}
DECODER, BIAS = "vocab_projector", "vocab_projector.bias"
EPS = 1e-12  # of the norms; config.json does not say it


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    pooler = "pre_classifier.weight" in names
    words = "vocab_transform.weight" in names
    return {
        "vocabulary": fields.whole(theirs, "vocab_size"),
        "N": fields.whole(theirs, "n_layers"),
        "d": fields.whole(theirs, "dim"),
        "h": fields.whole(theirs, "n_heads"),
        "d_ff": fields.whole(theirs, "hidden_dim"),
        "dropout": fields.number(theirs, "dropout", 0.1),
        "activation": fields.one_of(theirs, "activation", fields.ACTIVATIONS, "gelu"),
        "norm_eps": EPS,
        "max_length": fields.whole(theirs, "max_position_embeddings", 512),
        "segments": 0,
        "tied": fields.flag(theirs, "tie_word_embeddings", True),
        "pooler": pooler,
        "pooler_activation": "relu",
        "head": "words" if words else encoders.class_head(theirs, names, pooler=pooler) or "none",
        "classes": encoders.classes(theirs),
    }


def from_config(bundle: Bundle) -> dict[str, Any]:
    config, marks = cast(BertConfig, bundle.model.config), bundle.marks
    refuse_other(config)
    return {
        "model_type": "distilbert",
        "architectures": [HEADS[config.head]],
        "vocab_size": config.vocabulary,
        "n_layers": config.N,
        "dim": config.d,
        "n_heads": config.h,
        "hidden_dim": config.d_ff,
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "seq_classif_dropout": config.dropout,
        "qa_dropout": 0.0,
        "activation": fields.THEIR_ACTIVATIONS[config.activation],
        "max_position_embeddings": config.max_length,
        "sinusoidal_pos_embds": False,
        "tie_word_embeddings": config.tied,
        "pad_token_id": marks.pad,
        "dtype": "float32",
        **(encoders.their_labels(bundle, config.classes) if config.head in encoders.CLASSES else {}),
    }


def refuse_other(config: BertConfig) -> None:
    """An error if DistilBERT has no such model."""
    sentence = config.head == "sentence"
    problems = {
        f"segments = {config.segments}: DistilBERT has none": config.segments,
        f"norm_eps = {config.norm_eps:g}: DistilBERT has {EPS:g}": config.norm_eps != EPS,
        f"first_position = {config.first_position}: DistilBERT's positions begin at 0": config.first_position,
        f"head = {config.head!r}: DistilBERT has no such head": config.head not in HEADS,
        "pooler = true: DistilBERT has one only for classes of whole texts": config.pooler and not sentence,
        f"pooler_activation = {config.pooler_activation!r}: DistilBERT has 'relu'": sentence
        and config.pooler_activation != "relu",
        f"pooling = {config.pooling!r}: DistilBERT predicts from the first token": sentence
        and config.pooling != "first",
        f"word_odds = {config.word_odds}: DistilBERT has no table of words; train with --set model.word_odds=0": (
            config.word_odds
        ),
        "casing = true: DistilBERT does not read how words are capitalised": config.casing,
        f"head_activation = {config.head_activation!r}: DistilBERT has {config.activation!r} there too": (
            config.head_activation not in (None, config.activation)
        ),
    }
    if wrong := [words for words, is_wrong in problems.items() if is_wrong]:
        raise ExportError(f"{wrong[0]}.")


def lines(config: BertConfig) -> Sequence[Line]:
    ours, theirs = "blocks.{i}", "{p}transformer.layer.{i}"
    attention = [f"{theirs}.attention.{part}_lin" for part in ("q", "k", "v")]
    return [
        Line("inputs.embedding.weight", "{p}embeddings.word_embeddings.weight"),
        Line("inputs.positions.weight", "{p}embeddings.position_embeddings.weight"),
        *norm("inputs.norm", "{p}embeddings.LayerNorm"),
        *linear(f"{ours}.self_attention.qkv", *attention),
        *linear(f"{ours}.self_attention.out.linear", f"{theirs}.attention.out_lin"),
        *norm(f"{ours}.self_attention_residual.norm", f"{theirs}.sa_layer_norm"),
        *linear(f"{ours}.feed_forward.up", f"{theirs}.ffn.lin1"),
        *linear(f"{ours}.feed_forward.down", f"{theirs}.ffn.lin2"),
        *norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.output_layer_norm"),
        *(linear("pooler.linear", "pre_classifier") if config.pooler else []),
        *head_lines(config),
    ]


def head_lines(config: BertConfig) -> list[Line]:
    words = encoders.words(
        config, transform="vocab_transform", transform_norm="vocab_layer_norm", decoder=DECODER, bias=BIAS
    )
    heads = {
        "none": [],
        "words": words,
        "sentence": linear("head.linear", "classifier"),
        "tokens": linear("head.linear", "classifier"),
        "span": linear("head.linear", "qa_outputs"),
    }
    return heads[config.head]


def counts(config: BertConfig) -> Counts:
    return {"i": config.N}


def tied(config: BertConfig) -> Mapping[str, str]:
    if config.head != "words" or not config.tied:
        return {}
    return {f"{DECODER}.weight": "{p}embeddings.word_embeddings.weight"}


LAYOUT = Layout(
    model_types=("distilbert",),
    kind="bert",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    tied=tied,
    ignored=("*embeddings.position_ids",),
    prefixes=("distilbert.", ""),
    expressed=encoders.framed,
    read_extras=encoders.read_extras,
    write_extras=encoders.write_extras,
)
