"""The leading singular vectors of a large sparse table, by subspace iteration (Halko et al. 2011)."""

from __future__ import annotations

import torch
from torch import Tensor

ROUNDS, EXTRA = 4, 16  # iterations, and columns beyond those that are asked for


def leading_singular_vectors(table: Tensor, columns: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The left ones (V, columns) and their singular values."""
    across = table.mT.coalesce()
    size = min(columns + EXTRA, *table.shape)
    basis = orthonormal(torch.sparse.mm(table, torch.randn(table.size(1), size, generator=generator)))
    for _ in range(ROUNDS):
        basis = orthonormal(torch.sparse.mm(table, orthonormal(torch.sparse.mm(across, basis))))
    left, values, _ = torch.linalg.svd(torch.sparse.mm(across, basis).mT, full_matrices=False)
    return (basis @ left)[:, :columns], values[:columns]


def orthonormal(matrix: Tensor) -> Tensor:
    basis: Tensor = torch.linalg.qr(matrix)[0]
    return basis
