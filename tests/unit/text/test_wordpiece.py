"""The likelihood trainer: the criterion, the floors, and what it makes of a small text."""

from __future__ import annotations

from glassformer.text import train_tokenizer
from glassformer.text.wordpiece import Merge, alphabet, halving_floors, joined, learn_merges, symbols

WORDS = {"▁hug": 10, "▁pug": 5, "▁pun": 12, "▁bun": 4, "▁hugs": 5}


def test_symbols_keep_the_space_with_the_first_character() -> None:
    assert symbols("▁hug") == ["▁h", "##u", "##g"]
    assert symbols("hug") == ["h", "##u", "##g"]
    assert symbols("▁") == ["▁"]
    assert joined("▁h", "##ug") == "▁hug"
    assert joined("##u", "##g") == "##ug"


def test_alphabet_can_write_any_word_of_known_characters() -> None:
    assert alphabet({"▁ab": 1}) == sorted(["a", "b", "##a", "##b", "▁", "▁a"])


def test_bare_criterion_takes_the_pair_that_most_raises_the_likelihood() -> None:
    """##g ##s: 5 / (20 * 5) = 0.05 beats the most frequent pair ##u ##g: 20 / (36 * 20) = 0.028."""
    first, second = learn_merges(WORDS, pieces=2, floors=[1])
    assert first == Merge("##g", "##s", 5 / (20 * 5), 5)
    # now all pairs with ##u score 1/36, since their other half has no other neighbour: the most frequent is taken
    assert second == Merge("▁p", "##u", 17 / (17 * 36), 17)


def test_floors_put_frequent_pairs_first() -> None:
    assert halving_floors(100, 3) == [50, 25, 12, 6, 3]
    assert halving_floors(2, 2) == [2]
    assert halving_floors(0, 2) == [2]
    assert learn_merges(WORDS, pieces=1) == [Merge("##u", "##g", 20 / (36 * 20), 20)]  # ##g ##s must wait


def test_no_pair_below_the_least_frequency() -> None:
    merges = learn_merges({"▁ab": 1, "▁cd": 2}, pieces=10, min_frequency=2)
    assert [merge.piece for merge in merges] == ["▁cd"]


def test_repeated_characters_are_counted_and_merged_from_the_left() -> None:
    merges = learn_merges({"▁aaaaa": 3}, pieces=3, floors=[1])
    assert merges[0] == Merge("▁a", "##a", 3 / (3 * 12), 3)
    assert merges[1] == Merge("▁aa", "##a", 3 / (3 * 9), 3)
    assert learn_merges({"▁aaaaaa": 3}, pieces=1)[0] == Merge("##a", "##a", 12 / (15 * 15), 12)


def test_merge_line_is_exact() -> None:
    merge = Merge("▁a", "##b", 1 / 3, 7)
    assert Merge.from_line(merge.line()) == merge


def test_vocabulary_size_is_kept_even_where_two_merges_make_one_piece() -> None:
    texts = ["banana bandana cabana ananas panama"] * 4
    tokenizer = train_tokenizer("wordpiece", texts, vocab_size=60)
    pieces = [tokenizer.token(number) for number in range(len(tokenizer))]
    assert len(pieces) == len(set(pieces)) <= 60
