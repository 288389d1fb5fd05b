"""Which units are learnt from and which are held out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from glassformer.data.readers.records import Place, Record
from glassformer.data.selection import HELD, TRAIN, HoldOut, Parts, chosen, in_proportion, select
from glassformer.errors import DataError


def numbered(count: int) -> Iterator[tuple[Record, str | None]]:
    return ((Record(f"sentence {i}", f"Satz {i}", Place("f", i, 0)), None) for i in range(count))


def parted(count: int, *, seed: int = 1, share: float | None = None) -> Parts:
    return select(numbered(count), HoldOut(seed=seed, share=share))


def test_the_held_out_part_is_the_same_each_time_and_about_its_share() -> None:
    parts = parted(5000)
    assert (parts == parted(5000)).all()
    assert (parts == HELD).sum() == 100
    assert set(parts.tolist()) == {TRAIN, HELD}
    assert (parted(5000, share=0.1) == HELD).sum() == 500


def test_another_seed_holds_out_others() -> None:
    assert (parted(1000, seed=1) != parted(1000, seed=2)).any()


def test_of_a_large_corpus_no_more_than_a_thousand_is_held_out() -> None:
    assert (parted(200_000) == HELD).sum() == 1000


def test_of_a_few_sentences_one_is_held_out() -> None:
    assert sorted(parted(5).tolist()) == [TRAIN] * 4 + [HELD]


def test_without_a_hold_out_all_that_is_usable_is_learnt_from() -> None:
    assert select(numbered(3), None).tolist() == [TRAIN] * 3


def test_a_sentence_repeated_too_often_is_not_held_out() -> None:
    often = [(Record("Yes." if i % 3 else f"sentence {i}", "Ja.", Place("f", i, 0)), None) for i in range(9000)]
    for seed in range(12):
        parts = select(iter(often), HoldOut(seed=seed))
        assert (parts == HELD).sum() == 180
        assert all(often[i][0].source != "Yes." for i in range(9000) if parts[i] == HELD)


@pytest.mark.parametrize(
    ("total", "sizes", "wanted"),
    [
        (10, [50, 30, 20], [5, 3, 2]),
        (6, [94, 3, 2, 1], [4, 1, 1, 0]),  # each class of two or more has one
        (5, [40, 40, 3, 3, 3], [1, 1, 1, 1, 1]),
        (2, [90, 5, 5], [2, 0, 0]),  # too few for that
        (50, [9000, 400, 20, 2], [47, 1, 1, 1]),
    ],
)
def test_classes_are_held_out_in_proportion_and_none_is_missing(
    total: int, sizes: list[int], wanted: list[int]
) -> None:
    assert in_proportion(total, np.array(sizes)) == wanted


def test_files_that_have_changed_meanwhile_are_noticed() -> None:
    parts = select(numbered(4), None)
    for count in (3, 5):
        with pytest.raises(DataError, match="changed while they were read"):
            list(chosen((record for record, _ in numbered(count)), parts, TRAIN))
