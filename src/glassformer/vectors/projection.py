"""Two dimensions of many: PCA, which keeps large distances, and t-SNE, which keeps neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassformer.errors import SettingsError
from glassformer.vectors.word_vectors import Floats

Points = NDArray[np.float64]  # (n, 2)
NEAREST = 10
MOST = 20_000  # words; more take hours and cannot be read
EXTRA = "pip install 'glassformer[vectors]'"


def pca(units: Floats) -> tuple[Points, float]:
    """(n, D) -> (n, 2), and the share of the variance that these two dimensions keep."""
    centred = (units - units.mean(axis=0)).astype(np.float64)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    rank = min(2, len(values))
    points = np.zeros((len(units), 2))
    points[:, :rank] = left[:, :rank] * values[:rank]
    signs = np.where(right[:2].sum(axis=1) < 0, -1.0, 1.0)  # the same picture on every machine
    points[:, : len(signs)] *= signs
    total = float((values**2).sum())
    return points, float((values[:2] ** 2).sum()) / total if total else 1.0


def tsne(units: Floats, *, seed: int) -> Points:
    """t-SNE (van der Maaten and Hinton 2008) by scikit-learn; the distance is 1 - cosine."""
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise SettingsError(
            f"t-SNE needs scikit-learn, which is not installed: {EXTRA}. --method pca needs nothing."
        ) from None
    perplexity = max(1.0, min(30.0, (len(units) - 1) / 3))
    found = TSNE(
        perplexity=perplexity,
        metric="cosine",
        init="pca" if units.shape[1] > 1 else "random",
        random_state=seed % 2**32,
    )
    points: Points = found.fit_transform(units.astype(np.float64)).astype(np.float64)
    return points


def has_tsne() -> bool:
    from importlib.util import find_spec

    return find_spec("sklearn") is not None


def nearest(units: Floats, count: int = NEAREST) -> NDArray[np.int64]:
    """(n, count) The rows with the highest cosine to each row, without itself."""
    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    found: NDArray[np.int64] = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    return found


def kept_neighbours(units: Floats, points: Points) -> float:
    """The share of the nearest words by cosine that are also among the nearest in the picture."""
    count = min(NEAREST, len(units) - 1)
    true = nearest(units, count)
    squared = (points**2).sum(axis=1)
    distance = squared[:, None] + squared - 2 * points @ points.T
    np.fill_diagonal(distance, np.inf)
    seen = np.argsort(distance, axis=1, kind="stable")[:, :count]
    return float(np.mean([len(set(a) & set(b)) / count for a, b in zip(true.tolist(), seen.tolist(), strict=True)]))
