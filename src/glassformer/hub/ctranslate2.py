"""A translator as a folder for CTranslate2, the C++ engine. Needs the package `ctranslate2`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from glassformer.errors import ExportError
from glassformer.hub.exported import needed
from glassformer.models.transformer import DecoderBlock, EncoderBlock, Inputs, Transformer
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.norms import LayerNorm
from glassformer.nn.positions import LearnedPositions

if TYPE_CHECKING:
    from numpy.typing import NDArray

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}
POSITIONS = 4096  # of sinusoidal positions; the engine has them as a table


def write_ctranslate2(
    model: Transformer, folder: Path, *, source: Sequence[str], target: Sequence[str], marks: dict[str, str]
) -> None:
    """Writes weights and vocabularies. `marks` are the texts of unk, bos and eos; source sentences get an eos."""
    refuse_unknown(model)
    spec = specification(model)
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    for name, token in marks.items():
        setattr(spec.config, f"{name}_token", token)
    spec.config.decoder_start_token = marks["bos"]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = 1e-5
    spec.validate()
    spec.optimize()
    spec.save(str(folder))


def refuse_unknown(model: Transformer) -> None:
    if model.config.embedding_norm or not model.config.scaled_embedding:
        raise ExportError("A BART model (a norm after the embeddings): export it with --to huggingface instead.")
    if model.config.positions == "rotary":
        raise ExportError(
            "model.positions = 'rotary': CTranslate2 has no rotary positions in encoder-decoders. It can take models "
            "with sinusoidal or learned positions."
        )


def specification(model: Transformer) -> Any:
    """CTranslate2's description of the model with our weights in it."""
    specs = needed("ctranslate2.specs")
    config = model.config
    spec = specs.TransformerSpec.from_config(
        (config.N, config.N_decoder or config.N),
        config.h,
        pre_norm=config.norm == "pre",
        activation=getattr(specs.Activation, ACTIVATIONS[config.activation]),
    )
    fill_inputs(spec.encoder, spec.encoder.embeddings[0], model.encoder.inputs)
    fill_inputs(spec.decoder, spec.decoder.embeddings, model.decoder.inputs)
    for layer, block in zip(spec.encoder.layer, model.encoder.blocks, strict=True):
        fill_encoder_layer(layer, cast(EncoderBlock, block))
    for layer, block in zip(spec.decoder.layer, model.decoder.blocks, strict=True):
        fill_decoder_layer(layer, cast(DecoderBlock, block))
    if config.norm == "pre":
        fill_norm(spec.encoder.layer_norm, cast(LayerNorm, model.encoder.final_norm))
        fill_norm(spec.decoder.layer_norm, cast(LayerNorm, model.decoder.final_norm))
    spec.decoder.projection.weight = numbers(model.head.weight)
    if model.head.bias is not None:
        spec.decoder.projection.bias = numbers(model.head.bias)
    return spec


def fill_inputs(side: Any, embeddings: Any, inputs: Inputs) -> None:
    embeddings.weight = numbers(inputs.embedding.weight)
    side.scale_embeddings = inputs.embedding.scale != 1.0
    positions = inputs.positions
    assert positions is not None  # rotary was refused
    table = positions.weight if isinstance(positions, LearnedPositions) else positions.make(POSITIONS)
    side.position_encodings.encodings = numbers(table)


def fill_encoder_layer(layer: Any, block: EncoderBlock) -> None:
    own = block.self_attention
    fill_norm(layer.self_attention.layer_norm, block.self_attention_residual.norm)
    fill_linears(layer.self_attention.linear, own.qkv, own.out.linear)
    fill_feed_forward(layer.ffn, block.feed_forward, block.feed_forward_residual.norm)


def fill_decoder_layer(layer: Any, block: DecoderBlock) -> None:
    own, cross = block.self_attention, block.cross_attention
    fill_norm(layer.self_attention.layer_norm, block.self_attention_residual.norm)
    fill_linears(layer.self_attention.linear, own.qkv, own.out.linear)
    fill_norm(layer.attention.layer_norm, block.cross_attention_residual.norm)
    fill_linears(layer.attention.linear, cross.query, cross.key_value, cross.out.linear)
    fill_feed_forward(layer.ffn, block.feed_forward, block.feed_forward_residual.norm)


def fill_feed_forward(ffn: Any, feed_forward: FeedForward, norm: LayerNorm) -> None:
    fill_norm(ffn.layer_norm, norm)
    fill_linears([ffn.linear_0, ffn.linear_1], feed_forward.up, feed_forward.down)


def fill_norm(spec: Any, norm: LayerNorm) -> None:
    spec.gamma = numbers(norm.gain)
    spec.beta = numbers(torch.zeros_like(norm.gain) if norm.bias is None else norm.bias)


def fill_linears(specs: Sequence[Any], *linears: nn.Linear) -> None:
    for spec, linear in zip(specs, linears, strict=True):
        spec.weight = numbers(linear.weight)
        if linear.bias is not None:
            spec.bias = numbers(linear.bias)


def numbers(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()
