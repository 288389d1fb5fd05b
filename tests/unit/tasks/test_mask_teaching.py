"""Masks in training pairs: the same on both sides, at words that belong together, and the same every time."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from glassformer.tasks.translation.mask_teaching import masked_pair, spots, with_masks, word_pairs
from glassformer.text.masks import MASKS
from toy_corpus import toy_pairs

Pair = tuple[str, str]


def toy() -> Iterator[Pair]:
    return iter(toy_pairs())


def masks_in(text: str) -> list[str]:
    return [letter for letter in text if letter in MASKS]


def test_words_that_always_come_together_are_a_pair_and_those_in_doubt_are_none() -> None:
    found = word_pairs(toy())
    assert found["eats"] == "isst"
    assert found["bread"] == "brot"
    assert "dog" not in found  # "the dog": each of the two may be the Hund
    assert word_pairs([]) == {}


def test_masks_are_the_same_on_both_sides_and_numbered_in_the_order_of_the_source() -> None:
    plain, found = toy_pairs(), list(with_masks(toy, share=0.5, seed=1))
    changed = [pair for pair, before in zip(found, plain, strict=True) if pair != before]
    assert 20 <= len(changed) <= 40  # about half of 60
    for source, target in changed:
        assert masks_in(source) == list(MASKS[: len(masks_in(source))])
        assert sorted(masks_in(target)) == masks_in(source)
        assert masks_in(source)
    assert {len(masks_in(source)) for source, _ in changed} >= {1, 2}


def test_they_are_a_function_of_seed_and_number() -> None:
    first = list(with_masks(toy, share=0.3, seed=1))
    assert list(with_masks(toy, share=0.3, seed=1)) == first
    assert list(with_masks(toy, share=0.3, seed=2)) != first
    more = list(with_masks(toy, share=0.5, seed=1))
    assert all(pair in (other, plain) for pair, other, plain in zip(first, more, toy_pairs(), strict=True))


def test_names_numbers_and_placeholders_of_both_sides_are_spots() -> None:
    found = spots("Ada has {n} of 12 in {n:d} or", "Von 12 hat Ada {n} in {n:d} or", {})
    assert [spot.source.text for spot in found] == ["Ada", "{n}", "12", "{n:d}"]
    assert all(spot.source.text == spot.target.text for spot in found)


@pytest.mark.parametrize(
    ("source", "target"), [("a dog and a dog", "Hund"), ("dog", "Hund Hund"), ("{dog}", "Hund"), ("x", "y"), ("", "")]
)
def test_what_is_ambiguous_or_inside_a_placeholder_is_no_spot(source: str, target: str) -> None:
    assert spots(source, target, {"dog": "hund"}) == []
    assert masked_pair(source, target, {"dog": "hund"}, random.Random(1)) == (source, target)


def test_a_mask_replaces_both_words_or_comes_beside_both() -> None:
    one = MASKS[0]
    found = {masked_pair("a dog.", "ein Hund.", {"dog": "hund"}, random.Random(seed)) for seed in range(40)}
    assert found == {
        (f"a {one}.", f"ein {one}."),
        (f"a {one} dog.", f"ein {one} Hund."),
        (f"a dog {one}.", f"ein Hund {one}."),
    }


def test_reserved_characters_of_the_texts_are_no_masks() -> None:
    pairs = [(f"a {MASKS[0]} b", f"{MASKS[2]}")] * 5
    assert list(with_masks(lambda: iter(pairs), share=0.5, seed=1)) == [("a \ufffd b", "\ufffd")] * 5
