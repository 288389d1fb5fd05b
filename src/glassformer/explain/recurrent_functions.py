"""Plain numpy functions of recurrent layers, and what else only recurrent models need.

Shapes: T tokens, S source tokens, H units, M width of the memory, A width of the alignment model.
"""

from __future__ import annotations

import numpy as np

from glassformer.explain.op_functions import Array, sigmoid, softmax


def lstm(given: Array, *rest: Array) -> Array:
    """W x + b (T, 4H), the state before (h and c, each (1, H)) or nothing, and U (4H, H) -> (6, T, H):
    input gate, forget gate, candidate, output gate, cell, hidden state of every token."""
    *start, recurrent = rest
    h, c = (one[0] for one in start) if start else np.zeros((2, recurrent.shape[1]))
    seen = []
    for row in given:
        i, f, g, o = np.split(row + recurrent @ h, 4)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        c = f * c + i * g
        h = o * np.tanh(c)
        seen.append((i, f, g, o, c, h))
    return np.array(seen).swapaxes(0, 1)


def gru(given: Array, *rest: Array) -> Array:
    """W x + b (T, 3H), the state before (1, H) or nothing, U (3H, H) and b' (3H,) -> (4, T, H): reset gate, update
    gate, candidate, hidden state of every token."""
    *start, recurrent, bias = rest
    h = start[0][0] if start else np.zeros(recurrent.shape[1])
    seen = []
    for row in given:
        seen.append(gated(row, recurrent @ h + bias, h))
        h = seen[-1][-1]
    return np.array(seen).swapaxes(0, 1)


def gated(given: Array, recalled: Array, before: Array) -> tuple[Array, ...]:
    r_x, z_x, n_x = np.split(given, 3)
    r_h, z_h, n_h = np.split(recalled, 3)
    r, z = sigmoid(r_x + r_h), sigmoid(z_x + z_h)
    n = np.tanh(n_x + r * n_h)
    return r, z, n, n + z * (before - n)


def attentive_gru(
    given: Array,
    start: Array,
    keys: Array,
    memory: Array,
    mask: Array,
    query: Array,
    v: Array,
    context: Array,
    recurrent: Array,
    bias: Array,
) -> Array:
    """W y + b (T, 3H), the first state (1, H), keys (S, A), the memory (S, M) and its mask (1, S) of 0 and -inf; then
    the matrices of query (A, H), v (A,), context (3H, M), recurrence (3H, H) and its bias (3H,) -> (4, T, H)."""
    s, seen = start[0], []
    for row in given:
        scores = np.tanh(keys + query @ s) @ v  # (S,)
        read = softmax(scores + mask[0]) @ memory  # (M,)
        seen.append(gated(row + context @ read, recurrent @ s + bias, s))
        s = seen[-1][-1]
    return np.array(seen).swapaxes(0, 1)


def additive_scores(keys: Array, *rest: Array) -> Array:
    """Keys (S, A), queries (T, A) and v (A,) -> (1, T, S), as one head; without queries (1, S)."""
    *queries, v = rest
    if not queries:
        return np.asarray(np.tanh(keys) @ v)[None]
    return np.asarray(np.tanh(keys + queries[0][:, None]) @ v)[None]


def before(states: Array, start: Array) -> Array:
    return np.concatenate([start, states[:-1]])


def nothing_hidden(ids: Array) -> Array:
    return np.zeros((1, len(ids)))


def part(x: Array, *, at: int) -> Array:
    return np.asarray(x[at])


def stack(*rows: Array, groups: int) -> Array:
    """Rows (1, D), one after another -> (groups, rows of each, D)."""
    return np.concatenate(rows).reshape(groups, -1, rows[0].shape[-1])


def reverse(x: Array) -> Array:
    return x[::-1]


def beside(*parts: Array) -> Array:
    return np.concatenate(parts, axis=-1)


def columns(x: Array, *, begin: int, end: int) -> Array:
    return x[..., begin:end]


def weigh(shares: Array, x: Array) -> Array:
    return np.asarray(shares @ x)


def maxout(x: Array) -> Array:
    return np.asarray(x.reshape(*x.shape[:-1], -1, 2).max(axis=-1))
