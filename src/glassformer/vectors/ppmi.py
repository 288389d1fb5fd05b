"""Word vectors from counts: positive PMI, reduced by a singular value decomposition (Levy and Goldberg 2014).

Skip-gram factors nearly the same table without ever counting it.
"""

from __future__ import annotations

import numpy as np
import torch

from glassformer.nn.singular_vectors import leading_singular_vectors
from glassformer.vectors.corpus import Corpus
from glassformer.vectors.counting import SparseTable, cooccurrences, pmi
from glassformer.vectors.settings import VectorSettings
from glassformer.vectors.word_vectors import Floats


def count_ppmi(corpus: Corpus, settings: VectorSettings) -> Floats:
    """(V, width) U sqrt(S) of the PPMI table U S V^T; columns of 0 where the vocabulary is smaller than the width."""
    table = pmi(cooccurrences(corpus, window=settings.window, by_distance=True), power=settings.power)
    width = min(settings.width, table.size)
    left, values = leading_singular_vectors(as_torch(table), width, torch.Generator().manual_seed(settings.seed))
    found = np.zeros((table.size, settings.width), np.float32)
    found[:, :width] = (left * values.clamp_min(0).sqrt()).numpy()
    return found


def as_torch(table: SparseTable) -> torch.Tensor:
    index = torch.from_numpy(np.stack([table.rows, table.columns]))
    values = torch.from_numpy(table.values.astype(np.float32))
    return torch.sparse_coo_tensor(index, values, (table.size, table.size), is_coalesced=True, check_invariants=False)
