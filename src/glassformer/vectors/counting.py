"""Counts of words as vectors: one-hot, bag of words, co-occurrence, tf-idf and PMI. Shapes: V words, n texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassformer.vectors.corpus import END, Corpus, Ids

Numbers = NDArray[np.float64]
BLOCK = 1 << 19  # positions that are counted together


@dataclass(frozen=True)
class SparseTable:
    """The cells of a (V, V) table that are not 0, sorted by row and column."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Numbers
    size: int

    def dense(self) -> Numbers:
        found = np.zeros((self.size, self.size))
        found[self.rows, self.columns] = self.values
        return found


def one_hot(count: int) -> Numbers:
    """(V, V) Each word has a 1 at its own place and 0 elsewhere."""
    return np.eye(count)


def bag_of_words(corpus: Corpus) -> Numbers:
    """(n, V) How often each word occurs in each text; the order of the words is lost."""
    line = np.cumsum(corpus.ids == END)
    real = corpus.ids != END
    found = np.zeros((int(line[-1]) if len(line) else 0, len(corpus.words)))
    np.add.at(found, (line[real], corpus.ids[real]), 1)
    return found


def cooccurrences(corpus: Corpus, *, window: int, by_distance: bool = False) -> SparseTable:
    """How often two words occur in one line with at most `window` - 1 words between them.

    `by_distance`: a pair k words apart counts 1 - (k - 1) / window: how often word2vec's random windows have it.
    """
    size = len(corpus.words)
    found = _Summed()
    for begin in range(0, len(corpus.ids), BLOCK):
        ids = np.asarray(corpus.ids[begin : begin + BLOCK + window], np.int64)
        line, centres = np.cumsum(ids == END), min(BLOCK, len(corpus.ids) - begin)
        for k in range(1, min(window, len(ids) - 1) + 1):
            first, second = ids[:-k][:centres], ids[k:][:centres]
            together = (first != END) & (second != END) & (line[:-k][:centres] == line[k:][:centres])
            weight = 1 - (k - 1) / window if by_distance else 1.0
            found.add(first[together] * size + second[together], weight)
    keys, values = found.total()
    keys, values = summed(np.concatenate([keys, keys % size * size + keys // size]), np.concatenate([values, values]))
    return SparseTable(keys // size, keys % size, values, size)


class _Summed:
    """Sums of weights by key; portions are merged when they are as large as what is there."""

    def __init__(self) -> None:
        self.keys, self.values = np.empty(0, np.int64), np.empty(0)
        self.waiting: list[tuple[NDArray[np.int64], Numbers]] = []
        self.count = 0

    def add(self, keys: NDArray[np.int64], weight: float) -> None:
        different, times = np.unique(keys, return_counts=True)
        self.waiting.append((different, weight * times.astype(np.float64)))
        self.count += len(different)
        if self.count > len(self.keys) + 8 * BLOCK:
            self.total()

    def total(self) -> tuple[NDArray[np.int64], Numbers]:
        parts = [(self.keys, self.values), *self.waiting]
        self.keys, self.values = summed(*(np.concatenate(side) for side in zip(*parts, strict=True)))
        self.waiting, self.count = [], 0
        return self.keys, self.values


def summed(keys: NDArray[np.int64], values: Numbers) -> tuple[NDArray[np.int64], Numbers]:
    """The different keys, sorted, and the sum of the values of each."""
    different, place = np.unique(keys, return_inverse=True)
    return different, np.bincount(place, weights=values, minlength=len(different)).astype(np.float64)


def tf_idf(counts: Numbers) -> Numbers:
    """(n, V) w = tf idf: how often a word occurs in a text, times log(n / number of texts with it).

    A word of every text gets 0, however often it occurs.
    """
    texts_with = (counts > 0).sum(axis=0)
    idf = np.log(len(counts) / np.maximum(texts_with, 1))
    found: Numbers = counts * idf
    return found


def pmi(table: SparseTable, *, power: float = 1.0, positive: bool = True) -> SparseTable:
    """log p(w, c) / (p(w) p(c)): how much more often two words meet than by chance (Church and Hanks 1990).

    `power`: contexts are counted to this power, below 1 so that rare ones do not win (Levy et al. 2015). `positive`:
    values below 0 become 0, because in little text they are mostly noise. Pairs that never meet are left out.
    """
    total = table.values.sum()
    word = np.bincount(table.rows, weights=table.values, minlength=table.size) / max(total, 1)
    context = np.bincount(table.columns, weights=table.values, minlength=table.size) ** power
    context /= max(context.sum(), 1e-300)
    values = np.log(table.values / total / (word[table.rows] * context[table.columns])) if total else table.values
    if not positive:
        return SparseTable(table.rows, table.columns, values, table.size)
    kept = values > 0
    return SparseTable(table.rows[kept], table.columns[kept], values[kept], table.size)


def ids_of(corpus: Corpus) -> list[list[int]]:
    """The ids of each line."""
    ends = np.flatnonzero(corpus.ids == END)
    lines: list[Ids] = np.split(corpus.ids, ends)
    return [[int(i) for i in line if i != END] for line in lines[:-1]]
