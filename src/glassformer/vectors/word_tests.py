"""Tests of word vectors with known answers: analogies by category, and pairs of words that people have rated.

Words without a vector are counted, not hidden: a small vocabulary answers fewer questions, often the easier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glassformer.data.readers.texts import texts_of
from glassformer.errors import DataError
from glassformer.evaluate.correlation import SPEARMAN
from glassformer.evaluate.intervals import score_with_interval, wilson
from glassformer.evaluate.score import Score
from glassformer.vectors.word_vectors import TINY, WordVectors, cased

QUESTIONS = 256  # answered together
MOST_WORDS = 300_000  # the usual limit of the words that are searched


@dataclass(frozen=True)
class Category:
    """Analogies of one kind: "a is to b as c is to d", d is asked for."""

    name: str
    questions: list[tuple[str, str, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class CategoryScore:
    """How many questions were right. `score` is the accuracy among the questions whose four words have vectors."""

    name: str
    questions: int
    answered: int
    right: int
    score: Score | None  # None: no question could be answered

    @property
    def of_all(self) -> float:
        """The percentage of all questions, where a missing word counts as wrong."""
        return 100 * self.right / max(1, self.questions)


@dataclass(frozen=True)
class AnalogyScores:
    total: CategoryScore
    categories: list[CategoryScore]
    missing: list[str]  # words without a vector


@dataclass(frozen=True)
class PairScores:
    """Spearman's correlation of cosines and ratings, over the pairs whose words both have vectors."""

    pairs: int
    rated: int
    score: Score | None
    missing: list[str]


# Files


def read_analogies(path: Path) -> list[Category]:
    """Four words per line; `: name` begins a category (the format of questions-words.txt)."""
    found: list[Category] = []
    for number, line in enumerate(texts_of(path), 1):
        words = line.split()
        if line.startswith(":"):
            found.append(Category(line[1:].strip() or f"category {len(found) + 1}"))
        elif len(words) == 4:
            if not found:
                found.append(Category("all"))
            found[-1].questions.append((words[0], words[1], words[2], words[3]))
        elif words:
            raise DataError(
                f"{path}, line {number:,}: got {len(words)} words; an analogy has four: `king queen man woman`. "
                "`: name` begins a category."
            )
    if not any(one.questions for one in found):
        raise DataError(f"{path}: no analogies were found. Give lines of four words: `king queen man woman`.")
    return [one for one in found if one.questions]


def read_pairs(path: Path) -> list[tuple[str, str, float]]:
    """Two words and a rating per line, with tabs, commas or spaces between; `#` begins a comment (WordSim-353)."""
    found, header = [], True
    for number, line in enumerate(texts_of(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = next((cells for sign in ("\t", ",", None) if len(cells := line.split(sign)) == 3), [])
        try:
            found.append((parts[0].strip(), parts[1].strip(), float(parts[2])))
        except (IndexError, ValueError):
            if not header:
                raise DataError(
                    f"{path}, line {number:,}: expected two words and a rating: `tiger<TAB>cat<TAB>7.35`."
                ) from None
        header = False
    if not found:
        raise DataError(f"{path}: no rated pairs were found. Give lines of two words and a number.")
    return found


def is_analogies(path: Path) -> bool:
    """Whether a file has analogies, and not rated pairs, by its first lines."""
    lines = (line for line in texts_of(path) if line.strip() and not line.startswith("#"))
    first = next(lines, "")
    return first.startswith(":") or len(first.split()) == 4


# Scores


def row_of(vectors: WordVectors, word: str) -> int | None:
    """The row of a word, in the casing that exists."""
    return next((vectors.ids[one] for one in (word, *cased(word)) if one in vectors.ids), None)


def analogy_scores(vectors: WordVectors, categories: Sequence[Category], *, among: int = MOST_WORDS) -> AnalogyScores:
    """The nearest word to b - a + c, without a, b and c, is compared with d (3CosAdd)."""
    known = {word: row_of(vectors, word) for one in categories for question in one.questions for word in question}
    rows = {word: row for word, row in known.items() if row is not None and row < among}
    answers = [answered(vectors, one, rows, among) for one in categories]
    parts = [
        category_score(one.name, len(one.questions), right) for one, right in zip(categories, answers, strict=True)
    ]
    total = category_score("all", sum(len(one.questions) for one in categories), np.concatenate(answers))
    return AnalogyScores(total, parts, sorted(set(known) - set(rows)))


def answered(vectors: WordVectors, category: Category, rows: dict[str, int], among: int) -> NDArray[np.bool_]:
    """Whether the answer is right, for each question whose words are known."""
    asked = np.array(
        [[rows[word] for word in one] for one in category.questions if all(w in rows for w in one)], np.int64
    )
    right = [right_answers(vectors, asked[i : i + QUESTIONS], among) for i in range(0, len(asked), QUESTIONS)]
    return np.concatenate([*right, np.empty(0, bool)])


def right_answers(vectors: WordVectors, asked: NDArray[np.int64], among: int) -> NDArray[np.bool_]:
    units = vectors.matrix[asked] / np.maximum(vectors.lengths[asked], TINY)[:, :, None]  # (Q, 4, D)
    targets = units[:, 1] - units[:, 0] + units[:, 2]
    cosines = vectors.cosines(targets.astype(np.float32), among=among)
    np.put_along_axis(cosines, asked[:, :3], -np.inf, axis=1)
    found: NDArray[np.bool_] = cosines.argmax(axis=1) == asked[:, 3]
    return found


def category_score(name: str, questions: int, right: NDArray[np.bool_]) -> CategoryScore:
    count, known = int(right.sum()), len(right)
    if not known:
        return CategoryScore(name, questions, 0, 0, None)
    low, high = wilson(count, known)
    score = Score("accuracy", 100 * count / known, 100 * low, 100 * high, sentences=known, unit="questions")
    return CategoryScore(name, questions, known, count, score)


def pair_scores(vectors: WordVectors, pairs: Sequence[tuple[str, str, float]]) -> PairScores:
    """The cosines of the pairs against their ratings."""
    rows = {word: row_of(vectors, word) for one in pairs for word in one[:2]}
    found = [(rows[a], rows[b], rating) for a, b, rating in pairs]
    known = [(a, b, rating) for a, b, rating in found if a is not None and b is not None]
    missing = sorted(word for word, row in rows.items() if row is None)
    if len(known) < 2:
        return PairScores(len(pairs), len(known), None, missing)
    sides = np.array([one[:2] for one in known], np.int64)
    first, second = vectors.matrix[sides[:, 0]].astype(np.float64), vectors.matrix[sides[:, 1]].astype(np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosines = (first * second).sum(1) / np.maximum(norms, TINY)
    score = score_with_interval(SPEARMAN, cosines.tolist(), [(rating,) for _, _, rating in known])
    return PairScores(len(pairs), len(known), score, missing)
