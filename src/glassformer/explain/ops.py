"""The operations of a forward pass, each as a plain numpy function: all that the steps of a program do.

A function gets the step's inputs, then its weights, then its settings by name. There is no batch: the values belong to
one input. Shapes: T tokens, K keys, D width, H heads, G key/value heads, E head width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.nn.word_odds import rows_of_pairs, rows_of_words

Array = NDArray[Any]  # float64, or ids


@dataclass(frozen=True)
class Op:
    """An operation, for a machine and for a reader."""

    function: Callable[..., Array]
    formula: str
    sentence: str
    arity: int | None  # number of inputs; None: any number
    row_wise: bool = True  # row t of the result needs row t of the inputs alone

    def to_dict(self) -> dict[str, Any]:
        return {"formula": self.formula, "sentence": self.sentence, "arity": self.arity, "row_wise": self.row_wise}


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


OPS: dict[str, Op] = {
    "embed": Op(embed, "E[id] · scale", "Looks up the row of the table that belongs to each token.", 1),
    "sinusoidal": Op(
        sinusoidal,
        "sin(pos / base^(2i/D)), cos(pos / base^(2i/D))",
        "Writes each position as sines and cosines of different wavelengths.",
        1,
    ),
    "rows": Op(rows, "P[pos]", "Takes the learned row of each position.", 1),
    "constant": Op(constant, "w", "Learned values that are the same for every input.", 0, row_wise=False),
    "same": Op(same, "x", "The value itself, at the point where it can be read.", 1),
    "add": Op(add, "x + y", "Adds the values.", None),
    "multiply": Op(multiply, "x ⊙ y", "Multiplies the values one by one.", 2),
    "scale": Op(scale, "x · factor", "Multiplies every value by the same number.", 1),
    "divide": Op(divide, "x / y", "Divides each row by its own number.", 2),
    "linear": Op(linear, "x Wᵀ + b", "Each result is a weighted sum of the row's values, plus a bias.", 1),
    "split_heads": Op(split_heads, "(T, H·E) → (H, T, E)", "Cuts each row into one part for each head.", 1),
    "join_heads": Op(join_heads, "(H, T, E) → (T, H·E)", "Puts the heads' results side by side.", 1),
    "rotate": Op(
        rotate,
        "(x₂ᵢ cos tθᵢ − x₂ᵢ₊₁ sin tθᵢ, x₂ᵢ sin tθᵢ + x₂ᵢ₊₁ cos tθᵢ)",
        "Rotates each pair of values by an angle that grows with the position.",
        1,
    ),
    "scores": Op(scores, "q kᵀ", "Multiplies each query with each key.", 2, row_wise=False),
    "mask": Op(mask, "x, or −∞ where hidden", "Hides the keys that a query may not see.", 1),
    "softmax": Op(softmax, "exp(xⱼ) / Σ exp(x)", "Turns each row into shares that add up to 1.", 1),
    "mix": Op(mix, "a v", "Adds up the values, each by its share.", 2, row_wise=False),
    "head_results": Op(head_results, "z W_Oᵀ of one head", "What each head adds by itself.", 1),
    "center": Op(center, "x − mean(x)", "Subtracts the mean of each row.", 1),
    "rms": Op(rms, "√(mean(x²) + ε)", "The size of each row, one number.", 1),
    "gain": Op(gain, "x ⊙ g + b", "Multiplies every dimension by its learned gain and adds its bias.", 1),
    "activation": Op(activation, "act(x)", "Bends each value by itself.", 1),
    "pick": Op(pick, "x[at]", "Takes one row.", 1, row_wise=False),
    "mean_rows": Op(mean_rows, "mean over rows", "The mean of all rows.", 1, row_wise=False),
    "concat": Op(concat, "x, then y", "Puts the rows below each other.", None, row_wise=False),
    "largest": Op(largest, "top k of x", "Chooses the columns with the largest values of each row.", 1),
    "shares": Op(shares, "pᵢ / Σ p of the chosen", "Scales the chosen probabilities so that they add up to 1.", 2),
    "sent": Op(sent, "x, or 0 if not sent", "Keeps the rows of the tokens that this expert computes.", 2),
    "share": Op(share, "its share, or 0", "How much of this expert's result each token gets.", 2),
    "relative_bias": Op(
        relative_bias,
        "b[bucket(key − query)]",
        "Looks up a number for each head and distance between query and key.",
        2,
        row_wise=False,
    ),
    "patches": Op(patches, "(C, h, w) → (P, C·p·p)", "Cuts the image into patches, each one row.", 1, row_wise=False),
    "word_odds": Op(
        word_odds,
        "Σ t[hash(word)] + Σ t[hash(pair)]",
        "Adds up what each word and each pair of neighbours says about the class.",
        1,
        row_wise=False,
    ),
    "with_odds": Op(
        with_odds,
        "s · x + (1 − s) · shares + odds",
        "Mixes the model's logits with what the words say by themselves.",
        2,
    ),
}  # fmt: skip


def ops_to_dict() -> dict[str, dict[str, Any]]:
    """What a reader needs to know of every operation."""
    return {name: op.to_dict() for name, op in OPS.items()}
