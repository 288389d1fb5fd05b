"""What BERT, RoBERTa and RoFormer have in common: the lines of their blocks, and fields of config.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from glassformer.errors import ExportError
from glassformer.hub.huggingface import fields, sentence_folders
from glassformer.hub.huggingface.keys import Line
from glassformer.hub.huggingface.layout import Theirs
from glassformer.hub.huggingface.marks import TOKENIZER, optional_json
from glassformer.models.bert import BertConfig
from glassformer.models.roformer import RoFormerConfig
from glassformer.store.bundle import Bundle, frame_for
from glassformer.text.framing import Frame, frame_of, with_frame

Config = BertConfig | RoFormerConfig
CLASSES = ("sentence", "tokens")  # heads that have classes
PROBLEMS: dict[str | None, str | None] = {
    None: None,
    **{name: name for name in ("regression", "single_label_classification", "multi_label_classification")},
}
OLDER_NORMS = ((".gamma", ".weight"), (".beta", ".bias"))


# Names of tensors


def norm(ours: str, theirs: str) -> list[Line]:
    return [Line(f"{ours}.gain", f"{theirs}.weight"), Line(f"{ours}.bias", f"{theirs}.bias")]


def linear(ours: str, *theirs: str) -> list[Line]:
    return [Line(f"{ours}.{kind}", tuple(f"{name}.{kind}" for name in theirs)) for kind in ("weight", "bias")]


def block() -> list[Line]:
    ours, theirs = "blocks.{i}", "{p}encoder.layer.{i}"
    return [
        *linear(
            f"{ours}.self_attention.qkv", *(f"{theirs}.attention.self.{part}" for part in ("query", "key", "value"))
        ),
        *linear(f"{ours}.self_attention.out.linear", f"{theirs}.attention.output.dense"),
        *norm(f"{ours}.self_attention_residual.norm", f"{theirs}.attention.output.LayerNorm"),
        *linear(f"{ours}.feed_forward.up", f"{theirs}.intermediate.dense"),
        *linear(f"{ours}.feed_forward.down", f"{theirs}.output.dense"),
        *norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.output.LayerNorm"),
    ]


def inputs() -> list[Line]:
    return [
        Line("inputs.embedding.weight", "{p}embeddings.word_embeddings.weight"),
        Line("inputs.segments.weight", "{p}embeddings.token_type_embeddings.weight"),
        *norm("inputs.norm", "{p}embeddings.LayerNorm"),
    ]


def words(config: Config, *, transform: str, transform_norm: str, decoder: str, bias: str) -> list[Line]:
    """The head for masked words. Where it is not tied, the bias that counts is the decoder's own."""
    lines = [*linear("head.linear", transform), *norm("head.norm", transform_norm)]
    if config.tied:
        return [*lines, Line("head.vocabulary.bias", bias)]
    return [*lines, *linear("head.vocabulary", decoder)]


def tied_words(config: Config, *, decoder: str, bias: str) -> Mapping[str, str]:
    if not config.tied:
        return {}
    return {f"{decoder}.weight": "{p}embeddings.word_embeddings.weight", f"{decoder}.bias": bias}


# config.json


def shape(theirs: Theirs) -> dict[str, Any]:
    """The fields that all of them have, under our names."""
    for field in ("is_decoder", "add_cross_attention"):
        fields.must_be(theirs, field, False)
    return {
        "vocabulary": fields.whole(theirs, "vocab_size"),
        "N": fields.whole(theirs, "num_hidden_layers"),
        "d": fields.whole(theirs, "hidden_size"),
        "h": fields.whole(theirs, "num_attention_heads"),
        "d_ff": fields.whole(theirs, "intermediate_size"),
        "dropout": fields.number(theirs, "hidden_dropout_prob", 0.1),
        "activation": fields.one_of(theirs, "hidden_act", fields.ACTIVATIONS, "gelu"),
        "norm_eps": fields.number(theirs, "layer_norm_eps", 1e-12),
        "segments": fields.whole(theirs, "type_vocab_size", 2),
        "tied": fields.flag(theirs, "tie_word_embeddings", True),
    }


def their_shape(bundle: Bundle, *, base: str, heads: Mapping[str, str]) -> dict[str, Any]:
    """The same under their names; `heads`: the name of the architecture with each head, after `base`."""
    config, marks = cast(Config, bundle.model.config), bundle.marks
    if isinstance(config, BertConfig) and config.head == "sentence" and config.pooling != "first":
        raise ExportError(
            f"model.pooling = {config.pooling!r}: Hugging Face's classifiers predict from the first token alone. To "
            "export a classifier, train it with --set model.pooling=first."
        )
    if rows := getattr(config, "word_odds", 0):
        raise ExportError(
            f"model.word_odds = {rows}: Hugging Face's models have no table of words beside them. To "
            "export a classifier, train it with --set model.word_odds=0."
        )
    if config.segments == 0 or getattr(config, "pooler_activation", "tanh") != "tanh":
        raise ExportError("segments = 0 and pooler_activation = 'relu' are DistilBERT's: this family has neither.")
    if config.casing:
        raise ExportError(
            "model.casing = true: this model also reads how words are capitalised, which transformers' models cannot. "
            "Train one with --set model.casing=false to export it."
        )
    return {
        "architectures": [base + heads[config.head]],
        "vocab_size": config.vocabulary,
        "num_hidden_layers": config.N,
        "hidden_size": config.d,
        "num_attention_heads": config.h,
        "intermediate_size": config.d_ff,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": 0.0,
        "hidden_act": fields.THEIR_ACTIVATIONS[config.activation],
        "layer_norm_eps": config.norm_eps,
        "type_vocab_size": config.segments,
        "tie_word_embeddings": config.tied,
        "pad_token_id": marks.pad,
        "bos_token_id": marks.bos,
        "eos_token_id": marks.eos,
        "dtype": "float32",
        **(their_labels(bundle, config.classes) if config.head in CLASSES else {}),
    }


def classes(theirs: Theirs) -> int:
    """How many classes there are; transformers writes no class names if there are two."""
    if architecture(theirs).endswith("ForMultipleChoice"):
        return 1
    return len(labels(theirs)) or fields.whole(theirs, "num_labels", 2)


def labels(theirs: Theirs) -> list[str]:
    """The names of the classes in order; empty if the file has none."""
    named = theirs.get("id2label")
    if named is None:
        return []
    if not isinstance(named, dict) or set(named) != {str(i) for i in range(len(named))}:
        raise fields.wrong(theirs, "id2label", "an object with the numbers of the classes, from 0 on, and their names")
    if not all(isinstance(one, str | int | float) for one in named.values()):
        raise fields.wrong(theirs, "id2label", "a name for each class")
    return [str(named[str(i)]) for i in range(len(named))]


def their_labels(bundle: Bundle, count: int) -> dict[str, Any]:
    names = bundle.extras.get("labels") or [f"LABEL_{i}" for i in range(count)]
    problem = bundle.extras.get("problem_type")
    return {
        "id2label": {str(i): name for i, name in enumerate(names)},
        "label2id": {n: i for i, n in enumerate(names)},
        **({"problem_type": problem} if problem else {}),
    }


def architecture(theirs: Theirs) -> str:
    named = fields.listed(theirs, "architectures", str)
    return named[0] if named else ""


def class_head(theirs: Theirs, names: frozenset[str], *, pooler: bool) -> str | None:
    """The head, by the tensors whose names are the same everywhere. Sentence and token heads share one name; the
    architecture distinguishes them, or else the presence of a pooler, which makes a vector of the whole sentence."""
    if "qa_outputs.weight" in names:
        return "span"
    if "classifier.out_proj.weight" in names:
        return "sentence"
    if "classifier.weight" not in names:
        return None
    tokens = architecture(theirs).endswith("ForTokenClassification") or not pooler
    return "tokens" if tokens else "sentence"


def has(names: frozenset[str], ending: str) -> bool:
    return any(name == ending or name.endswith("." + ending) for name in names)


# Further files


def read_extras(folder: Path, theirs: Theirs) -> dict[str, Any]:
    """The files that sentence-transformers adds to the model, and the names of the classes."""
    named, problem = labels(theirs), fields.one_of(theirs, "problem_type", PROBLEMS)
    found = {"labels": named, "problem_type": problem}
    sentences = sentence_folders.read(folder) or sentence_folders.tokens_read(optional_json(folder / TOKENIZER))
    return {**sentences, **{name: value for name, value in found.items() if value}}


def framed(bundle: Bundle) -> Bundle:
    """The same model; the tokenizer's file puts the special tokens around texts, if it does not do so yet."""
    tokenizer = bundle.tokenizer
    if tokenizer is None or frame_of(tokenizer) != Frame():
        return bundle
    return replace(bundle, tokenizer=with_frame(tokenizer, frame_for(tokenizer, bundle.marks)))


def write_extras(bundle: Bundle) -> dict[str, bytes]:
    return sentence_folders.written(bundle)
