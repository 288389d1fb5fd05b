"""The best sequence of labels that a scheme allows, against all sequences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from glassformer.data.schemes import BILOU, BIO, IOB1, PLAIN, faults, label_names, transitions
from glassformer.decode.label_paths import best_paths


@pytest.mark.parametrize("scheme", [BIO, BILOU, IOB1])
def test_no_allowed_sequence_is_better(scheme: str) -> None:
    random = np.random.default_rng(7)
    names = label_names(("A",) if scheme == BILOU else ("A", "B"), scheme)
    rules = transitions(names, scheme)
    scores = [random.normal(size=(words, len(names))).astype(np.float32) for words in (1, 4, 2, 3, 4, 1)]
    for found, score in zip(best_paths(scores, rules), scores, strict=True):
        allowed = [
            (sum(score[i, k] for i, k in enumerate(path)), path)
            for path in product(range(len(names)), repeat=len(score))
            if not list(faults([names[k] for k in path], scheme))
        ]
        assert tuple(found) == max(allowed)[1]


def test_sentences_do_not_depend_on_those_beside_them() -> None:
    random = np.random.default_rng(8)
    rules = transitions(label_names(("A", "B"), BILOU), BILOU)
    scores = [random.normal(size=(int(words), 9)).astype(np.float32) for words in random.integers(0, 30, 300)]
    together = best_paths(scores, rules)
    assert [best_paths([one], rules)[0] for one in scores] == together
    assert list(map(len, together)) == list(map(len, scores))


def test_plain_labels_are_the_most_probable_ones() -> None:
    scores = [np.array([[0.1, 0.9], [0.8, 0.2]], np.float32)]
    assert best_paths(scores, transitions(["X", "Y"], PLAIN)) == [[1, 0]]
