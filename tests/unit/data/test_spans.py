"""Span corruption: cases computed by hand, how much is removed, and batches without padding."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.data.batches import Marks
from glassformer.data.columns import Columns, Ragged
from glassformer.data.spans import CorruptedWindows, Corruption, corrupted, encode_packed, parts_of

PAPER = Corruption(0.15, 3.0, 100)
SENTINELS = (90, 91, 92, 93)


def test_the_case_of_the_paper() -> None:
    """Thank you [for inviting] me to your party [last] week."""
    text = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    removed = np.isin(text, [3, 4, 9])
    assert corrupted(text, removed, SENTINELS) == ([1, 2, 90, 5, 6, 7, 8, 91, 10], [90, 3, 4, 91, 9])


def test_a_span_at_the_beginning() -> None:
    assert corrupted([1, 2, 3], np.array([True, False, True]), SENTINELS) == ([90, 2, 91], [90, 1, 91, 3])


@pytest.mark.parametrize(("length", "sizes"), [(512, (77, 26)), (100, (15, 5)), (20, (3, 1)), (3, (1, 1)), (2, (1, 1))])
def test_how_much_is_removed(length: int, sizes: tuple[int, int]) -> None:
    assert PAPER.sizes(length) == sizes


def test_share_and_mean_length_of_spans() -> None:
    random = np.random.default_rng(1)
    draws = np.stack([PAPER.removed(100, random) for _ in range(400)])
    assert (draws.sum(axis=1) == 15).all()
    starts = draws & ~np.pad(draws, ((0, 0), (1, 0)))[:, :-1]
    assert (starts.sum(axis=1) == 5).all()
    assert not draws[:, 0].any()  # the first span is kept, the last one removed, as in the paper's code
    assert draws[:, -1].all()
    assert draws[:, 20:80].mean() == pytest.approx(0.15, abs=0.02)  # everywhere alike
    lengths = np.diff(np.flatnonzero(np.diff(np.pad(draws, ((0, 0), (1, 1))).ravel().astype(int))))[::2]
    assert lengths.mean() == pytest.approx(3)
    assert lengths.min() == 1
    assert lengths.max() >= 7


def test_all_divisions_are_equally_likely() -> None:
    random = np.random.default_rng(2)
    found = [tuple(parts_of(4, 2, random).tolist()) for _ in range(600)]
    assert {one: round(found.count(one) / 600, 1) for one in set(found)} == {(1, 3): 0.3, (2, 2): 0.3, (3, 1): 0.3}


def test_no_more_spans_than_sentinels() -> None:
    assert Corruption(0.5, 1.0, 4).sizes(100) == (50, 4)


def windows(*lengths: int) -> CorruptedWindows:
    rows = [list(range(10, 10 + length)) for length in lengths]
    return CorruptedWindows(Columns({"text": Ragged.of(rows)}), Marks(0, 0, 1), tuple(range(900, 1000)), PAPER)


def test_a_batch_of_equal_windows_has_no_padding() -> None:
    pool = windows(64, 64, 64)
    batch = pool.batch(np.array([0, 2]), np.random.default_rng(3))
    assert batch.source.size(1) == pool.lengths[0, 0] == 64 - 10 + 3 + 1
    assert batch.target_out.size(1) == pool.lengths[0, 1] == 10 + 3 + 1
    assert bool((batch.source_lengths == batch.source.size(1)).all())
    for row, target in zip(batch.source.tolist(), batch.target_out.tolist(), strict=True):
        assert restored(row[:-1], target[:-1]) == list(range(10, 74))
        assert row[-1] == target[-1] == 1
    assert bool((batch.target_in[:, 1:] == batch.target_out[:, :-1]).all())
    assert bool((batch.target_in[:, 0] == 0).all())


def restored(source: list[int], target: list[int]) -> list[int]:
    """The text again: each sentinel of the input replaced by what follows it in the output."""
    spans: dict[int, list[int]] = {}
    current: list[int] = []
    for token in target:
        if token >= 900:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    return [token for one in source for token in spans.get(one, [one])]


def test_the_generator_of_the_batch_decides() -> None:
    pool, index = windows(50, 30), np.array([1, 0])
    one, same, other = (pool.batch(index, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert bool((one.source == same.source).all())
    assert not bool((one.source == other.source).all())
    assert one.target_lengths.tolist() == pool.lengths[index, 1].tolist()


class Letters:
    """One token for each letter."""

    def __len__(self) -> int:
        return 300

    def encode_flat(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        flat = [ord(letter) for text in texts for letter in text]
        return np.array(flat, dtype=np.uint32), np.array([len(text) for text in texts])


def test_documents_are_packed_one_after_the_other() -> None:
    pieces = [("abc", True, False), ("d", False, False), ("ef", True, True), ("ghijk", True, True)]
    rows = encode_packed(pieces, Letters(), size=4, end=7).columns["text"]
    assert ["".join(chr(token) for token in rows[i]) for i in range(len(rows))] == ["abcd", "\x07ef\x07", "ghij"]
