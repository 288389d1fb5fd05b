"""Initial token vectors from the pairs themselves, so that tokens with related meanings start with similar vectors.

Tokens that often occur in the same pairs, on either side, have related meanings. The leading singular vectors of the
table "which token occurs in which pair" (latent semantic analysis, Deerwester et al. 1990, across both sides) put them
close together, so training does not have to find these matches first.
Shapes: V tokens, n pairs, D width.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.columns import Pool, Pools, Ragged
from glassformer.nn.singular_vectors import leading_singular_vectors, orthonormal

MOST_PAIRS = 200_000  # more do not change the result
SHARE = 0.95  # of a vector's length comes from the pairs; the rest is random, to distinguish synonyms


def vectors_of_pairs(pairs: Pools, *, width: int, vocabularies: tuple[int, int], seed: int) -> Tensor:
    """(V, D), rows of length 1; rows of length 0 for tokens that never occur or occur in every pair.

    `vocabularies` are the sizes on both sides; the target's tokens follow the source's. One shared vocabulary: (V, 0).
    """
    table = token_by_pair(next(pairs.pools(seed=seed, epoch=0)), *vocabularies)
    columns = min(width, *table.shape)
    left, values = leading_singular_vectors(table, columns, torch.Generator().manual_seed(seed))
    real = values > 1e-4 * values[0]  # the rest is rounding
    vectors = torch.zeros(table.size(0), width)
    vectors[:, :columns] = left * torch.where(real, values, 0.0).sqrt()
    lengths = vectors.norm(dim=1, keepdim=True)
    return torch.where(lengths > 1e-6, vectors / lengths.clamp_min(1e-6), 0.0)


def token_by_pair(pool: Pool, first: int, second: int) -> Tensor:
    """(V, n) sparse: the weight log(n / pairs with the token) in each pair where it occurs; columns of length 1."""
    n, columns = min(len(pool), MOST_PAIRS), pool.columns
    keys = [occurrences(columns["source"], n, offset=0)]
    keys.append(occurrences(columns["target"], n, offset=first if second else 0))
    token, pair = np.divmod(np.unique(np.concatenate(keys)), n)
    rarity = np.log(n / np.bincount(token, minlength=first + second).clip(1))[token]
    lengths = np.sqrt(np.bincount(pair, rarity**2, minlength=n)).clip(1e-12)
    values = torch.as_tensor(rarity / lengths[pair], dtype=torch.float32)
    index = torch.from_numpy(np.stack([token, pair]))
    return torch.sparse_coo_tensor(index, values, (first + second, n), is_coalesced=True, check_invariants=False)


def occurrences(side: Ragged, n: int, *, offset: int) -> NDArray[np.int64]:
    """token * n + pair, for every token of the first n pairs."""
    tokens = side.flat[: side.offsets[n]].astype(np.int64) + offset
    return tokens * n + np.repeat(np.arange(n), side.lengths[:n])


def start_from_pairs(weight: Tensor, pairs: Pools, *, seed: int) -> None:
    """Turns the vectors (V, D) of a vocabulary that both sides share towards those of the pairs."""
    vectors = vectors_of_pairs(pairs, width=weight.size(1), vocabularies=(len(weight), 0), seed=seed)
    turn_towards(weight, vectors.to(weight.device), seed=seed)


@torch.no_grad()
def turn_towards(weight: Tensor, vectors: Tensor, *, seed: int) -> None:
    """Turns random initial vectors (V, D) towards those of the pairs; each keeps its length."""
    turn = orthonormal(torch.randn(weight.size(1), weight.size(1), generator=torch.Generator().manual_seed(seed)))
    length = weight.norm(dim=1, keepdim=True)
    mixed = SHARE * (vectors @ turn.to(weight)) + math.sqrt(1 - SHARE**2) * weight / length  # no axis is special
    known = vectors.norm(dim=1, keepdim=True) > 0
    weight.copy_(torch.where(known, mixed * (length / mixed.norm(dim=1, keepdim=True)), weight))
