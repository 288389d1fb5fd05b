"""The same numbers as `torch.nn`, with its weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from glassformer.models.transformer import DecoderBlock, EncoderBlock, TransformerConfig
from glassformer.nn.attention import CrossAttention, SelfAttention
from glassformer.nn.masks import padding_mask
from glassformer.nn.norms import LayerNorm, RMSNorm

pytestmark = pytest.mark.usefixtures("double")

B, T, S, D, H, INNER = 2, 5, 7, 15, 3, 11
LENGTHS = torch.tensor([7, 3])


def filled(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module.eval()


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)


def copy_linear(ours: nn.Linear, weight: Tensor, bias: Tensor) -> None:
    ours.load_state_dict({"weight": weight, "bias": bias})


def copy_self(ours: SelfAttention, theirs: nn.MultiheadAttention) -> None:
    copy_linear(ours.qkv, theirs.in_proj_weight, theirs.in_proj_bias)
    copy_linear(ours.out.linear, theirs.out_proj.weight, theirs.out_proj.bias)


def copy_cross(ours: CrossAttention, theirs: nn.MultiheadAttention) -> None:
    copy_linear(ours.query, theirs.in_proj_weight[:D], theirs.in_proj_bias[:D])
    copy_linear(ours.key_value, theirs.in_proj_weight[D:], theirs.in_proj_bias[D:])
    copy_linear(ours.out.linear, theirs.out_proj.weight, theirs.out_proj.bias)


def copy_norm(ours: LayerNorm, theirs: nn.LayerNorm) -> None:
    ours.load_state_dict({"gain": theirs.weight, "bias": theirs.bias})


def hidden_keys() -> Tensor:
    return ~padding_mask(LENGTHS, S)[:, 0, 0]


@pytest.mark.parametrize("causal", [True, False])
def test_self_attention_equals_multihead_attention(causal: bool) -> None:
    theirs = filled(nn.MultiheadAttention(D, H, batch_first=True))
    ours = SelfAttention(D, heads=H)
    copy_self(ours, theirs)
    x = torch.randn(B, S, D)
    future = torch.ones(S, S, dtype=torch.bool).triu(1) if causal else None
    expected, _ = theirs(x, x, x, key_padding_mask=hidden_keys(), attn_mask=future, need_weights=True)
    close(ours(x, mask=padding_mask(LENGTHS, S), causal=causal), expected)


def test_cross_attention_equals_multihead_attention() -> None:
    theirs = filled(nn.MultiheadAttention(D, H, batch_first=True))
    ours = CrossAttention(D, heads=H)
    copy_cross(ours, theirs)
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    expected, _ = theirs(x, memory, memory, key_padding_mask=hidden_keys())
    close(ours(x, ours.read(memory), mask=padding_mask(LENGTHS, S)), expected)


def test_layer_norm_and_rms_norm_equal_torch() -> None:
    x = torch.randn(B, T, D)
    theirs = filled(nn.LayerNorm(D))
    ours = LayerNorm(D)
    copy_norm(ours, theirs)
    close(ours(x), theirs(x))
    rms = filled(nn.RMSNorm(D, eps=1e-6))
    our_rms = RMSNorm(D)
    our_rms.load_state_dict({"gain": rms.weight})
    close(our_rms(x), rms(x))


def config(norm: str, activation: str) -> TransformerConfig:
    return TransformerConfig(N=1, d=D, h=H, d_ff=INNER, dropout=0.1, norm=norm, activation=activation)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_encoder_block_equals_torch(norm: str, activation: str) -> None:
    theirs = filled(
        nn.TransformerEncoderLayer(D, H, INNER, activation=activation, batch_first=True, norm_first=norm == "pre")
    )
    ours = EncoderBlock(config(norm, activation)).eval()
    copy_self(ours.self_attention, theirs.self_attn)
    copy_linear(ours.feed_forward.up, theirs.linear1.weight, theirs.linear1.bias)
    copy_linear(ours.feed_forward.down, theirs.linear2.weight, theirs.linear2.bias)
    copy_norm(ours.self_attention_residual.norm, theirs.norm1)
    copy_norm(ours.feed_forward_residual.norm, theirs.norm2)
    x = torch.randn(B, S, D)
    theirs.train().apply(no_dropout)  # in eval it may take a path that zeroes the padded rows
    close(ours(x, mask=padding_mask(LENGTHS, S), rotation=None), theirs(x, src_key_padding_mask=hidden_keys()))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_decoder_block_equals_torch(norm: str, activation: str) -> None:
    theirs = filled(
        nn.TransformerDecoderLayer(D, H, INNER, activation=activation, batch_first=True, norm_first=norm == "pre")
    )
    ours = DecoderBlock(config(norm, activation)).eval()
    copy_self(ours.self_attention, theirs.self_attn)
    copy_cross(ours.cross_attention, theirs.multihead_attn)
    copy_linear(ours.feed_forward.up, theirs.linear1.weight, theirs.linear1.bias)
    copy_linear(ours.feed_forward.down, theirs.linear2.weight, theirs.linear2.bias)
    copy_norm(ours.self_attention_residual.norm, theirs.norm1)
    copy_norm(ours.cross_attention_residual.norm, theirs.norm2)
    copy_norm(ours.feed_forward_residual.norm, theirs.norm3)
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    expected = theirs(x, memory, tgt_mask=future, memory_key_padding_mask=hidden_keys())
    keys_values = ours.cross_attention.read(memory)
    got = ours(x, keys_values, memory_mask=padding_mask(LENGTHS, S), rotation=None, cache=None)
    close(got, expected)


def no_dropout(module: nn.Module) -> None:
    if isinstance(module, nn.Dropout):
        module.p = 0.0
    if isinstance(module, nn.MultiheadAttention):
        module.dropout = 0.0
