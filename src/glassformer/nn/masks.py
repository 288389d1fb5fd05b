"""Masks: who may look at whom. True or 0 means "may", False or -inf means "may not"."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(lengths: Tensor, size: int) -> Tensor:
    """(B,) lengths -> (B, 1, 1, size), True where a real token stands: hides padding from every query."""
    return (torch.arange(size, device=lengths.device) < lengths[:, None])[:, None, None, :]


def causal_mask(
    queries: int, keys: int | None = None, *, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> Tensor:
    """(T, K) with -inf above the diagonal: a position sees itself and the past. The last query is the last key."""
    keys = queries if keys is None else keys
    ones = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return additive(ones.tril(keys - queries), dtype)


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A boolean mask as the M of the formula: 0 where True, -inf where False. Others pass unchanged."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, float("-inf"))
