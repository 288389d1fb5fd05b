"""The decoder's step without taps: the same arithmetic with as few calls of torch as possible.

A step of decoding consists of a few small products, so the calls between them take a large share of its time. This is
`Decoder.advance` written out for one new token of each hypothesis, on the weights of the same modules; a test compares
the two.
Shapes: B sentences, k hypotheses of each, R = B*k rows, D width, H heads, E head width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.models.decoding.state import DecodingState
from glassformer.nn.attention import CrossAttention, SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.native.products import product
from glassformer.nn.norms import LayerNorm
from glassformer.nn.positions import Rotation, rotate
from glassformer.nn.residual import PreNorm

if TYPE_CHECKING:
    from glassformer.models.transformer import Decoder, DecoderBlock


def fast_advance(decoder: Decoder, ids: Tensor, state: DecodingState, lineage: Tensor | None) -> Tensor:
    """The next token of each hypothesis: ids (B, k) -> hidden states (B, k, D). Appends to the caches.

    lineage (B, 1, k, slots): which slots a hypothesis sees.
    """
    x = embed(decoder, ids.flatten(), state.length)  # (R, D)
    x = layer_norm(decoder.inputs.norm, x) if isinstance(decoder.inputs.norm, LayerNorm) else x
    rotation = None if decoder.rotary is None else decoder.rotary(1, start=state.length)
    for block, memory, cache in zip(decoder.blocks, state.memories, state.caches, strict=True):
        x = fast_block(cast("DecoderBlock", block), x, memory, cache, state, lineage, rotation)
    x = layer_norm(decoder.final_norm, x) if isinstance(decoder.final_norm, LayerNorm) else x
    return x.unflatten(0, ids.shape)


def embed(decoder: Decoder, ids: Tensor, position: int) -> Tensor:
    inputs = decoder.inputs
    vectors = F.embedding(ids, inputs.embedding.weight)
    if inputs.positions is None:
        return vectors * inputs.embedding.scale
    return torch.add(inputs.positions(1, start=position), vectors, alpha=inputs.embedding.scale)


def fast_block(
    block: DecoderBlock,
    x: Tensor,
    memory: tuple[Tensor, Tensor],
    cache: KVCache,
    state: DecodingState,
    lineage: Tensor | None,
    rotation: Rotation | None,
) -> Tensor:
    own, cross = block.self_attention_residual.norm, block.cross_attention_residual.norm
    last = block.feed_forward_residual.norm
    if isinstance(block.self_attention_residual, PreNorm):
        x = x + self_attention_step(block.self_attention, layer_norm(own, x), cache, state, lineage, rotation)
        x = x + cross_attention_step(block.cross_attention, layer_norm(cross, x), memory, state)
        return x + feed_forward_step(block, layer_norm(last, x))
    x = layer_norm(own, x + self_attention_step(block.self_attention, x, cache, state, lineage, rotation))
    x = layer_norm(cross, x + cross_attention_step(block.cross_attention, x, memory, state))
    return layer_norm(last, x + feed_forward_step(block, x))


def self_attention_step(
    attention: SelfAttention,
    x: Tensor,
    cache: KVCache,
    state: DecodingState,
    lineage: Tensor | None,
    rotation: Rotation | None,
) -> Tensor:
    """Attention to each hypothesis' own past, (R, D) -> (R, D)."""
    shape = (state.sentences, -1, 3, attention.heads, attention.head_width)
    q, k, v = product(attention.qkv, x).reshape(shape).permute(2, 0, 3, 1, 4)  # (B, H, k, E)
    if rotation is not None:
        q, k = rotate(q, rotation), rotate(k, rotation)
    keys, values = cache.append(k, v)
    return output_projection(
        attention, scaled_dot_product(q, keys, values, mask=lineage, scale=attention.core.scale), x
    )


def cross_attention_step(
    attention: CrossAttention, x: Tensor, memory: tuple[Tensor, Tensor], state: DecodingState
) -> Tensor:
    """Attention to the source, (R, D) -> (R, D)."""
    q = product(attention.query, x)
    q = q.reshape(state.sentences, -1, q.size(1) // attention.head_width, attention.head_width).transpose(1, 2)
    return output_projection(
        attention, scaled_dot_product(q, *memory, mask=state.memory_mask, scale=attention.core.scale), x
    )


def scaled_dot_product(q: Tensor, keys: Tensor, values: Tensor, *, mask: Tensor | None, scale: float | None) -> Tensor:
    """The fused kernel for one query per sentence; with several it uses threads badly, so plain products are faster."""
    if q.size(2) == 1 or q.device.type != "cpu":
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, scale=scale)
    scale = q.size(-1) ** -0.5 if scale is None else scale
    scores = torch.matmul(q * scale, keys.transpose(-1, -2))
    if mask is not None:
        scores += mask
    return torch.matmul(scores.softmax(dim=-1), values)


def output_projection(attention: SelfAttention | CrossAttention, z: Tensor, x: Tensor) -> Tensor:
    return product(attention.out.linear, z.transpose(1, 2).reshape(x.size(0), -1))


def feed_forward_step(block: DecoderBlock, x: Tensor) -> Tensor:
    feed_forward = block.feed_forward
    return product(feed_forward.down, feed_forward.activation(product(feed_forward.up, x)))


def layer_norm(norm: LayerNorm, x: Tensor) -> Tensor:
    return F.layer_norm(x, norm.gain.shape, norm.gain, norm.bias, norm.eps)
