"""One vector for a sentence, from the vectors of its tokens.

Tokens are rows one after another, without padding: R rows of B sentences with the given lengths.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def real_rows(hidden: Tensor, lengths: Tensor) -> Tensor:
    """(B, T, D) with padding at the end -> (R, D)."""
    return hidden[torch.arange(hidden.size(1), device=hidden.device) < lengths[:, None]]


def mean_of_rows(hidden: Tensor, lengths: Tensor | None) -> Tensor:
    """(B, T, D) with padding at the end -> the mean of the real tokens, (B, D), for training."""
    if lengths is None or bool((lengths == hidden.size(1)).all()):
        return hidden.mean(dim=1)
    real = (torch.arange(hidden.size(1), device=hidden.device) < lengths[:, None]).to(hidden.dtype)  # (B, T)
    weights = real / lengths[:, None].clamp(min=1)
    return (weights[:, None] @ hidden)[:, 0]  # (B, 1, T) @ (B, T, D)


def mean(rows: Tensor, lengths: Tensor) -> Tensor:
    sentence = torch.repeat_interleave(torch.arange(len(lengths), device=rows.device), lengths)  # (R,)
    sums = rows.new_zeros(len(lengths), rows.size(1)).index_add_(0, sentence, rows)
    return sums / lengths[:, None]


def largest(rows: Tensor, lengths: Tensor) -> Tensor:
    return torch.segment_reduce(rows, "max", lengths=lengths, axis=0)


def first(rows: Tensor, lengths: Tensor) -> Tensor:
    return rows[lengths.cumsum(0) - lengths]


def last(rows: Tensor, lengths: Tensor) -> Tensor:
    return rows[lengths.cumsum(0) - 1]


# By their names in sentence-transformers; "cls" is the first token, whatever it is.
POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"mean": mean, "max": largest, "cls": first, "last": last}
