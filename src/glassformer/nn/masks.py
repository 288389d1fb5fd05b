"""Masks: which keys a query may see. True or 0: it may; False or -inf: it may not."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(lengths: Tensor, size: int) -> Tensor:
    """(B,) lengths -> (B, 1, 1, size), True for real tokens: hides padding from every query."""
    return (torch.arange(size, device=lengths.device) < lengths[:, None])[:, None, None, :]


def causal_mask(
    queries: int, keys: int | None = None, *, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> Tensor:
    """(T, K) with -inf above the diagonal: a position sees itself and the past. The last query is the last key."""
    keys = queries if keys is None else keys
    ones = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return additive(ones.tril(keys - queries), dtype)


def window_mask(queries: int, window: int, *, device: torch.device | str = "cpu") -> Tensor:
    """(T, T), False where a key is `window` or more positions before the query."""
    return torch.ones(queries, queries, dtype=torch.bool, device=device).triu(1 - window)


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A boolean mask as the M of the formula: 0 where True, -inf where False. Other masks are returned unchanged."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, float("-inf"))


def hiding_padding(lengths: Tensor | None, size: int, dtype: torch.dtype) -> Tensor | None:
    """The additive padding mask (B, 1, 1, size), or None if nothing is padded: attention is faster then."""
    if lengths is None or bool((lengths == size).all()):
        return None
    return additive(padding_mask(lengths, size), dtype)
