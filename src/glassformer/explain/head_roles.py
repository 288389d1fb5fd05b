"""Which words a head reads: the share of its attention on each class of word and on each place, against chance.

Chance is what a head would give that reads all pieces of the same sentences equally. Pieces of one word count together:
its queries are averaged, its keys are added up. A role counts where it can be read: not articles in a sentence without
one. Shapes: N blocks, H heads, T queries, K keys, W words that ask, R roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.evaluate.intervals import RESAMPLES, SEED

Numbers = NDArray[np.float64]
PLACES = ("previous word", "same word", "next word", "first piece", "end mark")
FEWEST = 10  # sentences that must have a role; with fewer, chance decides


@dataclass(frozen=True)
class Roles:
    """What the heads read in one sentence, by role."""

    shares: Numbers  # (N, H, R): the attention on the role, added up over the words that ask
    even: Numbers  # (R,): the same for even attention
    asked: Numbers  # (R,): how many words ask


@dataclass(frozen=True)
class Best:
    """The role that a head reads most above chance. Blocks and heads count from 0."""

    block: int
    head: int
    role: str
    share: float
    even: float
    sentences: int  # that have the role
    ratio: float
    low: float  # of the 95% interval of the ratio, over sentences
    high: float


def asking(words: Sequence[int | None]) -> Tensor:
    """(W, T): the mean of the pieces of each word; pieces of no word do not ask."""
    names = sorted({word for word in words if word is not None})
    rows = torch.tensor([[float(word == name) for word in words] for name in names], dtype=torch.float64)
    return rows / rows.sum(1, keepdim=True)


def class_masks(classes: Sequence[str], labels: Sequence[str], asked: int) -> Tensor:
    """(R, W, K): the keys of each class, the same for every word. `classes`: that of each key."""
    keys = torch.tensor([[float(one == label) for one in classes] for label in labels], dtype=torch.float64)
    return keys[:, None].expand(-1, asked, -1)


def place_masks(keys: Sequence[int | None], asked: int, *, own: bool) -> Tensor:
    """(R, W, K): the keys of each place of `PLACES` for each word; the end mark is the last key.

    `keys` are the words of the keys. Without `own`, words of another text ask: only the last two places have a meaning.
    """
    ends = torch.zeros(2, asked, len(keys), dtype=torch.float64)
    ends[0, :, 0] = ends[1, :, -1] = 1
    if not own:
        return ends
    names = sorted({key for key in keys if key is not None})  # as in `asking`
    shifts = [[[float(key == word + shift) for key in keys] for word in names] for shift in (-1, 0, 1)]
    return torch.cat([torch.tensor(shifts, dtype=torch.float64), ends])


def roles_of(patterns: Tensor, asks: Tensor, masks: Tensor) -> Roles:
    """Patterns (N, H, T, K), asks (W, T) and masks (R, W, K) -> what the heads read.

    Words without such keys are left out: the first has no previous word, and a sentence may have no article.
    """
    shares = torch.einsum("wt,nhtk,rwk->nhr", asks, patterns.double(), masks)
    return Roles(
        shares.numpy(),
        (masks.sum((1, 2)) / masks.size(2)).numpy(),
        (masks.sum(2) > 0).sum(1).double().numpy(),
    )


def best_roles(found: Sequence[Roles], names: Sequence[str]) -> list[Best]:
    """For each head, the role with the highest lower limit of the ratio; roles in few sentences do not count."""
    shares, even, asked = (np.stack([getattr(one, key) for one in found]) for key in ("shares", "even", "asked"))
    usable = [r for r in range(len(names)) if np.count_nonzero(even[:, r]) >= min(FEWEST, len(found))]
    low, high = ratio_intervals(shares, even)
    ratio = shares.sum(0) / np.maximum(even.sum(0), 1e-12)  # (N, H, R)
    best = []
    for block, head in np.ndindex(ratio.shape[:2]):
        r = max(usable, key=lambda role: low[block, head, role])
        rows = asked[:, r].sum()
        best.append(
            Best(
                block,
                head,
                names[r],
                share=float(shares[:, block, head, r].sum() / rows),
                even=float(even[:, r].sum() / rows),
                sentences=int(np.count_nonzero(even[:, r])),
                ratio=float(ratio[block, head, r]),
                low=float(low[block, head, r]),
                high=float(high[block, head, r]),
            )
        )
    return best


def ratio_intervals(shares: Numbers, even: Numbers) -> tuple[Numbers, Numbers]:
    """The 95% limits of sum(shares) / sum(even), (N, H, R) each, by a bootstrap over the sentences."""
    count = len(shares)
    random = np.random.default_rng(SEED)
    times = random.multinomial(count, np.full(count, 1 / count), size=RESAMPLES).astype(np.float64)
    above = np.tensordot(times, shares, axes=1)  # (resamples, N, H, R)
    below = (times @ even)[:, None, None, :]
    ratios = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    low, high = np.percentile(ratios, [2.5, 97.5], axis=0)
    return low, high
