"""First vectors from the pairs: translations of each other start out alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from glassformer.data.batches import EncodedPairs, Marks
from glassformer.data.columns import Ragged
from glassformer.nn.singular_vectors import leading_singular_vectors
from glassformer.training.first_vectors import (
    SHARE,
    token_by_pair,
    turn_towards,
    vectors_of_pairs,
)

WORDS = 40


def corpus(*, shift: int = WORDS, pairs: int = 400) -> EncodedPairs:
    """Source words 5 ... and their translations `shift` further on, in another order; token 3 ends every sentence."""
    random = np.random.default_rng(1)
    rows = [random.choice(np.arange(5, WORDS), size=6, replace=False) for _ in range(pairs)]
    sources = Ragged.of([[*row.tolist(), 3] for row in rows])
    targets = Ragged.of([[*random.permutation(row + shift).tolist(), 3] for row in rows])
    marks = Marks(pad=0, bos=1, eos=2)
    return EncodedPairs(sources, targets, marks, marks)


def test_a_word_is_nearest_to_its_translation() -> None:
    vectors = vectors_of_pairs(corpus(), width=32, vocabularies=(2 * WORDS, 0), seed=1)
    likeness = vectors @ vectors.T - 2 * torch.eye(2 * WORDS)
    for word in range(5, WORDS):
        assert likeness[word].argmax().item() == word + WORDS
        assert likeness[word, word + WORDS] > 0.9


def test_two_vocabularies_stand_below_each_other() -> None:
    """As many rows as both have; the same picture as with one."""
    separate = vectors_of_pairs(corpus(shift=0), width=32, vocabularies=(WORDS, WORDS), seed=1)
    assert separate.shape == (2 * WORDS, 32)
    likeness = separate[:WORDS] @ separate[WORDS:].T
    assert torch.equal(likeness[5:].argmax(1), torch.arange(5, WORDS))


def test_rows_have_length_one_and_uninformative_tokens_length_zero() -> None:
    lengths = vectors_of_pairs(corpus(), width=16, vocabularies=(2 * WORDS, 0), seed=1).norm(dim=1)
    assert lengths[3] == 0, "in every pair"
    assert lengths[4] == 0, "in none"
    torch.testing.assert_close(lengths[5:WORDS], torch.ones(WORDS - 5))


def test_the_table_is_the_formula() -> None:
    marks = Marks(pad=0, bos=1, eos=2)
    pairs = EncodedPairs(Ragged.of([[0, 1, 1], [0]]), Ragged.of([[2], [2, 3]]), marks, marks)
    table = token_by_pair(pairs, 4, 0).to_dense()
    telling = np.log(2)  # of a token in one of two pairs; log(2/2) = 0 for those in both
    assert table[0].tolist() == table[2].tolist() == [0.0, 0.0]
    assert table[1].tolist() == pytest.approx([telling / telling, 0.0])
    assert table[3].tolist() == pytest.approx([0.0, 1.0])


def test_singular_vectors_against_the_full_decomposition() -> None:
    table = token_by_pair(corpus(pairs=60), 2 * WORDS, 0)
    left, values = leading_singular_vectors(table, 5, torch.Generator().manual_seed(1))
    full, expected, _ = torch.linalg.svd(table.to_dense(), full_matrices=False)
    torch.testing.assert_close(values, expected[:5], rtol=1e-3, atol=1e-3)
    assert (left.T @ full[:, :5]).det().abs() == pytest.approx(1, abs=1e-2), "the same subspace"


def test_a_pure_function_of_its_seed() -> None:
    one, two, other = (vectors_of_pairs(corpus(), width=8, vocabularies=(80, 0), seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_wider_than_the_corpus_has_dimensions() -> None:
    vectors = vectors_of_pairs(corpus(pairs=3), width=64, vocabularies=(80, 0), seed=1)
    assert vectors.shape == (80, 64)
    assert torch.isfinite(vectors).all()


def test_turning_keeps_lengths_and_brings_likeness() -> None:
    vectors = vectors_of_pairs(corpus(), width=32, vocabularies=(80, 0), seed=1)
    weight = torch.randn(80, 32, generator=torch.Generator().manual_seed(2))
    before = weight.clone()
    turn_towards(weight, vectors, seed=1)
    torch.testing.assert_close(weight.norm(dim=1), before.norm(dim=1))
    assert torch.equal(weight[3:5], before[3:5]), "what tells nothing stays random"
    likeness = torch.cosine_similarity(weight[5:WORDS], weight[5 + WORDS : 2 * WORDS])
    assert likeness.mean().item() == pytest.approx(SHARE**2, abs=0.12)
    assert torch.cosine_similarity(before[5:WORDS], before[5 + WORDS : 2 * WORDS]).mean().abs() < 0.1


def test_tokens_that_never_occur_have_no_vector_also_where_few_words_are_repeated() -> None:
    marks = Marks(pad=0, bos=1, eos=2)
    rows = [[5 + i % 4] for i in range(60)]
    pairs = EncodedPairs(Ragged.of(rows), Ragged.of([[row[0] + 10] for row in rows]), marks, marks)
    lengths = vectors_of_pairs(pairs, width=16, vocabularies=(40, 0), seed=1).norm(dim=1)
    known = [*range(5, 9), *range(15, 19)]
    torch.testing.assert_close(lengths[known], torch.ones(8))
    assert lengths.sum().item() == pytest.approx(8)
