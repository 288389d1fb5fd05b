"""The most probable sequence of labels that a scheme allows (Viterbi), for many sentences at once.

Labels are scored independently; the scheme only forbids some neighbours. Shapes: B sentences, T words, K labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassformer.data.schemes import Transitions

Scores = NDArray[np.float32]
FORBIDDEN = -1e9  # finite: if nothing is allowed, the least bad sequence is returned


def best_paths(scores: Sequence[Scores], rules: Transitions) -> list[list[int]]:
    """(words, K) log-probabilities of each sentence -> its best labels."""
    if rules.next.all() and rules.first.all() and rules.last.all():
        return [one.argmax(axis=1).tolist() for one in scores]
    found: list[list[int]] = [[] for _ in scores]
    order = sorted((i for i, one in enumerate(scores) if len(one)), key=lambda i: -len(scores[i]))
    for start in range(0, len(order), 256):  # sentences of similar length: little padding
        chosen = order[start : start + 256]
        lengths = np.array([len(scores[i]) for i in chosen])
        padded = np.zeros((len(chosen), int(lengths.max()), scores[chosen[0]].shape[1]))
        for row, i in zip(padded, chosen, strict=True):
            row[: len(scores[i])] = scores[i]
        for i, path, length in zip(chosen, viterbi(padded, lengths, rules).tolist(), lengths.tolist(), strict=True):
            found[i] = path[:length]
    return found


def viterbi(scores: NDArray[np.float64], lengths: NDArray[np.int64], rules: Transitions) -> NDArray[np.int64]:
    """(B, T, K) scores, padded at the end, and lengths (B,) -> best labels (B, T)."""
    count, words, labels = scores.shape
    first, last = (np.where(allowed, 0.0, FORBIDDEN) for allowed in (rules.first, rules.last))  # (K,)
    step = np.where(rules.next, 0.0, FORBIDDEN)  # (K, K): from, to
    best = scores[:, 0] + first  # (B, K): of the best sequence that ends with each label
    came_from = np.broadcast_to(np.arange(labels), (count, words, labels)).copy()  # past the end, a label stays
    for word in range(1, words):
        inside = (word < lengths)[:, None]  # (B, 1)
        reached = best[:, :, None] + step  # (B, K, K)
        came_from[:, word] = np.where(inside, reached.argmax(axis=1), came_from[:, word])
        best = np.where(inside, reached.max(axis=1) + scores[:, word], best)
    path = np.empty((count, words), dtype=np.int64)
    path[:, -1] = (best + last).argmax(axis=1)
    rows = np.arange(count)
    for word in range(words - 1, 0, -1):
        path[:, word - 1] = came_from[rows, word, path[:, word]]
    return path
