"""Word alignment from attention, and its error rate."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.evaluate.alignment import alignment_error, spans_of_words, word_links, words_of_pieces


def links(*pairs: tuple[int, int]) -> frozenset[tuple[int, int]]:
    return frozenset(pairs)


def test_the_error_is_the_formula_over_all_sentences() -> None:
    found = [links((0, 0), (1, 1), (2, 2)), links((0, 1))]
    sure = [links((0, 0), (1, 2)), links((0, 1))]
    possible = [links((0, 0), (1, 2), (1, 1)), links((0, 1), (1, 0))]
    # A & S: 1 + 1, A & P: 2 + 1, |A| = 4, |S| = 3
    assert alignment_error(found, sure, possible) == pytest.approx(1 - (2 + 3) / (4 + 3))


def test_a_perfect_alignment_has_no_error_and_a_disjoint_one_all() -> None:
    gold = [links((0, 0), (1, 1))]
    assert alignment_error(gold, gold, gold) == 0
    assert alignment_error([links((5, 5))], gold, gold) == 1
    assert alignment_error([], [], []) == 0


def test_different_numbers_of_sentences_are_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        alignment_error([links()], [], [])


def test_each_target_word_takes_the_source_word_it_looks_at_most() -> None:
    attention = np.array([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
    assert word_links(attention, [0, 1, 2], [0, 1]) == {(2, 0), (0, 1)}


def test_pieces_of_a_source_word_add_up_and_those_of_a_target_word_are_averaged() -> None:
    attention = np.array([[0.40, 0.35, 0.25], [0.20, 0.30, 0.50], [0.9, 0.05, 0.05]])
    assert word_links(attention[:1], [0, 1, 1], [0]) == {(1, 0)}  # 0.35 + 0.25 > 0.40
    assert word_links(attention, [0, 1, 2], [0, 0, 1]) == {(2, 0), (0, 1)}  # mean of rows 0 and 1 is largest at 2


def test_the_end_mark_is_no_word() -> None:
    attention = np.array([[0.1, 0.9], [0.9, 0.1]])
    assert word_links(attention, [0, None], [0, None]) == {(0, 0)}
    assert word_links(attention, [None, None], [0, 1]) == frozenset()


def test_a_piece_belongs_to_the_first_word_it_overlaps() -> None:
    assert words_of_pieces([(0, 2), (2, 4), (4, 5), (5, 9), (9, 9)], [(0, 4), (5, 7), (7, 9)]) == [0, 0, None, 1, None]


def test_words_are_found_from_left_to_right() -> None:
    assert spans_of_words("an an apple.", ["an", "an", "apple", "."]) == [(0, 2), (3, 5), (6, 11), (11, 12)]
