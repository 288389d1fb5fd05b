"""Mixes old examples into new ones, so that a fine-tuned model does not forget what it knew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from glassformer.data.columns import Columns, Index, Pool, Pools
from glassformer.data.token_cache import TokenCache
from glassformer.errors import DataError

DRAW = 11  # keeps these random numbers apart from others of the same seed and epoch


class Mixture:
    """All new examples in every epoch, and a sample of the old ones that is a function of (seed, epoch).

    `share` of an epoch's tokens are old. Each epoch samples different old examples.
    """

    def __init__(self, new: TokenCache, old: TokenCache | Mixture, *, share: float) -> None:
        self.new, self.old, self.share = new, old, share

    def __len__(self) -> int:
        """The number of new examples."""
        return len(self.new)

    @property
    def left_out(self) -> int:
        return self.new.left_out

    def pools(self, *, seed: int, epoch: int) -> Iterator[Pool]:
        """Each pool of new examples, with old examples sampled from one pool."""
        random = np.random.default_rng([seed, epoch, DRAW])
        old_pools = _endless(self.old, seed=seed, epoch=epoch)
        for new in self.new.pools(seed=seed, epoch=epoch):
            wanted = self.share / (1 - self.share) * float(new.lengths.sum())
            old = next(old_pools)
            sample = old.columns.at(sampled(old, tokens=wanted, random=random))
            yield self.new.pool_of(Columns.joined([new.columns, sample]))


def _endless(examples: Pools, *, seed: int, epoch: int) -> Iterator[Pool]:
    if not len(examples):
        raise DataError("There are no old examples to mix in. Set train.old_share = 0.")
    while True:
        yield from examples.pools(seed=seed, epoch=epoch)


def sampled(pool: Pool, *, tokens: float, random: np.random.Generator) -> Index:
    """Examples sampled without replacement, up to about `tokens` tokens; all examples if they have fewer."""
    order: Index = random.permutation(len(pool))
    so_far = np.cumsum(pool.lengths.sum(axis=1)[order])
    return order[: max(1, int(np.searchsorted(so_far, tokens, side="right")))]


def mixed(caches: Sequence[TokenCache], shares: Sequence[float]) -> TokenCache | Mixture:
    """The first cache with the others as its old examples. Each share counts all caches after it."""
    if len(caches) == 1:
        return caches[0]
    return Mixture(caches[0], mixed(caches[1:], shares[1:]), share=shares[0])


def unmixed(pairs: TokenCache | Mixture) -> tuple[list[TokenCache], list[float]]:
    """The caches and shares that `mixed` was called with."""
    if isinstance(pairs, TokenCache):
        return [pairs], []
    caches, shares = unmixed(pairs.old)
    return [pairs.new, *caches], [pairs.share, *shares]
