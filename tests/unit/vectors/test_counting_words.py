"""Counts as vectors, against formulas by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from glassformer.vectors import counting, train
from glassformer.vectors.corpus import corpus_of
from glassformer.vectors.counting import bag_of_words, cooccurrences, one_hot, pmi, tf_idf
from glassformer.vectors.pairs import examples_of
from glassformer.vectors.tables import EXAMPLE, tables_of

TEXTS = ["a b a c", "b c", "b"]


def corpus(texts: list[str] = TEXTS):  # type: ignore[no-untyped-def]
    return corpus_of([f"{text}\n" for text in texts], min_count=1)


def test_one_hot_words_are_orthogonal() -> None:
    assert one_hot(3).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_bag_of_words_against_scikit_learn() -> None:
    ours = corpus()
    theirs = CountVectorizer(token_pattern=r"\w+", vocabulary=list(ours.words)).transform(TEXTS).toarray()
    assert bag_of_words(ours).tolist() == theirs.tolist()


def test_tf_idf_by_hand() -> None:
    ours = corpus()
    assert ours.words == ("b", "a", "c")
    expected = [[log(3 / 3), 2 * log(3 / 1), log(3 / 2)], [0, 0, log(3 / 2)], [0, 0, 0]]
    assert tf_idf(bag_of_words(ours)) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 19])
def test_cooccurrence_by_hand_for_every_size_of_block(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "BLOCK", block)
    near = cooccurrences(corpus(), window=1).dense()  # b, a, c: pairs a b, b a, a c, b c
    assert near.tolist() == [[0, 2, 1], [2, 0, 1], [1, 1, 0]]
    far = cooccurrences(corpus(), window=2).dense()  # also a a and b c
    assert far.tolist() == [[0, 2, 2], [2, 2, 1], [2, 1, 0]]
    weighted = cooccurrences(corpus(), window=2, by_distance=True).dense()
    assert weighted.tolist() == [[0, 2, 1.5], [2, 1, 1], [1.5, 1, 0]]


def test_pmi_by_hand() -> None:
    table = cooccurrences(corpus(), window=1)
    found = pmi(table, positive=False).dense()
    assert found[0, 1] == pytest.approx(log((2 / 8) / (3 / 8 * 3 / 8)))
    assert found[0, 2] == pytest.approx(log((1 / 8) / (3 / 8 * 2 / 8)))
    smoothed = pmi(table, power=0.75, positive=False).dense()
    share = 2**0.75 / (2**0.75 + 2 * 3**0.75)
    assert smoothed[0, 2] == pytest.approx(log((1 / 8) / (3 / 8 * share)))
    positive = pmi(cooccurrences(corpus(["a b", "a c", "a a a a a a b"]), window=1))
    assert (positive.values > 0).all()


def test_frequent_words_drown_raw_counts_but_not_pmi() -> None:
    found = tables_of(EXAMPLE)
    company = {word: (by_count.split(", "), by_pmi.split(", ")) for word, by_count, by_pmi in found.drowned}
    frequent = {"the", "is", "a"}
    assert all(len(frequent & set(by_count)) >= 2 for by_count, _ in company.values())
    assert "queen" in company["castle"][1]
    assert sum(len(frequent & set(by_pmi)) for _, by_pmi in company.values()) < 5


def test_training_pairs_of_the_cake() -> None:
    examples = examples_of(["The", "cake", "was", "chocolate", "flavoured"], window=5)
    cake = examples[1]
    assert cake.gap == "The ____ was chocolate flavoured"
    assert [output for _, output in cake.pairs] == ["The", "was", "chocolate", "flavoured"]
    assert sum(len(one.context) for one in examples) == 20
    assert [one.context for one in examples_of(["a", "b", "c"], window=1)] == [("b",), ("a", "c"), ("b",)]
    assert examples_of(["alone"], window=5) == []


def test_ppmi_vectors_find_words_in_the_same_places() -> None:
    texts = [f"the {a} eats {b}" for a in ("dog", "cat") for b in ("meat", "fish")] + ["a car on a street"] * 4
    vectors = train(texts=texts * 3, method="ppmi", width=4, min_count=1, window=2)
    assert vectors.neighbours("dog", top=1)[0].word == "cat"
    again = train(texts=texts * 3, method="ppmi", width=4, min_count=1, window=2)
    assert np.array_equal(vectors.matrix, again.matrix)
