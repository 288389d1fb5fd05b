"""BART (Lewis et al. 2019): the 2017 Transformer with post-norm, learned positions and a norm after the embeddings.

Its position tables begin with two rows that no position uses. Texts are <s> ... </s> on both sides, and outputs start
from </s>; some checkpoints force the first output token (forced_bos_token_id).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from glassformer.errors import ExportError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.keys import Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import marian
from glassformer.hub.huggingface.marks import GENERATION, first_id, generation_fields, optional_json
from glassformer.models.registry import values_of
from glassformer.models.transformer import TransformerConfig
from glassformer.store.bundle import Bundle

FIRST = "forced_bos_token_id"
NORMS = ("normalize_before", "add_final_layer_norm", "static_position_embeddings")  # of old files


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    fields.must_be(theirs, "decoder_attention_heads", fields.whole(theirs, "encoder_attention_heads"))
    fields.must_be(theirs, "decoder_ffn_dim", fields.whole(theirs, "encoder_ffn_dim"))
    fields.must_be(theirs, "tie_word_embeddings", True)
    fields.must_be(theirs, "normalize_embedding", True)
    for field in NORMS:
        fields.must_be(theirs, field, False)
    vocabulary = fields.whole(theirs, "vocab_size")
    return {
        "N": fields.whole(theirs, "encoder_layers"),
        "N_decoder": fields.whole(theirs, "decoder_layers"),
        "d": fields.whole(theirs, "d_model"),
        "h": fields.whole(theirs, "encoder_attention_heads"),
        "d_ff": fields.whole(theirs, "encoder_ffn_dim"),
        "dropout": fields.number(theirs, "dropout", 0.1),
        "norm": "post",
        "positions": "learned",
        "max_length": fields.whole(theirs, "max_position_embeddings", 1024),
        "activation": fields.one_of(theirs, "activation_function", fields.ACTIVATIONS, "gelu"),
        "tied": "all",
        "output_bias": "final_logits_bias" in names,
        "embedding_norm": True,
        "scaled_embedding": fields.flag(theirs, "scale_embedding", False),
        "source_vocabulary": vocabulary,
        "target_vocabulary": vocabulary,
    }


def read_generation(folder: Path, theirs: Theirs) -> dict[str, Any]:
    """How others decode with it. Old files have these settings in config.json."""
    found = marian.read_generation(folder, theirs)
    first = first_id(FIRST, optional_json(folder / GENERATION), theirs)
    return found if first is None else {**found, "first": first}


def write_generation(bundle: Bundle) -> dict[str, bytes]:
    content = json.loads(marian.write_generation(bundle)[GENERATION])
    if "first" in bundle.extras:
        content[FIRST] = bundle.extras["first"]
    return {GENERATION: (json.dumps({**content, **generation_fields(bundle.marks)}, indent=2) + "\n").encode()}


def from_config(bundle: Bundle) -> dict[str, Any]:
    config, marks = cast(TransformerConfig, bundle.model.config), bundle.marks
    is_like = config.norm == "post" and config.positions == "learned" and config.embedding_norm
    if not is_like or config.tied != "all":
        raise ExportError(
            "BART has model.norm = 'post', model.positions = 'learned', model.embedding_norm = true and model.tied = "
            "'all'; this model differs."
        )
    return {
        "model_type": "bart",
        "architectures": ["BartForConditionalGeneration"],
        "vocab_size": values_of(bundle.model)["target_vocabulary"],
        "d_model": config.d,
        "encoder_layers": config.N,
        "decoder_layers": config.N_decoder or config.N,
        **{f"{side}_attention_heads": config.h for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": config.d_ff for side in ("encoder", "decoder")},
        "activation_function": fields.THEIR_ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": config.scaled_embedding,
        "max_position_embeddings": config.max_length,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        "bos_token_id": marks.bos,
        "eos_token_id": marks.eos,
        "pad_token_id": marks.pad,
        "decoder_start_token_id": marks.start,
        FIRST: bundle.extras.get("first"),
        "forced_eos_token_id": None,
        "dtype": "float32",
    }


def lines(config: TransformerConfig) -> Sequence[Line]:
    own = []
    for side in ("encoder", "decoder"):
        own.append(Line(f"{side}.inputs.positions.weight", f"model.{side}.embed_positions.weight", "after_two"))
        own += marian.norm(f"{side}.inputs.norm", f"model.{side}.layernorm_embedding")
    return [*marian.lines(config), *own]


LAYOUT = Layout(
    model_types=("bart",),
    kind="transformer",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=marian.counts,
    tied=marian.tied,
    read_extras=read_generation,
    write_extras=write_generation,
)
