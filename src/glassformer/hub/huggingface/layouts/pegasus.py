"""Pegasus: like MarianMT, but with pre-norm and a last norm. Our own default model is written in this layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from glassformer.errors import ExportError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.keys import Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import marian
from glassformer.models.transformer import TransformerConfig
from glassformer.nn.positions import sinusoidal_halves
from glassformer.store.bundle import Bundle

POSITIONS = "model.{side}.embed_positions.weight"
LEFT_OUT = ("decoder_vocab_size", "share_encoder_decoder_embeddings")  # of MarianMT's fields


def to_config(theirs: Theirs, names: frozenset[str]) -> dict[str, Any]:
    for field in ("normalize_before", "add_final_layer_norm"):  # of old files
        fields.must_be(theirs, field, True)
    fields.must_be(theirs, "tie_word_embeddings", True)
    same = {**theirs, "normalize_before": False, "add_final_layer_norm": False}
    return {**marian.to_config(same, names), "norm": "pre"}


def from_config(bundle: Bundle) -> dict[str, Any]:
    config = cast(TransformerConfig, bundle.model.config)
    if config.norm != "pre":
        raise ExportError("model.norm = 'post': Pegasus has its norms before the sub-layers (model.norm = 'pre').")
    if config.tied != "all":
        raise ExportError(
            f"model.norm = 'pre' with model.tied = {config.tied!r}: `transformers` has encoder-decoders of this kind "
            "only with one matrix for both embeddings and the output (model.tied = 'all'), or with model.norm = 'post'."
        )
    common = {name: value for name, value in marian.common_fields(bundle).items() if name not in LEFT_OUT}
    return {"model_type": "pegasus", "architectures": ["PegasusForConditionalGeneration"], **common}


def lines(config: TransformerConfig) -> Sequence[Line]:
    norms = [marian.norm(f"{side}.final_norm", f"model.{side}.layer_norm") for side in ("encoder", "decoder")]
    return [*marian.lines(config), *norms[0], *norms[1]]


def positions(bundle: Bundle) -> Mapping[str, Tensor]:
    """The position tables, which Pegasus has in its files although they are computed."""
    config = cast(TransformerConfig, bundle.model.config)
    length = bundle.extras.get("max_length", marian.POSITIONS)
    table = sinusoidal_halves(length, config.d).to(torch.float32)
    return {POSITIONS.format(side=side): table.clone() for side in ("encoder", "decoder")}


LAYOUT = Layout(
    model_types=("pegasus",),
    kind="transformer",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=marian.counts,
    tied=marian.tied,
    constants=positions,
    sinusoids=("model.*.embed_positions.weight",),
    expressed=marian.in_halves,
    read_extras=marian.read_generation,
    write_extras=marian.write_generation,
)
