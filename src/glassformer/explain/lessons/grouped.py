"""Grouped queries: several query heads share one key and one value head, so that the cache is smaller."""

from __future__ import annotations

import torch
from torch import Tensor

from glassformer.explain.lessons.heads import check_heads, seeded_attention
from glassformer.explain.lessons.lesson import Asked, Cell, Lesson, Lines, Section, table
from glassformer.nn.attention import SelfAttention
from glassformer.nn.cache import KVCache

WIDTH, HEADS, LENGTH, SEED = 512, 8, 256, 0
BLOCKS, BYTES = 6, 4  # of the model that is counted; bytes of a float32


def kv_counts(heads: int) -> list[int]:
    """All numbers of key/value heads that divide the query heads, the largest first."""
    return [g for g in range(heads, 0, -1) if heads % g == 0]


def cache_bytes(layer: SelfAttention, tokens: int) -> int:
    """Keys and values of one sentence in all blocks."""
    return 2 * BLOCKS * tokens * layer.kv_heads * layer.head_width * BYTES


def filled_cache(layer: SelfAttention, tokens: int) -> tuple[Tensor, Tensor]:
    """The keys and values that a real cache holds after some tokens: (1, G, T, E) twice."""
    cache = KVCache()
    with torch.inference_mode():
        layer(torch.zeros(1, tokens, layer.heads * layer.head_width), cache=cache, causal=True)
        assert cache.store is not None
        return cache.store.keys[:, :, : cache.length], cache.store.values[:, :, : cache.length]


def run(asked: Asked) -> list[Section]:
    check_heads(asked.width, asked.heads)
    return [counted_section(asked), same_section(asked)]


def counted_section(asked: Asked) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for g in kv_counts(asked.heads):
        layer = seeded_attention(asked.width, heads=asked.heads, kv_heads=g, seed=asked.seed)
        keys, values = filled_cache(layer, asked.length)
        held = (keys.numel() + values.numel()) * BYTES * BLOCKS
        assert held == cache_bytes(layer, asked.length)
        name = {asked.heads: "multi-head", 1: "multi-query"}.get(g, "grouped")
        rows.append((name, asked.heads, g, sum(one.numel() for one in layer.parameters()), held / 2**20))
    columns = ("", "query heads", "key/value heads", "parameters of a layer", "cache, MB")
    return Section(
        "What is cached",
        f"While a text is written, keys and values of all earlier tokens are kept. For {asked.length} tokens, {BLOCKS} "
        f"blocks, d = {asked.width} and float32, counted in real caches. With long texts and many users the cache, not "
        "the weights, fills the memory.",
        (table("cache", columns, rows, ".2f"),),
    )


def same_section(asked: Asked) -> Section:
    gap = equal_to_copies(asked)
    return Section(
        "Sharing is a special case",
        "A layer with shared heads computes what a full layer computes whose key and value heads are copies.",
        (Lines("equal", (f"largest difference on random input: {gap:.0e}",)),),
    )


def equal_to_copies(asked: Asked) -> float:
    """The difference between a grouped layer and a full one with copied heads."""
    groups = kv_counts(asked.heads)[len(kv_counts(asked.heads)) // 2]
    shared = seeded_attention(asked.width, heads=asked.heads, kv_heads=groups, seed=asked.seed)
    full = seeded_attention(asked.width, heads=asked.heads, seed=asked.seed)
    q, k, v = shared.qkv.weight.split(shared.rows)
    copies = [
        one.unflatten(0, (groups, -1)).repeat_interleave(asked.heads // groups, 0).flatten(0, 1) for one in (k, v)
    ]
    with torch.no_grad():
        full.qkv.weight.copy_(torch.cat([q, *copies]))
        full.out.linear.weight.copy_(shared.out.linear.weight)
        x = torch.randn(1, 7, asked.width, generator=torch.Generator().manual_seed(asked.seed))
        return float((shared(x) - full(x)).abs().max())


LESSON = Lesson(
    "grouped",
    "Grouped queries",
    "Fewer key and value heads: the size of the cache.",
    run,
    source="Ainslie et al. 2023, arXiv 2305.13245; one key/value head: Shazeer 2019, arXiv 1911.02150",
    files=("nn/attention.py:repeat_heads", "nn/cache.py:KVCache"),
    takes={"width": WIDTH, "heads": HEADS, "length": LENGTH, "seed": SEED},
    examples=("--heads 32 --length 1024",),
)
