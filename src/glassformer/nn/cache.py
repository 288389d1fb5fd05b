"""The key/value cache: an explicit object, passed in, that remembers one attention's past."""

from __future__ import annotations

import torch
from torch import Tensor


class KVCache:
    """Keys and values (R, G, K, E) of the positions seen so far; grows by doubling, so appending stays cheap."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.length = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Adds (R, G, T, E) at the end and returns all that is held, as views (R, G, K, E)."""
        end = self.length + k.size(2)
        self.keys = _room(self.keys, k, self.length, end)
        self.values = _room(self.values, v, self.length, end)
        self.keys[:, :, self.length : end] = k
        self.values[:, :, self.length : end] = v
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def select(self, rows: Tensor) -> KVCache:
        """A new cache whose row i is this one's row rows[i]: reorders, drops or repeats hypotheses."""
        chosen = KVCache()
        if self.keys is not None and self.values is not None:
            chosen.keys, chosen.values = self.keys.index_select(0, rows), self.values.index_select(0, rows)
        chosen.length = self.length
        return chosen


def _room(held: Tensor | None, new: Tensor, length: int, end: int) -> Tensor:
    """A buffer with at least `end` places along the key axis that starts with what is held."""
    if held is not None and held.size(2) >= end:
        return held
    rows, groups, _, width = new.shape
    buffer = torch.empty(rows, groups, max(16, 2 * end), width, dtype=new.dtype, device=new.device)
    if held is not None:
        buffer[:, :, :length] = held[:, :, :length]
    return buffer
