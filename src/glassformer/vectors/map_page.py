"""A picture of words in two dimensions: one self-contained page with search and zoom, which loads nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from glassformer.errors import DataError, SettingsError
from glassformer.printable import counted, embedded, with_visible_directions
from glassformer.vectors.projection import MOST, Points, has_tsne, kept_neighbours, nearest, pca, tsne
from glassformer.vectors.word_vectors import TINY, WordVectors
from glassformer.vectors.words import is_word

METHODS = ("pca", "tsne", "both")
PLACE = re.compile(r"\{\{(title|style|data|script)\}\}")


@dataclass(frozen=True)
class Layout:
    """The words in two dimensions. `kept`: the share of the 10 nearest words that are near in the picture too."""

    name: str
    points: Points
    kept: float
    note: str


@dataclass(frozen=True)
class WordMap:
    words: list[str]
    layouts: list[Layout]
    near: list[list[int]]  # the nearest words by cosine, among those shown
    title: str
    left_out: int = 0  # entries more frequent than the last word that are no words, such as signs, or have no vector

    def to_dict(self) -> dict[str, Any]:
        return {
            "words": self.words,
            "left_out": self.left_out,
            "layouts": [
                {
                    "name": one.name,
                    "kept": one.kept,
                    "points": [[round(x, 5), round(y, 5)] for x, y in one.points.tolist()],
                }
                for one in self.layouts
            ],
        }


def word_map(
    vectors: WordVectors,
    *,
    words: Sequence[str] = (),
    most: int = 500,
    method: str = "both",
    seed: int = 1,
    title: str = "",
) -> WordMap:
    """The given words, or the `most` frequent ones, in two dimensions."""
    if method not in METHODS:
        raise SettingsError(f"method = {method!r}: allowed are {', '.join(METHODS)}.")
    rows, left_out = usual_rows(vectors, most)
    if words:
        rows, left_out = list(dict.fromkeys(vectors.id_of(word) for word in words)), 0
    if not 3 <= len(rows) <= MOST:
        raise DataError(f"Got {counted(len(rows), 'word')} to draw; give 3 to {MOST:,}.")
    matrix = vectors.matrix[rows]
    units = (matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), TINY)).astype(np.float32)
    layouts = []
    if method in ("tsne", "both") and (method == "tsne" or has_tsne()):
        points = tsne(units, seed=seed)
        layouts.append(
            Layout("t-SNE", points, kept_neighbours(units, points), "near words are alike; large distances mean little")
        )
    if method in ("pca", "both"):
        points, share = pca(units)
        layouts.append(Layout("PCA", points, kept_neighbours(units, points), f"shows {share:.0%} of the variance"))
    shown = [vectors.words[i] for i in rows]
    return WordMap(shown, layouts, nearest(units).tolist(), title or "Word vectors", left_out)


def usual_rows(vectors: WordVectors, most: int) -> tuple[list[int], int]:
    """The most frequent words, and how many entries before the last of them were left out: signs, vectors of 0."""
    found: list[int] = []
    for number, word in enumerate(vectors.words):
        if is_word(word) and vectors.lengths[number] > TINY:
            found.append(number)
            if len(found) == most:
                return found, number + 1 - most
    return found, len(vectors) - len(found)


def render_map(drawn: WordMap) -> str:
    """The page as one string; write it as UTF-8."""
    layouts = [
        {"name": one.name, "kept": f"{one.kept:.0%}", "note": one.note, "points": scaled(one.points)}
        for one in drawn.layouts
    ]
    data = {"words": [with_visible_directions(word) for word in drawn.words], "near": drawn.near, "layouts": layouts}
    parts = {
        "title": html.escape(with_visible_directions(drawn.title)),
        "style": asset("map.css"),
        "data": embedded(data),
        "script": asset("map.js"),
    }
    return PLACE.sub(lambda place: parts[place[1]], asset("map.html"))


def scaled(points: Points) -> list[list[float]]:
    """The same picture in a square from 0 to 1, its shape kept."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max()) or 1.0
    moved = (points - (low + high) / 2) / size + 0.5
    return [[round(x, 5), round(y, 5)] for x, y in moved.tolist()]


def asset(name: str) -> str:
    return files("glassformer.vectors").joinpath("assets", name).read_text(encoding="utf-8")
