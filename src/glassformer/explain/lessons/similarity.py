"""How similar two vectors are: the dot product, which long vectors mislead, and the cosine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from glassformer.errors import SettingsError
from glassformer.explain.lessons.inputs import vector_of
from glassformer.explain.lessons.lesson import Asked, Cell, Lesson, Section, table

Vector = tuple[float, ...]
PAIRS: tuple[tuple[Vector, Vector], ...] = (
    ((1, 2), (2, 4)),
    ((1, 2), (-2, -4)),
    ((1, 2), (-2, 1)),
    ((100, 200), (-1, 3)),
)
KING, QUEEN = (0.6, 0.1, 1.0, 0.9), (0.3, 0.2, 0.9, 1.0)  # chosen
MOST = 12  # vectors of a learner


def dot(v: Sequence[float], w: Sequence[float]) -> float:
    """v · w = |v| |w| cos(angle)."""
    return math.fsum(a * b for a, b in zip(v, w, strict=True))


def length(v: Sequence[float]) -> float:
    return math.hypot(*v)


def cosine(v: Sequence[float], w: Sequence[float]) -> float | None:
    """None if a vector is all zeros: it has no direction."""
    unit_v, unit_w = scaled(v), scaled(w)
    return None if unit_v is None or unit_w is None else max(-1.0, min(1.0, dot(unit_v, unit_w)))


def scaled(v: Sequence[float]) -> Vector | None:
    """v / |v|."""
    return tuple(a / length(v) for a in v) if length(v) else None


def run(asked: Asked) -> list[Section]:
    vectors = [vector_of(text) for text in asked.texts]
    pairs = list(combinations(vectors, 2)) if vectors else list(PAIRS)
    check(vectors)
    products = [(f"{written(v)} · {written(w)}", sum_of(v, w), dot(v, w)) for v, w in pairs]
    sections = [
        Section(
            "The dot product",
            "Multiply number by number and add. It is large if two vectors point in the same direction.",
            (table("products", ("vectors", "sum", "dot product"), products, ".10g"),),
        ),
        cosine_section(pairs),
    ]
    return sections if vectors else [*sections, royal_section()]


def check(vectors: Sequence[Vector]) -> None:
    if vectors and not 2 <= len(vectors) <= MOST:
        raise SettingsError(f"got {len(vectors)} vectors; give 2 to {MOST}: glassformer lesson similarity 1,2 2,4")
    if len({len(one) for one in vectors}) > 1:
        raise SettingsError("The vectors have different lengths. Give vectors with the same number of values.")


def cosine_section(pairs: Sequence[tuple[Vector, Vector]]) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for v, w in pairs:
        found = cosine(v, w)
        angle: Cell = "none" if found is None else math.degrees(math.acos(found))
        rows.append((f"{written(v)}, {written(w)}", length(v), length(w), "none" if found is None else found, angle))
    return Section(
        "The cosine: direction only",
        "The product grows with the lengths: [100, 200] · [−1, 3] = 500 is far more than [1, 2] · [2, 4] = 10, "
        "although [1, 2] and [2, 4] have exactly the same direction. Divided by both lengths it is the cosine of the "
        "angle: 1 for the same direction, 0 for unrelated, −1 for opposite. A vector of zeros has no direction.",
        (
            table(
                "cosines", ("vectors", "|v|", "|w|", "cosine", "angle, degrees"), rows, "", ".3f", ".3f", ".3f", ".1f"
            ),
        ),
    )


def royal_section() -> Section:
    rows = [("king, queen", dot(KING, QUEEN), cosine(KING, QUEEN) or 0.0)]
    return Section(
        "Attention uses the dot product",
        f"king = {written(KING)} and queen = {written(QUEEN)} are similar by both. Attention takes the product, not "
        "the cosine: it is one matrix product, and a model can use the length of a key to be read more or less.",
        (table("royal", ("words", "dot product", "cosine"), rows),),
    )


def written(v: Sequence[float]) -> str:
    return "[" + ", ".join(f"{a:g}" for a in v[:6]) + (", ...]" if len(v) > 6 else "]")


def sum_of(v: Sequence[float], w: Sequence[float]) -> str:
    parts = [f"{signed(a)} × {signed(b)}" for a, b in zip(v[:4], w[:4], strict=True)]
    return " + ".join(parts) + (" + ..." if len(v) > 4 else "")


def signed(a: float) -> str:
    return f"{a:g}" if a >= 0 else f"({a:g})"


LESSON = Lesson(
    "similarity",
    "How similar are two vectors?",
    "The dot product, which long vectors mislead, and the cosine.",
    run,
    source="Jurafsky and Martin, Speech and Language Processing, chapter 6",
    files=("explain/lessons/similarity.py:cosine", "vectors/word_vectors.py:similarity"),
    takes={"texts": ()},
    examples=("1,2 2,4 100,200", '3,4 "[-4,3]"'),
)
