"""Scores of labels of words: entity F1 by exact span, with precision and recall, and the accuracy of the words.

An example's last element are the true labels of a sentence; a prediction are its labels. Both may be of any scheme
(`data/schemes.py`). An entity is right if its type, its first and its last word are. Sums are over all sentences and
types (micro), as in the CoNLL evaluation, and as in `seqeval` by default. For labels that keep the rules of their
scheme, as all predictions here do, `seqeval` gives the same in its strict mode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.data.schemes import Span, spans_of
from glassformer.evaluate.classes import PERCENT
from glassformer.evaluate.metric import Counts, Metric, ScoreOf, percent_of

Labels = Sequence[str]
MISSED = ""  # in the confusion of types: no entity


def entity_counts(predictions: Sequence[Labels], examples: Sequence[Any]) -> Counts:
    """(N, 3): entities that are right, predicted and true, of each sentence."""
    rows = [_pair(found, example[-1]) for found, example in zip(predictions, examples, strict=True)]
    return np.array([[len(found & true), len(found), len(true)] for found, true in rows], dtype=np.float64)


def _pair(found: Labels, true: Labels) -> tuple[set[Span], set[Span]]:
    return set(spans_of(found)), set(spans_of(true))


def word_counts(predictions: Sequence[Labels], examples: Sequence[Any]) -> Counts:
    """(N, 2): words with the right label, and all words, of each sentence."""
    rows = [(found, example[-1]) for found, example in zip(predictions, examples, strict=True)]
    right = [sum(a == b for a, b in zip(found, true, strict=True)) for found, true in rows]
    return np.array([[r, len(true)] for r, (_, true) in zip(right, rows, strict=True)], dtype=np.float64)


def f1(summed: Counts) -> NDArray[np.float64]:
    """2 right / (predicted + true), in percent; 0 without entities."""
    score: NDArray[np.float64] = 200 * summed[:, 0] / np.maximum(summed[:, 1] + summed[:, 2], 1)
    return score


def precision(summed: Counts) -> NDArray[np.float64]:
    return percent_of(summed[:, [0, 1]])


def recall(summed: Counts) -> NDArray[np.float64]:
    return percent_of(summed[:, [0, 2]])


def entity_exceptions(values: Counts) -> Counts | None:
    """After sentences that are all right, [right, predicted, true]: a usual one that is all wrong; or the reverse."""
    usual = values.mean(axis=0)
    if not usual[2] or (usual[0] and not np.all(values == values[:, :1])):
        return None
    return np.array([[0, usual[2], usual[2]] if usual[0] else [usual[2]] * 3])


def _metric(key: str, label: str, score: ScoreOf) -> Metric:
    return Metric(key, label, score, entity_counts, unit="%", scale=PERCENT, exceptions=entity_exceptions)


ENTITY_F1 = _metric("f1", "entity F1", f1)
PRECISION = _metric("entity_precision", "entity precision", precision)
RECALL = _metric("entity_recall", "entity recall", recall)
WORD_ACCURACY = Metric(
    "accuracy", "accuracy of words", percent_of, word_counts, unit="%", judges_one=True, scale=PERCENT
)

SPAN_METRICS = (ENTITY_F1, PRECISION, RECALL, WORD_ACCURACY)
PLAIN_METRICS = (WORD_ACCURACY,)


@dataclass(frozen=True)
class TypeScore:
    """The scores of one type of entities, in percent, and how many of them there are."""

    kind: str
    precision: float
    recall: float
    f1: float
    true: int
    predicted: int


def scores_by_type(predictions: Sequence[Labels], examples: Sequence[Any]) -> list[TypeScore]:
    """One row for each type that is true or predicted somewhere, in alphabetical order."""
    right, predicted, true = Counter[str](), Counter[str](), Counter[str]()
    for found, example in zip(predictions, examples, strict=True):
        ours, theirs = _pair(found, example[-1])
        right.update(kind for kind, _, _ in ours & theirs)
        predicted.update(kind for kind, _, _ in ours)
        true.update(kind for kind, _, _ in theirs)
    rows = []
    for kind in sorted({*predicted, *true}):
        counts = np.array([[right[kind], predicted[kind], true[kind]]], dtype=np.float64)
        values = [float(score(counts)[0]) for score in (precision, recall, f1)]
        rows.append(TypeScore(kind, values[0], values[1], values[2], true[kind], predicted[kind]))
    return rows


def type_confusion(predictions: Sequence[Labels], examples: Sequence[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Types, and how many words of each true type (row) have each predicted type (column). The last is no entity."""
    pairs = Counter[tuple[str, str]]()
    for found, example in zip(predictions, examples, strict=True):
        pairs.update(zip(types_of(example[-1]), types_of(found), strict=True))
    names = sorted({name for pair in pairs for name in pair} - {MISSED})
    places = {name: at for at, name in enumerate([*names, MISSED])}
    table = np.zeros((len(places), len(places)), dtype=np.int64)
    for (true, predicted), count in pairs.items():
        table[places[true], places[predicted]] = count
    return [*names, MISSED], table


def types_of(labels: Labels) -> list[str]:
    """The type of each word; MISSED outside of entities."""
    found = [MISSED] * len(labels)
    for kind, start, end in spans_of(labels):
        found[start:end] = [kind] * (end - start)
    return found
