"""Counts the tables of `nn/word_priors.py`: how much more often a word occurs in the texts of a class than in others.

Naive Bayes adds up the words of a text as if each were independent evidence, so its sums are far too sure. One factor
for all tables corrects that: the one with which the training texts, each by the table that does not know it, are
predicted best.
Shapes: N texts, K classes, P parts, S rows of a table.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.columns import Columns, Pools
from glassformer.nn.word_priors import PARTS, parts_of, rows_of_pairs, rows_of_words

MOST_TEXTS = 200_000  # more do not change the result
SMOOTHING = 1.0  # added to every count, in proportion to the size of the class
FACTORS = np.concatenate([[0.0], np.geomspace(0.01, 2.0, 60)])
Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]


def counted_tables(examples: Pools, *, rows: int, classes: int, seed: int) -> Tensor:
    """(P, S, K): the log odds of each word, without one part of the texts each, times the best factor."""
    pools = some(examples, seed)
    counts = np.zeros(PARTS * rows * classes)
    for columns in pools:
        text, row = words_of(columns, rows)
        place = (text_parts(columns)[text] * rows + row) * classes + text_labels(columns)[text]
        counts += np.bincount(place, minlength=counts.size)
    by_part = counts.reshape(PARTS, rows, classes)
    tables = np.stack([log_odds(by_part.sum(0) - own) for own in by_part])
    return torch.from_numpy(tables * best_factor(pools, tables)).float()


def some(examples: Pools, seed: int) -> list[Columns]:
    """The columns of at most about MOST_TEXTS texts."""
    found, seen = list[Columns](), 0
    for pool in examples.pools(seed=seed, epoch=0):
        found.append(pool.columns)
        seen += len(pool)
        if seen >= MOST_TEXTS:
            break
    return found


def words_of(columns: Columns, rows: int) -> tuple[Whole, Whole]:
    """For every word, the number of its text and its row."""
    texts = columns["text"]
    ids, text = texts.flat.astype(np.int64), np.repeat(np.arange(len(texts)), texts.lengths)
    together = text[:-1] == text[1:]
    pairs = rows_of_pairs(ids[:-1], ids[1:], rows)[together]
    return np.concatenate([text, text[:-1][together]]), np.concatenate([rows_of_words(ids, rows), pairs])


def text_parts(columns: Columns) -> Whole:
    texts = columns["text"]
    sums = np.add.reduceat(texts.flat.astype(np.int64), texts.offsets[:-1])
    found: Whole = parts_of(np.where(texts.lengths > 0, sums, 0))
    return found


def text_labels(columns: Columns) -> Whole:
    return columns["label"].flat.astype(np.int64)


def log_odds(counts: Numbers) -> Numbers:
    """(S, K): the log of how often a word occurs in the texts of each class, less the mean over the classes.

    A word that was never seen has 0 for every class.
    """
    sizes = counts.sum(axis=0) + 1
    smoothed = (counts + SMOOTHING * sizes / sizes.mean()) / sizes
    logs = np.log(smoothed)
    found: Numbers = logs - logs.mean(axis=1, keepdims=True)
    return found


def best_factor(pools: list[Columns], tables: Numbers) -> float:
    """The factor with the lowest cross-entropy of the texts, each by the table of its part."""
    sums = np.concatenate([sums_of(columns, tables) for columns in pools])  # (N, K)
    labels = np.concatenate([text_labels(columns) for columns in pools])
    return float(min(FACTORS, key=lambda factor: cross_entropy(factor * sums, labels)))


def sums_of(columns: Columns, tables: Numbers) -> Numbers:
    """(N, K)"""
    text, row = words_of(columns, tables.shape[1])
    scores = tables[text_parts(columns)[text], row]  # (words, K)
    count = len(columns)
    return np.stack([np.bincount(text, weights=one, minlength=count) for one in scores.T], axis=1)


def cross_entropy(logits: Numbers, labels: Whole) -> float:
    top = logits.max(axis=1, keepdims=True)
    normaliser = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
    return float(np.mean(normaliser - logits[np.arange(len(labels)), labels]))
