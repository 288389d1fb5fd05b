"""word2vec (Mikolov et al. 2013): skip-gram and CBOW with negative sampling and sub-sampling of frequent words.

Skip-gram: each word w of a window with centre c has the loss -log s(x_w . y_c) - sum_n log s(-x_w . y_n), with s the
sigmoid, x the input vectors (the result), y the output vectors and n the negative samples, which a window shares.
CBOW: the same with the mean of the input vectors of the window in place of x_w.

The C kernel learns in the order of the text; without a compiler, `word2vec_steps.py` does the same in torch, some
windows at a time. Both draw the same random numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassformer.nn.native import word2vec as native
from glassformer.nn.native.word2vec import Draws, Floats, Rates
from glassformer.vectors.corpus import Corpus, Counts
from glassformer.vectors.settings import VectorSettings

FULL = 2**32
FINAL = 1e-4  # the last learning rate, as a share of the first
SECONDS = 0.25  # between two reports of progress
FIRST_SPAN = 1 << 14  # positions
MIXING = 0x9E3779B97F4A7C15

Report = Callable[["Learning"], None]


@dataclass(frozen=True)
class Learning:
    """How far word2vec is."""

    done: int  # positions of the text, over all epochs
    total: int
    epoch: int
    epochs: int
    loss: float  # of recent pairs


def learn_word2vec(corpus: Corpus, settings: VectorSettings, *, report: Report | None = None) -> Floats:
    """(V, width) The input vectors."""
    padded = native.padded_width(settings.width)
    tables = first_tables(len(corpus.words), settings.width, padded or settings.width, seed=settings.seed)
    draws = draws_of(corpus.counts, sample=settings.sample, power=settings.power)
    epochs, positions = settings.epochs_for(corpus.tokens), len(corpus.ids)
    first = settings.first_rate()
    slope = first * (1 - FINAL) / (epochs * positions)
    for epoch in range(epochs):
        rates = Rates(first - slope * epoch * positions, slope, FINAL * first)
        seed = (settings.seed * MIXING + epoch + 1) % 2**64
        for done, loss in spans(corpus, tables, draws, rates, settings, seed=seed, compiled=bool(padded)):
            if report is not None:
                report(Learning(epoch * positions + done, epochs * positions, epoch, epochs, loss))
    return np.ascontiguousarray(tables[0][:, : settings.width])


def first_tables(words: int, width: int, padded: int, *, seed: int) -> tuple[Floats, Floats]:
    """Small random input vectors, uniform in ±0.5 / width, and output vectors of 0."""
    inputs, outputs = native.aligned_zeros(words, padded), native.aligned_zeros(words, padded)
    random = np.random.default_rng(seed)
    inputs[:, :width] = (random.random((words, width), dtype=np.float32) - 0.5) / width
    return inputs, outputs


def spans(
    corpus: Corpus,
    tables: tuple[Floats, Floats],
    draws: Draws,
    rates: Rates,
    settings: VectorSettings,
    *,
    seed: int,
    compiled: bool,
) -> Iterator[tuple[int, float]]:
    """Learns from one epoch in spans that take a fraction of a second; yields (positions done, loss)."""
    if compiled:
        learn = native.learn
    else:
        from glassformer.vectors.word2vec_steps import learn
    begin, size = 0, FIRST_SPAN
    while begin < len(corpus.ids):
        end, before = min(begin + size, len(corpus.ids)), time.perf_counter()
        loss, pairs = learn(
            corpus.ids,
            (begin, end),
            tables,
            draws,
            rates,
            window=settings.window,
            negatives=settings.negatives,
            skip_gram=settings.method == "skip-gram",
            seed=seed,
            threads=settings.threads,
        )
        taken = time.perf_counter() - before
        size = int(min(max(size * SECONDS / max(taken, 1e-3), FIRST_SPAN), 1 << 26))
        begin = end
        yield end, loss / max(1, pairs)


def draws_of(counts: Counts, *, sample: float, power: float) -> Draws:
    """Which occurrences are kept, and how negative samples are drawn: by count^power."""
    stay, alias = alias_table(counts.astype(np.float64) ** power)
    return Draws(keep=as_bits(kept_share(counts, sample)), stay=stay, alias=alias)


def kept_share(counts: Counts, sample: float) -> NDArray[np.float64]:
    """The probability to keep a word with share f of the text: sqrt(t / f) + t / f, as in the authors' program."""
    if not sample:
        return np.ones(len(counts))
    rarity = sample * counts.sum() / np.maximum(counts, 1)  # a word may be absent from a part of a text
    kept: NDArray[np.float64] = np.minimum(1.0, np.sqrt(rarity) + rarity)
    return kept


def as_bits(probability: NDArray[np.float64]) -> NDArray[np.uint32]:
    """The numbers that a random 32-bit number is at most, with this probability."""
    return np.clip(np.rint(probability * FULL) - 1, 0, FULL - 1).astype(np.uint32)


def alias_table(weights: NDArray[np.float64]) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Sampling in constant time (Walker 1977, Vose 1991): a cell is the word itself or its alias."""
    share = weights * (len(weights) / weights.sum())
    alias = np.arange(len(weights), dtype=np.int32)
    small = [int(i) for i in np.flatnonzero(share < 1)]
    large = [int(i) for i in np.flatnonzero(share >= 1)]
    stay = share.tolist()
    while small and large:
        low, high = small.pop(), large[-1]
        alias[low] = high
        stay[high] -= 1 - stay[low]
        if stay[high] < 1:
            small.append(large.pop())
    return as_bits(np.minimum(np.array(stay), 1.0)), alias
