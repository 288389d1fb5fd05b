"""Dot product against cosine: long vectors mislead the one, not the other."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.explain.lessons.lesson import Lesson, Section, number, number_table, text_table

PAIRS = (([1, 2], [2, 4]), ([1, 2], [-2, -4]), ([100, 200], [-1, 3]))
DIRECTIONS = (("the same direction", [1, 2], [3, 6]), ("orthogonal", [1, 2], [-2, 1]), ("opposite", [1, 2], [-1, -2]))
KING, QUEEN = [0.6, 0.1, 1.0, 0.9], [0.3, 0.2, 0.9, 1.0]


def dot(v: Tensor, w: Tensor) -> float:
    return float(v @ w)


def cosine(v: Tensor, w: Tensor) -> float:
    """v . w / (|v| |w|)"""
    return float(v @ w / (v.norm() * w.norm()))


def vectors(*given: Sequence[float]) -> list[Tensor]:
    return [torch.tensor(one, dtype=torch.float64) for one in given]


def run() -> list[Section]:
    return [products_section(), directions_section(), words_section()]


def products_section() -> Section:
    rows = []
    for first, second in PAIRS:
        v, w = vectors(first, second)
        lengths = f"{v.norm():.2f}, {w.norm():.2f}"
        rows.append((f"{first} and {second}", number(dot(v, w), 0), number(cosine(v, w)), lengths))
    return Section(
        "v · w, and v · w / (|v| |w|)",
        "The first pair has the same direction, and the third does not; but 500 is more than 10, because the third "
        "has a long vector. The cosine divides by both lengths: 1 for the first pair and 0.707 for the third.",
        (text_table(("vectors", "dot product", "cosine", "lengths"), rows),),
    )


def directions_section() -> Section:
    rows = [(name, f"{a} {b}", number(cosine(*vectors(a, b)), 1)) for name, a, b in DIRECTIONS]
    return Section(
        "What a cosine says",
        "1: the same direction. 0: unrelated. -1: opposite.",
        (text_table(("", "vectors", "cosine"), rows),),
    )


def words_section() -> Section:
    king, queen = vectors(KING, QUEEN)
    shown = f"king · queen = {dot(king, queen):.2f}, cosine {cosine(king, queen):.3f}"
    return Section(
        "king and queen",
        "The vectors of the lecture notes. For real ones: glassformer vectors train, glassformer vectors similar.",
        (
            number_table(torch.stack([king, queen]), rows=("king", "queen"), columns=("1", "2", "3", "4"), digits=1),
            shown,
        ),
    )


LESSON = Lesson("similarity", "Dot product and cosine", "Why 500 can be less similar than 10; 1, 0 and -1.", run)
