"""Query, key and value: a dictionary answers only what it has; attention answers everything, by similarity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.errors import SettingsError
from glassformer.explain.lessons.inputs import named_values, shown
from glassformer.explain.lessons.lesson import Asked, Cell, Lesson, Lines, Section, matrix, table

# Orders: order_100 has the items a1 and the delivery date a2, order_101 b1 and b2, ...
ORDERS = tuple(f"order_{100 + i}={letter}1/{letter}2" for i, letter in enumerate("abcdefghijk"))
QUERIES = ("order_104", "order_106", "ordr_104")
SHARPNESS = (1.0, 10.0, 100.0)
MOST, MOST_QUERIES = 64, 16
KEPT = 3  # parts of a mixture that are written


def letters(text: str) -> Counter[str]:
    """The pairs of neighbouring letters of a text, with its edges and positions from the end: what it looks like."""
    marked = f"^{text}$"
    pairs = [marked[i : i + 2] for i in range(len(marked) - 1)]
    return Counter([*pairs, *(f"{pair}@{len(pairs) - i}" for i, pair in enumerate(pairs))])


def vectors_of(texts: Sequence[str]) -> Tensor:
    """A vector of length 1 for each text, from its letters: texts that look alike have a product near 1. (N, D)."""
    counted = [letters(text) for text in texts]
    names = sorted(set().union(*counted))
    rows = torch.tensor([[float(one[name]) for name in names] for one in counted], dtype=torch.float64)
    return rows / rows.norm(dim=1, keepdim=True)


def soft_lookup(queries: Tensor, keys: Tensor, values: Tensor, sharpness: float) -> tuple[Tensor, Tensor]:
    """softmax(sharpness · Q K^T) V: the mixtures of values (Q, V), and the weights (Q, K)."""
    weights = torch.softmax(sharpness * queries @ keys.mT, dim=-1)
    return weights @ values, weights


def run(asked: Asked) -> list[Section]:
    store = named_values(asked.texts, "a key with its value, like order_104=e1/e2")
    queries = asked.queries
    if not 1 <= len(store) <= MOST or not 1 <= len(queries) <= MOST_QUERIES or not all(queries):
        raise SettingsError(f"Give 1 to {MOST} keys with values and 1 to {MOST_QUERIES} queries that are not empty.")
    every = vectors_of([*queries, *store])
    q, k = every[: len(queries)], every[len(queries) :]
    return [
        roles_section(store, queries[0]),
        hard_section(store, queries),
        scores_section(store, queries[0], q[:1], k),
        sharpness_section(store, queries, q, k),
        matrix_section(store, queries, q, k),
    ]


def roles_section(store: dict[str, str], query: str) -> Section:
    keys, values = (", ".join(list(some)[:2]) + (", ..." if len(store) > 2 else "") for some in (store, store.values()))
    rows = [
        ("query", "what am I searching for?", query),
        ("key", "how do others describe themselves, like a title?", keys),
        ("value", "what do I get if it matches: the content", store.get(query, values)),
    ]
    return Section(
        "Three roles",
        "The names come from databases and dictionaries. In self-attention every word plays all three: its vector "
        "times W_Q is its query, times W_K its key, times W_V its value.",
        (table("roles", ("name", "question", "here"), rows),),
    )


def hard_section(store: dict[str, str], queries: Sequence[str]) -> Section:
    rows = [(query, int(query in store), store.get(query, "KeyError")) for query in queries]
    return Section(
        "A dictionary: all or nothing",
        f"Keys in all: {len(store)}, each with its value. The query is compared with the keys; one that is equal gives "
        "its value, anything else gives nothing.",
        (table("hard", ("query", "equal keys", "value"), rows),),
    )


def scores_section(store: dict[str, str], query: str, q: Tensor, k: Tensor) -> Section:
    scores = (q @ k.mT)[0]
    weights = torch.softmax(SHARPNESS[1] * scores, -1)
    rows = [
        (key, value, score, weight)
        for (key, value), score, weight in zip(store.items(), scores.tolist(), weights.tolist(), strict=True)
    ]
    return Section(
        f"Soft lookup, step by step, for {shown(query)}",
        "Keys and query become vectors (here: how often they have each pair of neighbouring letters, scaled to "
        "length 1). Step 1: a score for each "
        f"key, its dot product with the query. Step 2: the softmax of the scores times {SHARPNESS[1]:g} makes weights "
        "that sum to 1. Step 3: the answer is the sum of all values, each times its weight.",
        (table("scores", ("key", "value", "score q·k", "weight"), rows),),
    )


def mixture(weights: Tensor, values: Sequence[str]) -> str:
    """`0.97 e1/e2 + 0.01 d1/d2 + ...`: the largest parts, without those that are 0.00."""
    top = weights.round(decimals=9).sort(descending=True, stable=True)  # equal weights: the first key first
    largest = zip(top.values[:KEPT].tolist(), top.indices[:KEPT].tolist(), strict=True)
    parts = [f"{weight:.2f} {values[i]}" for weight, i in largest if weight >= 0.005]
    return " + ".join([*parts, *(["..."] if len(values) > len(parts) else [])])


def sharpness_section(store: dict[str, str], queries: Sequence[str], q: Tensor, k: Tensor) -> Section:
    values = list(store.values())
    rows: list[tuple[Cell, ...]] = []
    for sharpness in SHARPNESS:
        _, weights = soft_lookup(q, k, torch.eye(len(values), dtype=q.dtype), sharpness)
        rows += [(f"× {sharpness:g}", query, mixture(row, values)) for query, row in zip(queries, weights, strict=True)]
    return Section(
        "From a blur to a dictionary",
        "The sharper the scores, the closer to a dictionary; and unlike one, it finds the nearest key if none is "
        "equal. A model learns the sharpness with the length of its queries and keys, and 1/√d_k keeps it in a useful "
        "range.",
        (table("sharpness", ("scores", "query", "answer"), rows),),
    )


def matrix_section(store: dict[str, str], queries: Sequence[str], q: Tensor, k: Tensor) -> Section:
    names, values = list(store), torch.eye(len(store), dtype=q.dtype)
    together, weights = soft_lookup(q, k, values, SHARPNESS[1])
    alone = torch.cat([soft_lookup(one[None], k, values, SHARPNESS[1])[0] for one in q])
    gap = float((together - alone).abs().max())
    shapes = (
        f"Q ({q.size(0)} × {q.size(1)}) times Kᵀ ({k.size(1)} × {k.size(0)}) = scores ({q.size(0)} × {k.size(0)})",
        f"largest difference from one query at a time: {gap:.1e}",
    )
    return Section(
        "All queries at once",
        "Queries below each other make a matrix Q, keys K, values V; one product gives all scores: softmax(Q Kᵀ) V.",
        (matrix("weights", weights, rows=queries, columns=names, sums=True), Lines("shapes", shapes)),
    )


LESSON = Lesson(
    "lookup",
    "Query, key, value",
    "A dictionary, then a soft one, then all queries as one matrix.",
    run,
    source="Vaswani et al. 2017, section 3.2",
    files=("nn/attention.py:attend",),
    takes={"texts": ORDERS, "queries": QUERIES},
    examples=('"dog=Hund" "cat=Katze" "mouse=Maus" --query dogs --query cat',),
)
