"""The key/value cache: an explicit object, passed in, with the past of one attention."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from glassformer.nn.native.one_thread import copy, rows_of, zeros


@dataclass
class Store:
    """Memory for keys and values (B, G, K, E), of which the first `used` places are filled."""

    keys: Tensor
    values: Tensor
    used: int

    @property
    def size(self) -> int:
        return self.keys.size(2)


class KVCache:
    """Keys and values (B, G, K, E) of all tokens so far; grows by doubling, so appending stays cheap.

    Copies made by `share` use the same memory. The first one to append keeps it; the others then copy.
    """

    def __init__(self) -> None:
        self.store: Store | None = None
        self.length = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Appends (B, G, T, E) and returns everything it holds, as views (B, G, K, E)."""
        start = self.length
        keys, values = self.reserve(*k.shape, like=k)
        keys[:, :, start : self.length] = k
        values[:, :, start : self.length] = v
        return keys[:, :, : self.length], values[:, :, : self.length]

    def reserve(self, batch: int, heads: int, more: int, width: int, *, like: Tensor) -> tuple[Tensor, Tensor]:
        """Reserves `more` places and returns the whole memory (B, G, size, E); the caller fills the new places."""
        end = self.length + more
        store = self.store
        if store is None or store.used != self.length or store.size < end:
            size = max(16 * min(more, 8), 2 * end)  # `more` are the hypotheses of a sentence, or a prompt
            store = self.store = self._moved((batch, heads, size, width), like)
        self.length = store.used = end
        return store.keys, store.values

    def _moved(self, shape: tuple[int, ...], like: Tensor) -> Store:
        """A larger store that begins with the current keys and values."""
        keys, values = zeros(shape, like=like), zeros(shape, like=like)  # hidden slots must not be NaN
        if self.store is not None:
            copy(self.store.keys[:, :, : self.length], to=keys[:, :, : self.length])
            copy(self.store.values[:, :, : self.length], to=values[:, :, : self.length])
        return Store(keys, values, self.length)

    def share(self) -> KVCache:
        """Another cache with the same content, in the same memory."""
        other = KVCache()
        other.store, other.length = self.store, self.length
        return other

    def select(self, rows: Tensor) -> KVCache:
        """A new cache whose row i is this one's row rows[i]; rows may be reordered, dropped or repeated."""
        chosen = KVCache()
        chosen.length = self.length
        if self.store is not None:
            keys, values = (rows_of(x[:, :, : self.length], rows) for x in (self.store.keys, self.store.values))
            chosen.store = Store(keys, values, self.length)
        return chosen

    def pick(self, places: Tensor) -> KVCache:
        """A new cache with only these places of each row, (B, K')."""
        picked = KVCache()
        picked.length = places.size(1)
        if self.store is not None:
            shape = (-1, self.store.keys.size(1), -1, self.store.keys.size(3))
            index = places[:, None, :, None].expand(shape)
            picked.store = Store(self.store.keys.gather(2, index), self.store.values.gather(2, index), picked.length)
        return picked
