"""The key/value cache: an explicit object, passed in, that remembers one attention's past."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass
class Store:
    """Room for keys and values (B, G, K, E), of which the first places are used."""

    keys: Tensor
    values: Tensor
    used: int

    @property
    def room(self) -> int:
        return self.keys.size(2)


class KVCache:
    """Keys and values (B, G, K, E) of what was seen so far; grows by doubling, so appending stays cheap.

    Twins share what they both hold. Only one of them can go on in the same place; the other then takes a copy.
    """

    def __init__(self) -> None:
        self.store: Store | None = None
        self.length = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Adds (B, G, T, E) at the end and returns all that is held, as views (B, G, K, E)."""
        start = self.length
        keys, values = self.reserve(*k.shape, like=k)
        keys[:, :, start : self.length] = k
        values[:, :, start : self.length] = v
        return keys[:, :, : self.length], values[:, :, : self.length]

    def reserve(self, batch: int, heads: int, more: int, width: int, *, like: Tensor) -> tuple[Tensor, Tensor]:
        """Makes place for so many more and returns the whole room (B, G, room, E); the caller fills the new place."""
        end = self.length + more
        store = self.store
        if store is None or store.used != self.length or store.room < end:
            room = max(16 * min(more, 8), 2 * end)  # `more` are the hypotheses of a sentence, or a text begun with
            store = self.store = self._moved((batch, heads, room, width), like)
        self.length = store.used = end
        return store.keys, store.values

    def _moved(self, shape: tuple[int, ...], like: Tensor) -> Store:
        """A store with more room that begins with what is held."""
        keys, values = like.new_zeros(shape), like.new_zeros(shape)  # what is hidden must still be a number
        if self.store is not None:
            keys[:, :, : self.length] = self.store.keys[:, :, : self.length]
            values[:, :, : self.length] = self.store.values[:, :, : self.length]
        return Store(keys, values, self.length)

    def twin(self) -> KVCache:
        """Another cache that holds the same."""
        twin = KVCache()
        twin.store, twin.length = self.store, self.length
        return twin

    def select(self, rows: Tensor) -> KVCache:
        """A new cache whose row i is this one's row rows[i]: reorders, drops or repeats."""
        chosen = KVCache()
        chosen.length = self.length
        if self.store is not None:
            keys, values = (x[:, :, : self.length].index_select(0, rows) for x in (self.store.keys, self.store.values))
            chosen.store = Store(keys, values, self.length)
        return chosen

    def pick(self, places: Tensor) -> KVCache:
        """A new cache with some places of each row only, (B, K')."""
        picked = KVCache()
        picked.length = places.size(1)
        if self.store is not None:
            shape = (-1, self.store.keys.size(1), -1, self.store.keys.size(3))
            index = places[:, None, :, None].expand(shape)
            picked.store = Store(self.store.keys.gather(2, index), self.store.values.gather(2, index), picked.length)
        return picked
