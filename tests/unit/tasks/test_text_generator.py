"""The parts that all text generators share."""

from __future__ import annotations

import random

import pytest

from glassformer.decode import Best, BestRefilled, Sample
from glassformer.tasks.sampling import Sampling
from glassformer.tasks.text_generator import Decoding, batches_by_length, common_prefix, stop_place, until_stop


@pytest.mark.parametrize("seed", range(5))
def test_batches_have_every_input_once_and_fit_the_tokens(seed: int) -> None:
    chance = random.Random(seed)
    lengths = [chance.randrange(30) for _ in range(100)]
    batches = list(batches_by_length(lengths, tokens=200, width=3, extra=2))
    assert sorted(i for batch in batches for i in batch) == list(range(100))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * 3 * (max(lengths[i] for i in batch) + 2) <= 200
    order = [lengths[i] for batch in batches for i in batch]
    assert order == sorted(lengths, reverse=True)


def test_an_input_above_the_limit_is_a_batch_of_its_own() -> None:
    assert list(batches_by_length([5, 900, 4], tokens=10)) == [[1], [0, 2]]
    assert list(batches_by_length([], tokens=10)) == []


@pytest.mark.parametrize(
    ("rows", "shared"),
    [
        ([], []),
        ([[1, 2]], [1, 2]),
        ([[1, 2, 3], [1, 2], [1, 2, 4]], [1, 2]),
        ([[1, 5], [2, 5]], []),
        ([[], [1]], []),
    ],
)
def test_what_all_hypotheses_begin_with(rows: list[list[int]], shared: list[int]) -> None:
    assert common_prefix(rows) == shared


@pytest.mark.parametrize("seed", range(50))
def test_pieces_up_to_a_stop_text_are_the_text_up_to_it(seed: int) -> None:
    chance = random.Random(seed)
    pieces = ["".join(chance.choices("ab.", k=chance.randrange(1, 5))) for _ in range(8)]
    stops = [["ab."], ["..", "bb"], [], ["aaaa"]][seed % 4]
    text = "".join(pieces)
    shown = list(until_stop(iter(pieces), stops))
    assert "".join(shown) == text[: stop_place(text, stops)[0]]
    assert all(shown)


def test_no_part_of_a_stop_text_is_shown() -> None:
    assert list(until_stop(iter(["one", "\n", "\nEN", "D two"]), ["\n\nEND"])) == ["one"]
    assert list(until_stop(iter(["one", "\n", "\nEN"]), ["\n\nEND"])) == ["one", "\n\nEN"]


def test_how_to_decode_decides_the_chooser() -> None:
    assert Decoding(width=3).chooser([0], eos=1) == Best(3)
    assert Decoding(width=3, refill=True).chooser([0], eos=1) == BestRefilled(3, 1)
    assert Decoding(width=1, refill=True).chooser([0], eos=1) == Best(1)
    assert Decoding(width=2, sampling=Sampling(seed=4)).chooser([7], eos=1) == Sample(2, [7], seed=4)
