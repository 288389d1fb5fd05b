"""Exact match and F1 of answers to questions, by the rules of SQuAD 2.0.

Both sides are compared in lower case, without ASCII punctuation, without the articles a, an and the, and with single
spaces. Each prediction counts by the best of the given answers. A question whose passage does not answer it has no
given answers: only the empty prediction is right. The counts of both are exact, so their intervals are too.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassformer.evaluate.metric import Counts, Metric, Scale, percent_of

PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
ARTICLES = re.compile(r"\b(?:a|an|the)\b")
PERCENT = Scale(excellent=95.0, fair=60.0, weak=30.0, gain=0.5, noise=50.0)


def normalised(text: str) -> str:
    return " ".join(ARTICLES.sub(" ", PUNCTUATION.sub("", text.lower())).split())


def is_exact(predicted: str, true: str) -> float:
    return float(normalised(predicted) == normalised(true))


def overlap_f1(predicted: str, true: str) -> float:
    """F1 of the words that both have, each as often as both have it; if one side is empty, both must be."""
    ours, theirs = normalised(predicted).split(), normalised(true).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs))  # 2 P R / (P + R) with P = shared / ours, R = shared / theirs


def true_texts(given: Sequence[str]) -> Sequence[str]:
    """The given answers that say something; the empty text if none does."""
    return [text for text in given if normalised(text)] or [""]


def best_of(judge: Callable[[str, str], float], predicted: str, given: Sequence[str]) -> float:
    return max(judge(predicted, true) for true in true_texts(given))


def exact_counts(predictions: Sequence[str], examples: Sequence[Any]) -> Counts:
    """[1 if right, 1] of each question; an example's last element are its given answers."""
    return _counts(is_exact, predictions, examples)


def f1_counts(predictions: Sequence[str], examples: Sequence[Any]) -> Counts:
    """[F1, 1] of each question."""
    return _counts(overlap_f1, predictions, examples)


def _counts(judge: Callable[[str, str], float], predictions: Sequence[str], examples: Sequence[Any]) -> Counts:
    pairs = zip(predictions, examples, strict=True)
    return np.array([[best_of(judge, predicted, example[-1]), 1.0] for predicted, example in pairs])


F1 = Metric("f1", "F1", percent_of, f1_counts, unit="%", judges_one=True, scale=PERCENT)
EXACT = Metric("exact", "exact match", percent_of, exact_counts, unit="%", judges_one=True, scale=PERCENT)
METRICS = (F1, EXACT)


def best_threshold(margins: Sequence[float], answered: Sequence[float], unanswered: Sequence[float]) -> float:
    """The threshold with the highest total score: a question is answered if its margin is at most the threshold.

    `margins`: by how much no answer scores higher than the best answer; `answered` and `unanswered`: the score of each
    question if it is answered, or not. If several thresholds are equally good, it is the one nearest to 0.
    """
    order = np.argsort(np.asarray(margins, dtype=np.float64), kind="stable")
    sorted_margins = np.asarray(margins, dtype=np.float64)[order]
    gains = (np.asarray(answered, dtype=np.float64) - np.asarray(unanswered, dtype=np.float64))[order]
    totals = np.concatenate([[0.0], np.cumsum(gains)])  # the first i questions are answered
    edges = np.concatenate([[-np.inf], sorted_margins, [np.inf]])
    possible = np.flatnonzero(edges[:-1] < edges[1:])  # equal margins are answered together, or not at all
    best = possible[totals[possible] >= totals[possible].max() - 1e-9].tolist()
    return min((_between(float(edges[i]), float(edges[i + 1])) for i in best), key=abs)


def _between(low: float, high: float) -> float:
    """A number in [low, high): 0 if it is there, else the middle; 1 beyond the only end if one side is open."""
    if low <= 0 < high:
        return 0.0
    if not np.isfinite(low) and not np.isfinite(high):
        return 0.0
    if not np.isfinite(low):
        return high - 1.0
    return low + 1.0 if not np.isfinite(high) else (low + high) / 2
