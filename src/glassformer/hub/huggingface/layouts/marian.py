"""MarianMT (OPUS-MT): the 2017 Transformer with post-norm, all sines before all cosines, a bias on the logits.

Its file has no positions: they are computed. Models with the paper's own order of sines and cosines can also be
written: the numbers of every vector are reordered, which changes nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from glassformer.errors import ExportError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.keys import Counts, Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.marks import GENERATION, TOKENIZER, generation_fields, optional_json
from glassformer.models.registry import build, values_of
from glassformer.models.transformer import TransformerConfig
from glassformer.store.bundle import Bundle
from glassformer.store.weights import load_weights, weights_of

MOST_BEAMS = 1000  # as in the settings
POSITIONS = 1024  # size of the table that transformers makes
SHARED = "model.shared.weight"
GENERATED = {"beam": "num_beams", "alpha": "length_penalty", "no_repeat": "no_repeat_ngram_size"}
EMBEDDED = "model.{side}.embed_tokens.weight"


# config.json


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    refuse_unknown(theirs)
    shared = fields.flag(theirs, "share_encoder_decoder_embeddings", True)
    tied = fields.flag(theirs, "tie_word_embeddings", True)
    if shared:
        fields.must_be(theirs, "tie_word_embeddings", True)
    source = fields.whole(theirs, "vocab_size")
    return {
        "N": fields.whole(theirs, "encoder_layers"),
        "N_decoder": fields.whole(theirs, "decoder_layers"),
        "d": fields.whole(theirs, "d_model"),
        "h": fields.whole(theirs, "encoder_attention_heads"),
        "d_ff": fields.whole(theirs, "encoder_ffn_dim"),
        "dropout": fields.number(theirs, "dropout", 0.1),
        "norm": "post",
        "positions": "sinusoidal-halves",
        "activation": fields.one_of(theirs, "activation_function", fields.ACTIVATIONS, "gelu"),
        "tied": "all" if shared else "output" if tied else "none",
        "output_bias": "final_logits_bias" in names,
        "source_vocabulary": source,
        "target_vocabulary": source if shared else fields.whole(theirs, "decoder_vocab_size", source),
    }


def refuse_unknown(theirs: Theirs) -> None:
    """Refuses other values of fields that this model fixes. Some of them are only in old files."""
    fields.one_of(theirs, "scale_embedding", {True: True}, False)
    fields.must_be(theirs, "decoder_attention_heads", fields.whole(theirs, "encoder_attention_heads"))
    fields.must_be(theirs, "decoder_ffn_dim", fields.whole(theirs, "encoder_ffn_dim"))
    fields.must_be(theirs, "static_position_embeddings", True)
    for field in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "add_bias_logits"):
        fields.must_be(theirs, field, False)


def read_generation(folder: Path, theirs: Theirs) -> dict[str, Any]:
    """How others decode with it: beam, length penalty, forbidden tokens. Old files have these in config.json."""
    generation = fields.Fields({**theirs, **optional_json(folder / GENERATION)}, origin=folder / GENERATION)
    about = optional_json(folder / TOKENIZER)
    languages = [fields.text(about, f"{side}_lang") for side in ("source", "target")]
    found = {
        "beam": None if generation.get("num_beams") is None else fields.whole(generation, "num_beams", most=MOST_BEAMS),
        "alpha": fields.number(generation, "length_penalty", 0.0),
        "no_repeat": fields.whole(generation, "no_repeat_ngram_size", 0, least=0),
        "never": forbidden_tokens(generation),
        "languages": [language for language in languages if language],
        "max_length": fields.whole(theirs, "max_position_embeddings", 0, least=0),
    }
    return {name: value for name, value in found.items() if value}


def forbidden_tokens(generation: Theirs) -> list[int]:
    """Forbidden tokens. Words of several tokens are ignored, as in other programs that read these files."""
    words = fields.listed(generation, "bad_words_ids", list)
    if not all(fields.is_whole(number, least=0) for word in words for number in word):
        raise fields.wrong(generation, "bad_words_ids", "a list of lists of ids")
    return [word[0] for word in words if len(word) == 1]


def write_generation(bundle: Bundle) -> dict[str, bytes]:
    """generation_config.json with all these settings."""
    extras, never = bundle.extras, bundle.extras.get("never", [])
    content = {
        **generation_fields(bundle.marks),
        **{their: extras[name] for name, their in GENERATED.items() if name in extras},
        "max_length": extras.get("max_length", POSITIONS),
        **({"bad_words_ids": [[number] for number in never]} if never else {}),
    }
    return {GENERATION: (json.dumps(content, indent=2) + "\n").encode()}


def from_config(bundle: Bundle) -> dict[str, Any]:
    config = cast(TransformerConfig, bundle.model.config)
    if config.norm != "post":
        raise ExportError("model.norm = 'pre': MarianMT has its norms after the sub-layers (model.norm = 'post').")
    return {"model_type": "marian", "architectures": ["MarianMTModel"], **common_fields(bundle)}


def common_fields(bundle: Bundle) -> dict[str, Any]:
    """The fields that MarianMT and Pegasus have in common."""
    config, marks = cast(TransformerConfig, bundle.model.config), bundle.marks
    refuse_positions(config)
    counts = values_of(bundle.model)
    return {
        "vocab_size": counts["source_vocabulary"],
        "decoder_vocab_size": counts["target_vocabulary"],
        "share_encoder_decoder_embeddings": config.tied == "all",
        "tie_word_embeddings": config.tied != "none",
        "d_model": config.d,
        "encoder_layers": config.N,
        "decoder_layers": config.N_decoder or config.N,
        **{f"{side}_attention_heads": config.h for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": config.d_ff for side in ("encoder", "decoder")},
        "activation_function": fields.THEIR_ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "max_position_embeddings": bundle.extras.get("max_length", POSITIONS),
        "is_encoder_decoder": True,
        "bos_token_id": marks.bos,
        "eos_token_id": marks.eos,
        "pad_token_id": marks.pad,
        "decoder_start_token_id": marks.start,
        "forced_eos_token_id": None,
        "dtype": "float32",
    }


def refuse_positions(config: TransformerConfig) -> None:
    if config.embedding_norm or not config.scaled_embedding:
        raise ExportError("A norm after the embeddings, or unscaled embeddings: only BART models have them.")
    if config.positions not in ("sinusoidal", "sinusoidal-halves"):
        raise ExportError(
            f"model.positions = {config.positions!r}: `transformers` has no encoder-decoder like this one with such "
            "positions. Models with sinusoidal positions can be exported."
        )


def in_halves(bundle: Bundle) -> Bundle:
    """The same model with all sines before all cosines: all vectors between the blocks get the same new order."""
    config = cast(TransformerConfig, bundle.model.config)
    if config.positions == "sinusoidal-halves":
        return bundle
    order = torch.cat([torch.arange(0, config.d, 2), torch.arange(1, config.d, 2)])
    values = values_of(bundle.model) | {"positions": "sinusoidal-halves"}
    model = build("transformer", values).to(next(bundle.model.parameters()).dtype)
    weights = {name: reordered(name, weight, order) for name, weight in weights_of(bundle.model).items()}
    load_weights(model, weights, origin="the model")
    return replace(bundle, model=model.eval())


READS = ("embedding.weight", "qkv.weight", "query.weight", "key_value.weight", "up.weight", "head.weight")
WRITES = ("out.linear.weight", "out.linear.bias", "down.weight", "down.bias", "norm.gain", "norm.bias")


def reordered(name: str, weight: Tensor, order: Tensor) -> Tensor:
    """Reorders the columns of a matrix that reads those vectors, and the rows of one that writes them."""
    weight = weight.cpu()
    return weight[:, order] if name.endswith(READS) else weight[order] if name.endswith(WRITES) else weight


# The key map


def norm(ours: str, theirs: str) -> list[Line]:
    return [Line(f"{ours}.gain", f"{theirs}.weight"), Line(f"{ours}.bias", f"{theirs}.bias")]


def linear(ours: str, *theirs: str) -> list[Line]:
    return [Line(f"{ours}.{kind}", tuple(f"{name}.{kind}" for name in theirs)) for kind in ("weight", "bias")]


def block(side: str, counter: str) -> list[Line]:
    """One block of the encoder, and what a block of the decoder has in common with it."""
    ours, theirs = f"{side}.blocks.{counter}", f"model.{side}.layers.{counter}"
    return [
        *linear(f"{ours}.self_attention.qkv", *(f"{theirs}.self_attn.{part}_proj" for part in "qkv")),
        *linear(f"{ours}.self_attention.out.linear", f"{theirs}.self_attn.out_proj"),
        *norm(f"{ours}.self_attention_residual.norm", f"{theirs}.self_attn_layer_norm"),
        *linear(f"{ours}.feed_forward.up", f"{theirs}.fc1"),
        *linear(f"{ours}.feed_forward.down", f"{theirs}.fc2"),
        *norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm"),
    ]


def cross_attention(counter: str) -> list[Line]:
    ours, theirs = f"decoder.blocks.{counter}", f"model.decoder.layers.{counter}"
    return [
        *linear(f"{ours}.cross_attention.query", f"{theirs}.encoder_attn.q_proj"),
        *linear(f"{ours}.cross_attention.key_value", *(f"{theirs}.encoder_attn.{part}_proj" for part in "kv")),
        *linear(f"{ours}.cross_attention.out.linear", f"{theirs}.encoder_attn.out_proj"),
        *norm(f"{ours}.cross_attention_residual.norm", f"{theirs}.encoder_attn_layer_norm"),
    ]


def embeddings(config: TransformerConfig) -> list[Line]:
    sides = ["encoder"] if config.tied == "all" else ["encoder", "decoder"]
    theirs = SHARED if config.tied == "all" else EMBEDDED
    lines = [Line(f"{side}.inputs.embedding.weight", theirs.format(side=side)) for side in sides]
    if config.tied == "none":
        lines.append(Line("head.weight", "lm_head.weight"))
    if config.output_bias:
        lines.append(Line("head.bias", "final_logits_bias", "row"))
    return lines


def lines(config: TransformerConfig) -> Sequence[Line]:
    return [*embeddings(config), *block("encoder", "{i}"), *block("decoder", "{j}"), *cross_attention("{j}")]


def counts(config: TransformerConfig) -> Counts:
    return {"i": config.N, "j": config.N_decoder or config.N}


def tied(config: TransformerConfig) -> Mapping[str, str]:
    encoder, decoder = (EMBEDDED.format(side=side) for side in ("encoder", "decoder"))
    options = {
        "all": {encoder: SHARED, decoder: SHARED, "lm_head.weight": SHARED},
        "output": {"lm_head.weight": decoder},
        "none": {},
    }
    return options[config.tied]


LAYOUT = Layout(
    model_types=("marian",),
    kind="transformer",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    tied=tied,
    sinusoids=("model.*.embed_positions.weight",),
    expressed=in_halves,
    read_extras=read_generation,
    write_extras=write_generation,
)
