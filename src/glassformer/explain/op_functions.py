"""Plain numpy functions, in float64: what the operations of a forward pass compute.

A function gets the step's inputs, then its weights, then its settings by name. There is no batch: the values belong to
one input. Shapes: T tokens, K keys, D width, H heads, G key/value heads, E head width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.nn.word_odds import rows_of_pairs, rows_of_words

Array = NDArray[Any]  # float64, or ids


# Inputs


def embed(ids: Array, table: Array, *, scale: float = 1.0) -> Array:
    return np.asarray(table[ids] * scale)


def sinusoidal(ids: Array, *, width: int, base: float, order: str, start: int = 0) -> Array:
    """Sines and cosines of pos / base^(2i/width): neighbours ("pairs"), or all sines first ("halves")."""
    powers = base ** (np.arange(0, width, 2) / width)
    turn = np.arange(start, start + len(ids))[:, None] / powers  # (T, D/2)
    sin, cos = np.sin(turn), np.cos(turn)
    if order == "halves":
        return np.concatenate([sin, cos[:, : width // 2]], axis=1)
    return np.stack([sin, cos], axis=-1).reshape(len(ids), -1)[:, :width]


def rows(ids: Array, table: Array, *, start: int = 0) -> Array:
    return table[start : start + len(ids)]


def constant(weight: Array) -> Array:
    return np.atleast_2d(weight)


# Sums and products


def same(x: Array) -> Array:
    return x


def add(*parts: Array) -> Array:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def multiply(x: Array, y: Array) -> Array:
    return np.asarray(x * y)


def scale(x: Array, *, factor: float) -> Array:
    return x * factor


def divide(x: Array, y: Array) -> Array:
    return np.asarray(x / y)


def linear(x: Array, weight: Array, bias: Array | None = None, *, begin: int = 0, end: int | None = None) -> Array:
    product = x @ weight[begin:end].T
    return product if bias is None else product + bias[begin:end]


# Attention


def split_heads(x: Array, *, heads: int) -> Array:
    return x.reshape(len(x), heads, -1).swapaxes(0, 1)


def join_heads(z: Array) -> Array:
    return z.swapaxes(0, 1).reshape(z.shape[1], -1)


def rotate(x: Array, *, turns: Sequence[float], start: int = 0) -> Array:
    """Rotates each pair (x_2i, x_2i+1) of row t by (start + t) * turns[i]; an odd last value is not changed."""
    angles = np.arange(start, start + x.shape[1])[:, None] * np.asarray(turns)  # (T, E/2)
    cos, sin, last = np.cos(angles), np.sin(angles), 2 * len(turns)
    even, odd = x[..., 0:last:2], x[..., 1:last:2]
    turned = np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    return np.concatenate([turned.reshape(*x.shape[:-1], last), x[..., last:]], axis=-1)


def shared(x: Array, heads: int) -> Array:
    """(G, K, E) -> (H, K, E): query head h uses key/value head h // (H/G)."""
    return np.repeat(x, heads // len(x), axis=0)


def scores(q: Array, k: Array) -> Array:
    return q @ shared(k, len(q)).swapaxes(1, 2)


def mask(x: Array, *, causal: bool = False, window: int = 0) -> Array:
    """-inf for keys after the query (causal), and for those `window` or more before it (0: no window)."""
    distance = np.arange(x.shape[-2])[:, None] - np.arange(x.shape[-1])  # (T, K), how far before the query
    hidden = (distance < 0) & causal
    if window:
        hidden |= distance >= window
    return np.where(hidden, -np.inf, x)


def softmax(x: Array) -> Array:
    """exp(x) / sum exp(x) over the last axis; a row in which everything is hidden gives zeros."""
    top = x.max(axis=-1, keepdims=True)
    powers = np.exp(x - np.where(np.isneginf(top), 0.0, top))
    total = powers.sum(axis=-1, keepdims=True)
    return np.asarray(powers / np.where(total == 0, 1.0, total))


def mix(pattern: Array, v: Array) -> Array:
    return np.asarray(pattern @ shared(v, len(pattern)))


def head_results(z: Array, weight: Array) -> Array:
    """(H, T, E) and W_O (D, H*E) -> (H, T, D)."""
    parts = weight.reshape(len(weight), len(z), -1).transpose(1, 2, 0)  # (H, E, D)
    return np.asarray(z @ parts)


# Norms and activations


def center(x: Array) -> Array:
    return np.asarray(x - x.mean(axis=-1, keepdims=True))


def rms(x: Array, *, eps: float) -> Array:
    return np.asarray(np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + eps))


def gain(x: Array, g: Array, b: Array | None = None) -> Array:
    return np.asarray(x * g if b is None else x * g + b)


def sigmoid(x: Array) -> Array:
    powers = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, powers, 1.0) / (1 + powers))


def erf(x: Array) -> Array:
    return np.array([math.erf(value) for value in x.ravel().tolist()]).reshape(x.shape)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * sigmoid(x),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
}


def activation(x: Array, *, kind: str) -> Array:
    return ACTIVATIONS[kind](x)


# Rows


def pick(x: Array, *, at: int) -> Array:
    return x[at:] if at == -1 else x[at : at + 1]


def mean_rows(x: Array) -> Array:
    return np.asarray(x.mean(axis=0, keepdims=True))


def concat(*parts: Array) -> Array:
    return np.concatenate(parts, axis=0)


# Experts


def largest(x: Array, *, count: int) -> Array:
    """The columns of the largest values of each row, the largest first."""
    return np.argsort(-x, axis=-1, kind="stable")[:, :count].astype(np.float64)


def shares(probabilities: Array, chosen: Array) -> Array:
    """(T, X) and (T, k) -> the probabilities of the chosen, scaled to sum to 1."""
    found = np.take_along_axis(probabilities, chosen.astype(np.int64), axis=-1)
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def sent(x: Array, chosen: Array, *, expert: int) -> Array:
    """The rows of the tokens sent to an expert; zeros for the others."""
    return np.asarray(np.where((chosen == expert).any(axis=-1, keepdims=True), x, 0.0))


def share(shares: Array, chosen: Array, *, expert: int) -> Array:
    """(T, k) twice -> the expert's share of each token (T, 1); 0 for tokens not sent to it."""
    return np.asarray((shares * (chosen == expert)).sum(axis=-1, keepdims=True))


# Relative positions, patches, words


def relative_bias(queries: Array, keys: Array, table: Array, *, starts: Sequence[int], both_ways: bool) -> Array:
    """(H, T, K): bucket b holds the distances from starts[b] on; with both ways, later keys have a second set."""
    distance = np.arange(len(keys)) - np.arange(len(queries))[:, None]  # (T, K), key - query
    steps = np.abs(distance) if both_ways else np.maximum(-distance, 0)
    bucket = np.searchsorted(np.asarray(starts), steps, side="right") - 1
    if both_ways:
        bucket += (distance > 0) * len(starts)
    return table[bucket].transpose(2, 0, 1)


def patches(image: Array, *, height: int, width: int) -> Array:
    """(C, h, w) -> (P, C * height * width), row by row; incomplete patches are left out."""
    channels, down, across = len(image), image.shape[1] // height, image.shape[2] // width
    whole = image[:, : down * height, : across * width].reshape(channels, down, height, across, width)
    return whole.transpose(1, 3, 0, 2, 4).reshape(down * across, -1)


def word_odds(ids: Array, table: Array) -> Array:
    """The rows of all tokens and of all pairs of neighbours, by their hashes, added up: (1, K)."""
    ids, count = ids.astype(np.int64), len(table)
    rows = np.concatenate([rows_of_words(ids, count), rows_of_pairs(ids[:-1], ids[1:], count)])
    return np.asarray(table[rows].sum(axis=0, keepdims=True))


def with_odds(logits: Array, odds: Array, sure: Array, shares: Array) -> Array:
    return np.asarray(sure * logits + (1 - sure) * shares + odds)
