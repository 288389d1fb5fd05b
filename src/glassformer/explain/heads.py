"""What an attention head looks at, in numbers: how sharply, how far away, and how similar to a word alignment.

A pattern is one head's weights: rows are queries (T), columns are keys (S), each row sums to 1.
Layers and heads are counted from 0 in code and in tap names, and from 1 in everything that is shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class HeadSummary:
    """One head of one layer, measured over all its queries."""

    layer: int
    head: int
    sharpness: float  # 1: each query looks at one key; 0: at all keys equally
    offset: float  # mean of (position of the key - position of the query), weighted by the pattern
    end_share: float  # share of all weight on the last key, the end token, where idle heads look
    alignment: float  # 0 to 1: how similar it is to a word alignment
    first_share: float  # share of all weight on the first key, where idle heads of decoders look
    own_share: float  # share of all weight on the query's own position

    @property
    def looks_at(self) -> str:
        """The numbers in a few words."""
        if self.end_share > 0.6:
            return "mostly the end token"
        if self.first_share > 0.6:
            return "mostly the first token"
        if self.sharpness < 0.15:
            return "everything equally"
        strength = "one piece" if self.sharpness > 0.6 else "a few pieces"
        return f"{strength}, {self._where}"

    @property
    def _where(self) -> str:
        """Heads that look back and ahead alike have an offset near 0 too."""
        if abs(self.offset) < 0.75:
            return "same position" if self.own_share > 0.5 else "around itself"
        return f"about {round(abs(self.offset))} {'ahead' if self.offset > 0 else 'back'}"


def sharpness(pattern: Tensor) -> float:
    """The mean over the rows (T, S) of 1 - H/log S, where H is a row's entropy and S the number of keys it may use."""
    entropy = torch.special.entr(pattern.double()).sum(-1)  # (T,)
    keys = allowed_keys(pattern)
    if not bool((keys > 1).any()):
        return 1.0
    return 1.0 - float((entropy[keys > 1] / keys[keys > 1].log()).mean())


def allowed_keys(pattern: Tensor) -> Tensor:
    """How many keys each query may look at, (T,): all, or those up to its own position if no query looks ahead."""
    queries, keys = pattern.shape
    if queries == keys and not bool(pattern.triu(1).any()):
        return torch.arange(1, keys + 1, dtype=torch.float64)
    return torch.full((queries,), float(keys), dtype=torch.float64)


def mean_offset(pattern: Tensor) -> float:
    """The weighted mean of s - t: 0 on the diagonal, negative where the head looks back."""
    queries, keys = pattern.shape
    distance = torch.arange(keys, dtype=torch.float64) - torch.arange(queries, dtype=torch.float64)[:, None]  # (T, S)
    return float((pattern.double() * distance).sum() / queries)


def alignment_score(pattern: Tensor) -> float:
    """How similar to a word alignment: every target piece has its source piece, and every source piece its target.

    The product of the mean row maximum and the mean column maximum. The end tokens (last row and column) do not count,
    so a head that only looks at the end token scores 0. A permutation scores 1, equal weights at most 1/max(T, S).
    """
    inner = pattern[:-1, :-1] if min(pattern.shape) > 1 else pattern
    return float(inner.max(dim=1).values.mean() * inner.max(dim=0).values.mean())


def summarise(patterns: Tensor) -> list[HeadSummary]:
    """Every head of patterns (N, H, T, S), layer by layer."""
    layers, heads = patterns.shape[:2]
    return [_summary(patterns[n, h], n, h) for n in range(layers) for h in range(heads)]


def _summary(pattern: Tensor, layer: int, head: int) -> HeadSummary:
    return HeadSummary(
        layer=layer,
        head=head,
        sharpness=sharpness(pattern),
        offset=mean_offset(pattern),
        end_share=float(pattern[:, -1].mean()),
        alignment=alignment_score(pattern),
        first_share=float(pattern[:, 0].mean()),
        own_share=float(pattern.diagonal().sum() / len(pattern)),
    )


def best_aligned(patterns: Tensor) -> tuple[int, int]:
    """(layer, head) of the pattern that looks most like a word alignment.

    An estimate from the pattern's shape alone: if you have gold alignments, measure with them instead.
    """
    best = max(summarise(patterns), key=lambda summary: summary.alignment)
    return best.layer, best.head


def most_selective(patterns: Tensor) -> tuple[int, int]:
    """(layer, head) of the pattern that selects most sharply without always selecting the same key.

    It has the highest product of sharpness and the share of the weight that is not on its most attended key.
    """
    favourite = patterns.mean(dim=-2).amax(dim=-1)  # (N, H)
    worth = {
        (one.layer, one.head): one.sharpness * (1 - float(favourite[one.layer, one.head]))
        for one in summarise(patterns)
    }
    return max(worth, key=lambda place: worth[place])
