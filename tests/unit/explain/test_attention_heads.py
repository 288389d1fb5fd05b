"""The three numbers of a head, on patterns whose answer is known."""

from __future__ import annotations

import pytest
import torch

from glassformer.explain.heads import alignment_score, best_aligned, mean_offset, sharpness, summarise

EVEN = torch.full((7, 7), 1 / 7)
DIAGONAL = torch.eye(7)


def test_sharpness_runs_from_even_to_one_hot() -> None:
    assert sharpness(EVEN) == pytest.approx(0, abs=1e-6)
    assert sharpness(DIAGONAL) == pytest.approx(1)
    assert 0 < sharpness(0.5 * DIAGONAL + 0.5 * EVEN) < 1
    assert sharpness(torch.ones(3, 1)) == 1


def test_offset_is_the_distance_looked() -> None:
    assert mean_offset(DIAGONAL) == 0
    back = torch.zeros(5, 5)
    back[0, 0] = 1
    back[range(1, 5), range(4)] = 1  # each looks one back, the first at itself
    assert mean_offset(back) == pytest.approx(-4 / 5)


def test_a_permutation_is_an_alignment_and_resting_on_the_end_is_none() -> None:
    permuted = torch.eye(7)[[2, 0, 1, 4, 5, 3, 6]]
    resting = torch.zeros(7, 7)
    resting[:, -1] = 1
    assert alignment_score(permuted) == pytest.approx(1)
    assert alignment_score(resting) == 0
    assert alignment_score(EVEN) == pytest.approx(1 / 49)
    assert alignment_score(torch.ones(1, 1)) == 1


def test_the_best_head_is_found_and_described() -> None:
    resting = torch.zeros(7, 7)
    resting[:, -1] = 1
    patterns = torch.stack([torch.stack([EVEN, resting]), torch.stack([EVEN, DIAGONAL]), torch.stack([EVEN, EVEN])])
    assert best_aligned(patterns) == (1, 1)
    said = {(s.layer, s.head): s.looks_at for s in summarise(patterns)}
    assert said[0, 0] == "everything alike"
    assert said[0, 1] == "mostly the end token"
    assert said[1, 1] == "one piece at a time, at about the same place"
