"""Counts the table of `nn/word_odds.py`: how much more often a word occurs in the texts of a class than in others.

Naive Bayes adds up the words of a text as if each were independent evidence, so its sums are far too sure. One factor
for the whole table corrects that: the one that predicts the training texts best if each part of them is predicted by
what the other parts say. If words say nothing, the factor is 0.
Shapes: N texts, K classes, S rows of the table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.columns import Columns, Pools
from glassformer.nn.word_odds import rows_of_pairs, rows_of_words

FOLDS = 5
MOST_TEXTS = 100_000  # more do not change the result
AT_A_TIME = 4096  # texts
SMOOTHING = 3.0  # occurrences, seen as well as expected ones
FACTORS = np.concatenate([[0.0], np.geomspace(0.01, 2.0, 60)])
Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]


def counted_table(examples: Pools, *, rows: int, classes: int, seed: int) -> tuple[Tensor, Tensor]:
    """(S, K): the log odds of each word, times the best factor; and (K,): the log share of each class, centred."""
    texts = list(some_texts(examples, seed))
    counts = np.zeros((FOLDS, rows, classes), dtype=np.float32)
    for columns in texts:
        text, row = words_of(columns, rows)
        np.add.at(counts, (folds_of(columns)[text], row, labels_of(columns)[text]), 1)
    total = counts.sum(axis=0, dtype=np.float64)
    labels = np.concatenate([labels_of(columns) for columns in texts])
    often = np.log(np.bincount(labels, minlength=classes) + 1.0)  # how frequent each class is
    factor = best_factor(texts, counts, total, labels=labels, often=often)
    table, shares = factor * log_odds(total), often - often.mean()
    return torch.from_numpy(table).float(), torch.from_numpy(shares).float()


def some_texts(examples: Pools, seed: int) -> Iterator[Columns]:
    """The columns of at most MOST_TEXTS texts, some at a time."""
    left = MOST_TEXTS
    for pool in examples.pools(seed=seed, epoch=0):
        for start in range(0, min(left, len(pool)), AT_A_TIME):
            yield pool.columns.at(np.arange(start, min(start + AT_A_TIME, left, len(pool))))
        left -= min(left, len(pool))
        if not left:  # the other pools need not be read
            return


def words_of(columns: Columns, rows: int) -> tuple[Whole, Whole]:
    """For every word, the number of its text and its row."""
    texts = columns["text"]
    ids, text = texts.flat.astype(np.int64), np.repeat(np.arange(len(texts)), texts.lengths)
    together = text[:-1] == text[1:]
    pairs = rows_of_pairs(ids[:-1], ids[1:], rows)[together]
    return np.concatenate([text, text[:-1][together]]), np.concatenate([rows_of_words(ids, rows), pairs])


def folds_of(columns: Columns) -> Whole:
    """The fold of each text, from the sum of its ids: equal texts are in the same one."""
    texts = columns["text"]
    sums = np.concatenate([[0], np.cumsum(texts.flat, dtype=np.int64)])
    found: Whole = np.diff(sums[texts.offsets]) % FOLDS
    return found


def labels_of(columns: Columns) -> Whole:
    return columns["label"].flat.astype(np.int64)


def log_odds(counts: Numbers) -> Numbers:
    """(S, K): the log of how often a word occurs in the texts of each class, over how often it would if it were equally
    frequent in all; less the mean over the classes. A word that was never seen has 0 for every class."""
    expected = counts.sum(axis=1, keepdims=True) * (counts.sum(axis=0) / max(1.0, counts.sum()))
    logs = np.log((counts + SMOOTHING) / (expected + SMOOTHING))
    found: Numbers = logs - logs.mean(axis=1, keepdims=True)
    return found


def best_factor(
    texts: list[Columns], counts: NDArray[np.float32], total: Numbers, *, labels: Whole, often: Numbers
) -> float:
    """The factor with the lowest cross-entropy of the texts, each fold by the log odds of the others."""
    sums = np.concatenate([np.zeros((len(columns), counts.shape[2])) for columns in texts])  # (N, K)
    for fold, own in enumerate(counts):
        odds = log_odds(total - own)
        place = 0
        for columns in texts:
            there = slice(place, place + len(columns))
            chosen = folds_of(columns) == fold
            sums[there][chosen] = sums_of(columns, odds)[chosen]
            place += len(columns)
    return float(min(FACTORS, key=lambda factor: cross_entropy(factor * sums + often, labels)))


def sums_of(columns: Columns, odds: Numbers) -> Numbers:
    """(N, K)"""
    text, row = words_of(columns, len(odds))
    return np.stack([np.bincount(text, weights=one[row], minlength=len(columns)) for one in odds.T], axis=1)


def cross_entropy(logits: Numbers, labels: Whole) -> float:
    top = logits.max(axis=1, keepdims=True)
    normaliser = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
    return float(np.mean(normaliser - logits[np.arange(len(labels)), labels]))
