"""Have I seen this before? Against a plain set, block by block."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.data.checks.seen import SeenHashes, hashes_of, is_in


def array(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def test_a_hash_is_new_once_also_within_its_block() -> None:
    seen = SeenHashes()
    assert seen.add(array(3, 5, 3, 7)).tolist() == [False, False, True, False]
    assert seen.add(array(7, 2**64 - 1, 2, 2)).tolist() == [True, False, False, True]
    assert seen.add(array()).tolist() == []
    assert len(seen) == 5
    assert 5 in seen
    assert 2**64 - 1 in seen
    assert 6 not in seen


@pytest.mark.parametrize("size", [1, 2, 3, 17, 101])
def test_it_answers_like_a_set(size: int) -> None:
    random = np.random.default_rng(size)
    seen, plain = SeenHashes(), set()
    for _ in range(200):
        block = random.integers(0, 5 * size * 20, size, dtype=np.uint64)
        wanted = []
        for value in block.tolist():
            wanted.append(value in plain)
            plain.add(value)
        assert seen.add(block).tolist() == wanted
    assert len(seen) == len(plain)


def test_it_takes_eight_bytes_for_each_and_few_arrays() -> None:
    seen = SeenHashes()
    for start in range(0, 300_000, 1000):
        seen.add(np.arange(start, start + 1000, dtype=np.uint64) * np.uint64(2_654_435_761))
    arrays = seen._runs
    assert sum(run.nbytes for run in arrays) == 8 * 300_000
    assert len(arrays) < 20


def test_hashes_are_of_the_text_alone() -> None:
    one, other = hashes_of(["Äpfel", "", "a\0b", "\ud800"]), hashes_of(iter(["", "Äpfel"]))
    assert one.dtype == np.uint64
    assert (one[0], one[1]) == (other[1], other[0])
    assert len(set(one.tolist())) == 4
    assert hashes_of([]).tolist() == []


def test_membership_in_a_sorted_array() -> None:
    assert is_in(array(0, 2, 9), array(2, 4, 9)).tolist() == [False, True, True]
    assert is_in(array(0, 2), array()).tolist() == [False, False]
