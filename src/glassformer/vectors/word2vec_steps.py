"""The steps of word2vec in torch, for machines without a C compiler: the same windows and samples as word2vec.c.

The windows of a batch are computed from the same vectors and their changes are added up, so a batch of one window
equals the kernel to rounding. Shapes: B windows, C = 2 window context words, N = 1 + negatives targets, D width.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.nn.native.word2vec import Draws, Floats, Ids, Rates
from glassformer.vectors.corpus import END

BATCH = 64  # windows, at most
UPDATES = 4.0  # of the most frequent word in one batch, on average: with more, its changes add up too far
PORTION = 1 << 14  # positions that are prepared together
LOW = np.uint64(2**32 - 1)
HALF = np.uint64(32)


def mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64 (Steele et al. 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def drawn(seed: int, positions: NDArray[np.int64], number: int) -> NDArray[np.uint64]:
    """Random number `number` of each position, as word2vec.c draws it."""
    step = positions.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return mixed(mixed(np.uint64(seed) + step) + np.uint64(0xD1B54A32D192ED03 * number % 2**64))


def below(random: NDArray[np.uint64], bound: int) -> NDArray[np.int64]:
    return (((random >> HALF) * np.uint64(bound)) >> HALF).astype(np.int64)


@dataclass(frozen=True)
class Windows:
    """Windows as ids; what the masks leave out is 0."""

    centre: NDArray[np.int64]  # (B,) positions
    context: NDArray[np.int64]  # (B, C)
    in_context: NDArray[np.bool_]
    targets: NDArray[np.int64]  # (B, N)
    in_targets: NDArray[np.bool_]


def windows_of(words: Ids, span: tuple[int, int], draws: Draws, *, window: int, negatives: int, seed: int) -> Windows:
    """The windows whose centres are in the span. Sub-sampling comes first, so a window reaches over skipped words."""
    at, kept = kept_around(words, span, draws, window=window, seed=seed)
    places = np.flatnonzero((at >= span[0]) & (at < span[1]) & (kept != END))
    centre = at[places]
    line = np.cumsum(kept == END)
    offsets = np.concatenate([np.arange(-1, -window - 1, -1), np.arange(1, window + 1)])  # (C,)
    around = places[:, None] + offsets  # (B, C)
    inside = (around >= 0) & (around < len(kept))
    around = np.where(inside, around, 0)
    reach = 1 + below(drawn(seed, centre, 1), window)
    inside &= (np.abs(offsets) <= reach[:, None]) & (kept[around] != END) & (line[around] == line[places][:, None])
    random = np.stack([drawn(seed, centre, 2 + j) for j in range(negatives)], axis=1)
    cell = below(random, len(draws.stay))
    sampled = np.where((random & LOW).astype(np.uint32) <= draws.stay[cell], cell, draws.alias[cell])
    targets = np.concatenate([kept[places][:, None], sampled], axis=1)
    real = np.concatenate([np.ones((len(places), 1), bool), sampled != targets[:, :1]], axis=1)
    some = inside.any(axis=1)
    context = np.where(inside, kept[around], 0)
    return Windows(centre[some], context[some], inside[some], targets[some], real[some])


def kept_around(
    words: Ids, span: tuple[int, int], draws: Draws, *, window: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The positions and ids of the kept words and line ends of a span, and enough on both sides for its windows."""
    margin = 4 * window
    while True:
        first, last = max(0, span[0] - margin), min(len(words), span[1] + margin)
        ids = words[first:last].astype(np.int64)
        at = np.arange(first, last)
        random = (drawn(seed, at, 0) >> HALF).astype(np.uint32)
        keep = (ids == END) | (random <= draws.keep[np.maximum(ids, 0)])
        at, ids = at[keep], ids[keep]
        left, right = at < span[0], at >= span[1]
        enough = first == 0 or (ids[left] == END).any() or left.sum() >= window
        if enough and (last == len(words) or (ids[right] == END).any() or right.sum() >= window):
            return at, ids
        margin *= 4


def learn(
    words: Ids,
    span: tuple[int, int],
    tables: tuple[Floats, Floats],
    draws: Draws,
    rates: Rates,
    *,
    window: int,
    negatives: int,
    skip_gram: bool,
    seed: int,
    threads: int,  # noqa: ARG001 (torch has its own)
    batch: int | None = None,
) -> tuple[float, int]:
    """As `native.learn`: changes the tables in place, returns the sum of losses and the number of pairs."""
    inputs, outputs = (torch.from_numpy(table) for table in tables)
    loss, pairs = 0.0, 0
    for part in portions(span):
        found = windows_of(words, part, draws, window=window, negatives=negatives, seed=seed)
        rate = np.maximum(rates.first - rates.slope * found.centre, rates.least).astype(inputs.numpy().dtype)
        size = batch or safe_batch(found)
        for start in range(0, len(found.centre), size):
            here = slice(start, start + size)
            context, targets = (torch.from_numpy(ids[here]) for ids in (found.context, found.targets))
            masks = torch.from_numpy(found.in_context[here]), torch.from_numpy(found.in_targets[here])
            changes = step(inputs[context], outputs[targets], masks, skip_gram=skip_gram)
            by = torch.from_numpy(rate[here])[:, None, None]
            inputs.index_add_(0, context.flatten(), (by * changes.inputs).flatten(0, 1))
            outputs.index_add_(0, targets.flatten(), (by * changes.outputs).flatten(0, 1))
            loss, pairs = loss + changes.loss, pairs + changes.pairs
    return loss, pairs


def safe_batch(found: Windows) -> int:
    """How many windows are computed from the same vectors."""
    if not len(found.centre):
        return BATCH
    per_window = np.bincount(found.targets[found.in_targets]).max() / len(found.centre)
    return int(min(max(UPDATES / per_window, 1), BATCH))


def portions(span: tuple[int, int]) -> Iterator[tuple[int, int]]:
    for begin in range(*span, PORTION):
        yield begin, min(begin + PORTION, span[1])


@dataclass(frozen=True)
class Changes:
    """The negative gradients of the summed loss, which is minimised."""

    inputs: Tensor  # (B, C, D)
    outputs: Tensor  # (B, N, D)
    loss: float
    pairs: int


def step(x: Tensor, y: Tensor, masks: tuple[Tensor, Tensor], *, skip_gram: bool) -> Changes:
    """x (B, C, D) and y (B, N, D); the first target of each window is the true one."""
    in_context, in_targets = (mask.to(x.dtype) for mask in masks)  # (B, C), (B, N)
    share = in_context[:, :, None]  # (B, C, 1): how much of a word is in a row of predictions
    if not skip_gram:
        share = share / in_context.sum(1)[:, None, None]
        h = (share * x).sum(1, keepdim=True)  # (B, 1, D)
        weight = in_targets[:, None, :]  # (B, 1, N)
    else:
        h, weight = x, in_context[:, :, None] * in_targets[:, None, :]  # (B, C, N)
    scores = h @ y.mT
    label = torch.zeros_like(scores)
    label[:, :, 0] = 1.0
    error = (label - torch.sigmoid(scores)) * weight
    back = error @ y  # (B, C or 1, D)
    signed = torch.where(label > 0, scores, -scores)
    loss = -(torch.nn.functional.logsigmoid(signed) * weight).sum()
    return Changes(back if skip_gram else share * back, error.mT @ h, float(loss), int(weight.sum()))
