"""Exact match and F1 of short answers, by the rules of SQuAD (Rajpurkar et al. 2016).

Case, punctuation and the words a, an and the do not count. F1 compares the words of an answer with those of a
reference; the best reference counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassformer.evaluate.metric import Counts, Metric, mean_of

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
Example = Any  # its last element: the references


def plain_answer(text: str) -> str:
    return " ".join(ARTICLES.sub(" ", PUNCTUATION.sub("", text.lower())).split())


def word_f1(prediction: str, reference: str) -> float:
    one, other = (plain_answer(text).split() for text in (prediction, reference))
    shared = (Counter(one) & Counter(other)).total()
    if not one or not other:
        return float(one == other)
    return 2 * shared / (len(one) + len(other))


def f1_counts(predictions: Sequence[str], examples: Sequence[Example]) -> Counts:
    """(N, 2): 100 times the F1 of each example, and 1."""
    pairs = zip(predictions, examples, strict=True)
    return np.array([[100 * max(word_f1(text, one) for one in example[-1]), 1.0] for text, example in pairs])


def exact_counts(predictions: Sequence[str], examples: Sequence[Example]) -> Counts:
    pairs = zip(predictions, examples, strict=True)
    found = ((plain_answer(text), {plain_answer(one) for one in example[-1]}) for text, example in pairs)
    return np.array([[100.0 * (text in options), 1.0] for text, options in found])


WORD_F1 = Metric("f1", "F1", mean_of, f1_counts, judges_one=True)
EXACT_ANSWER = Metric("exact", "exact match", mean_of, exact_counts, judges_one=True)
