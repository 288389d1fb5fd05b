"""Steps of whole blocks, whose parts have the same names in every model."""

from __future__ import annotations

from typing import Protocol

from torch import nn

from glassformer.explain.programs.attention import View, cross_attention, self_attention
from glassformer.explain.programs.experts import experts
from glassformer.explain.programs.layers import feed_forward, residual
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.attention import CrossAttention, SelfAttention
from glassformer.nn.experts import Experts
from glassformer.nn.feed_forward import FeedForward


class WithFeedForward(Protocol):
    """The last part of every block."""

    @property
    def feed_forward(self) -> FeedForward | Experts: ...
    @property
    def feed_forward_residual(self) -> nn.Module: ...


class EncoderBlock(WithFeedForward, Protocol):
    """Self-attention and feed-forward, each with its residual connection."""

    @property
    def self_attention(self) -> SelfAttention: ...
    @property
    def self_attention_residual(self) -> nn.Module: ...


class DecoderBlock(EncoderBlock, Protocol):
    """Between the two it reads an encoder's output."""

    @property
    def cross_attention(self) -> CrossAttention: ...
    @property
    def cross_attention_residual(self) -> nn.Module: ...


class OnlyBlock(WithFeedForward, Protocol):
    """In a decoder without an encoder."""

    @property
    def attention(self) -> SelfAttention: ...
    @property
    def attention_residual(self) -> nn.Module: ...


def encoder_block(w: Writer, block: EncoderBlock, x: Value, view: View, *, place: str) -> Value:
    """In a model with one stack the place is the block's number, and its attention is just attention."""
    w.part = f"{place}.self_attention" if "." in place else f"{place}.attention"
    x = residual(w, block.self_attention_residual, x, lambda x: self_attention(w, block.self_attention, x, view))
    return fed_forward(w, block, x, place=place)


def decoder_block(w: Writer, block: DecoderBlock, x: Value, memory: Value, view: View, *, place: str) -> Value:
    w.part = f"{place}.self_attention"
    x = residual(w, block.self_attention_residual, x, lambda x: self_attention(w, block.self_attention, x, view))
    w.part = f"{place}.cross_attention"
    x = residual(w, block.cross_attention_residual, x, lambda x: cross_attention(w, block.cross_attention, x, memory))
    return fed_forward(w, block, x, place=place)


def only_block(w: Writer, block: OnlyBlock, x: Value, view: View, *, place: str) -> Value:
    w.part = f"{place}.attention"
    x = residual(w, block.attention_residual, x, lambda x: self_attention(w, block.attention, x, view))
    return fed_forward(w, block, x, place=place)


def fed_forward(w: Writer, block: WithFeedForward, x: Value, *, place: str) -> Value:
    w.part = f"{place}.feed_forward"
    inner = block.feed_forward
    if isinstance(inner, Experts):
        return residual(w, block.feed_forward_residual, x, lambda x: experts(w, inner, x))
    return residual(w, block.feed_forward_residual, x, lambda x: feed_forward(w, inner, x))
