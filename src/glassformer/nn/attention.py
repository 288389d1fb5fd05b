"""Attention, from the parameter-free mixture of vectors to multi-head attention with a cache.

Shapes: B batch, T queries, K keys, D width, H heads, G key/value heads, E head width.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.cache import KVCache
from glassformer.nn.linear import Linear
from glassformer.nn.masks import additive, causal_mask
from glassformer.nn.native import attention as native
from glassformer.nn.positions import Rotation, rotate
from glassformer.nn.short_attention import short_attention, suits
from glassformer.nn.taps import Tap


def parameter_free_attention(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """softmax(E E^T) E: each vector becomes a mixture of all, weighted by similarity. Nothing is learned.

    vectors (T, D) -> the mixtures (T, D) and the weights (T, T), whose rows sum to 1.
    """
    weights = torch.softmax(vectors @ vectors.mT, dim=-1)  # (T, T)
    return weights @ vectors, weights


def attend(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """softmax(Q K^T / sqrt(d_k) + M) V as the paper writes it (2017, equation 1), and the pattern it used."""
    scores = query @ key.mT / math.sqrt(query.size(-1))  # (..., T, K)
    pattern = torch.softmax(scores if mask is None else scores + mask, dim=-1)
    return pattern @ value, pattern


class ScaledDotProduct(nn.Module):
    """softmax(Q K^T / sqrt(E) + M) V (Vaswani et al. 2017, equation 1), in every head at once.

    Computed by torch's fused kernel; in training on a CPU by ours, or without a C compiler by batched products. While
    something listens at its taps, the plain formula is used, and the taps give the raw, scaled and masked scores and
    the pattern.
    """

    def __init__(self, *, scale: float | None = None) -> None:
        super().__init__()
        self.scale = scale
        self.scores, self.scaled, self.masked, self.pattern = Tap(), Tap(), Tap(), Tap()

    @property
    def heard(self) -> bool:
        return self.scores.heard or self.scaled.heard or self.masked.heard or self.pattern.heard

    def forward(self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """q (B, H, T, E), k and v (B, G, K, E), mask broadcastable to (B, H, T, K) -> z (B, H, T, E)."""
        causal = causal and q.size(2) > 1  # one query is at the last key: nothing to hide
        scale = 1 / math.sqrt(q.size(-1)) if self.scale is None else self.scale
        if not self.heard and native.suits(q, k, v, mask):
            return native.attention(q, k, v, mask=mask, causal=causal, scale=scale)
        if causal and (mask is not None or q.size(2) != k.size(2) or self.heard or suits(q, k, None)):
            mask = with_causality(mask, q, k)
            causal = False
        if self.heard:
            return self.plain(q, k, v, mask)
        if not causal and suits(q, k, mask):
            k, v = (repeat_heads(x, q.size(1)) for x in (k, v))  # (B, H, K, E)
            return short_attention(q, k, v, mask, scale)
        grouped = q.size(1) != k.size(1)
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal, scale=self.scale, enable_gqa=grouped
        )

    def plain(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """The formula step by step, through the taps."""
        k, v = (repeat_heads(x, q.size(1)) for x in (k, v))  # (B, H, K, E)
        scores = self.scores(q @ k.mT)  # (B, H, T, K)
        scale = 1 / math.sqrt(q.size(-1)) if self.scale is None else self.scale
        scaled = self.scaled(scores * scale)
        masked = self.masked(scaled if mask is None else scaled + additive(mask, scaled.dtype))
        hidden = masked == float("-inf")  # a query that sees no key gets zeros, as in the fused kernel
        pattern = self.pattern(torch.softmax(masked, dim=-1).masked_fill(hidden, 0.0))
        return pattern @ v


def with_causality(mask: Tensor | None, q: Tensor, k: Tensor) -> Tensor:
    """The additive mask that also hides the future; the last query is at the last key."""
    causal = causal_mask(q.size(2), k.size(2), dtype=q.dtype, device=q.device)  # (T, K)
    return causal if mask is None else causal + additive(mask, q.dtype)


def repeat_heads(x: Tensor, heads: int) -> Tensor:
    """(B, G, K, E) -> (B, H, K, E): each key/value head serves H/G query heads (grouped-query attention)."""
    return x if x.size(1) == heads else x.repeat_interleave(heads // x.size(1), dim=1)


class HeadsOut(nn.Module):
    """Concat(head_1 ... head_H) W_O, with a tap for what each head adds by itself."""

    def __init__(self, width: int, *, heads: int, head_width: int, bias: bool) -> None:
        super().__init__()
        self.linear = Linear(heads * head_width, width, bias=bias)
        self.z, self.head_result = Tap(), Tap()
        nn.init.xavier_uniform_(self.linear.weight)
        if bias:
            nn.init.zeros_(self.linear.bias)

    def forward(self, z: Tensor, *, rows: Tensor | None = None) -> Tensor:
        """(B, H, T, E) -> (B, T, D), or (M, D) of some rows of the flattened batch."""
        z = self.z(z)  # (B, H, T, E)
        if self.head_result.heard:
            per_head = self.linear.weight.unflatten(1, (z.size(1), z.size(3)))  # (D, H, E)
            self.head_result(torch.einsum("bhte,dhe->bhtd", z, per_head))
        joined = z.transpose(1, 2).flatten(2)  # (B, T, H*E)
        return self.linear(joined if rows is None else joined.flatten(0, 1).index_select(0, rows))


class SelfAttention(nn.Module):
    """Multi-head self-attention: queries, keys and values all come from x, in one product."""

    def __init__(
        self,
        width: int,
        *,
        heads: int,
        kv_heads: int | None = None,
        head_width: int | None = None,
        bias: bool = True,
        out_bias: bool | None = None,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads or heads
        self.head_width = head_width or width // heads
        self.rows = [self.heads * self.head_width] + 2 * [self.kv_heads * self.head_width]
        self.qkv = Projections(width, self.rows, bias=bias)
        self.q, self.k, self.v = Tap(), Tap(), Tap()
        self.core = ScaledDotProduct(scale=scale)
        out_bias = bias if out_bias is None else out_bias
        self.out = HeadsOut(width, heads=heads, head_width=self.head_width, bias=out_bias)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        rotation: Rotation | None = None,
        cache: KVCache | None = None,
        rows: Tensor | None = None,
    ) -> Tensor:
        """x (B, T, D) -> (B, T, D). With a cache, x continues the tokens in the cache. With `rows`: those alone."""
        q, k, v = (split_heads(part, self.head_width) for part in self.qkv(x).split(self.rows, dim=-1))
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        q, k, v = self.q(q), self.k(k), self.v(v)  # (B, H, T, E), (B, G, T, E) twice
        if cache is not None:
            k, v = cache.append(k, v)  # (B, G, K, E)
        return self.out(self.core(q, k, v, mask=mask, causal=causal), rows=rows)


class CrossAttention(nn.Module):
    """Multi-head attention whose queries come from x and whose keys and values come from a memory."""

    def __init__(
        self,
        width: int,
        *,
        heads: int,
        head_width: int | None = None,
        bias: bool = True,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        self.head_width = width // heads if head_width is None else head_width
        self.rows = 2 * [heads * self.head_width]
        self.query = Projections(width, [heads * self.head_width], bias=bias)
        self.key_value = Projections(width, self.rows, bias=bias)
        self.q, self.k, self.v = Tap(), Tap(), Tap()
        self.core = ScaledDotProduct(scale=scale)
        self.out = HeadsOut(width, heads=heads, head_width=self.head_width, bias=bias)

    def read(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values of a memory (B, S, D): both (B, G, S, E). In decoding, once per sentence."""
        k, v = (split_heads(part, self.head_width) for part in self.key_value(memory).split(self.rows, dim=-1))
        return self.k(k), self.v(v)

    def forward(self, x: Tensor, keys_values: tuple[Tensor, Tensor], *, mask: Tensor | None = None) -> Tensor:
        """x (R, T, D) with R a multiple of the memory's B: the hypotheses of a sentence follow each other and become
        further queries of that sentence, so its keys and values exist once, not once per hypothesis."""
        k, v = keys_values
        queries = x.reshape(k.size(0), -1, x.size(2))  # (B, R/B*T, D)
        q = self.q(split_heads(self.query(queries), self.head_width))  # (B, H, R/B*T, E)
        return self.out(self.core(q, k, v, mask=mask)).view(x.shape)


class Projections(Linear):
    """One Linear that holds several projections below each other, each initialised by itself."""

    def __init__(self, width: int, rows: list[int], *, bias: bool) -> None:
        super().__init__(width, sum(rows), bias=bias)
        self.rows = rows  # of each projection
        for part in self.weight.split(rows):
            nn.init.xavier_uniform_(part)
        if bias:
            nn.init.zeros_(self.bias)


def split_heads(x: Tensor, head_width: int) -> Tensor:
    """(B, T, H*E) -> (B, H, T, E)."""
    return x.unflatten(-1, (-1, head_width)).transpose(1, 2)
