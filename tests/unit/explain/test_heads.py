"""The numbers of a head, on patterns whose answer is known."""

from __future__ import annotations

import pytest
import torch

from glassformer.explain.heads import alignment_score, best_aligned, mean_offset, most_selective, sharpness, summarise

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
    assert said[0, 0] == "everything equally"
    assert said[0, 1] == "mostly the end token"
    assert said[1, 1] == "one piece, same position"


def test_sharpness_counts_only_the_keys_that_may_be_used() -> None:
    causal = torch.ones(7, 7).tril()
    assert sharpness(causal / causal.sum(-1, keepdim=True)) == pytest.approx(0, abs=1e-6)
    half = torch.zeros(3, 4)
    half[:, :2] = 0.5
    assert sharpness(half) == pytest.approx(0.5)


def test_the_most_selective_head_neither_rests_nor_spreads() -> None:
    rests, spreads, shifts = torch.zeros(5, 5), torch.full((5, 5), 0.2), torch.eye(5).roll(1, dims=1)
    rests[:, 0] = 1
    patterns = torch.stack([torch.stack([rests, spreads]), torch.stack([spreads, shifts])])  # (2, 2, 5, 5)
    assert most_selective(patterns) == (1, 1)
    assert summarise(patterns)[0].looks_at == "mostly the first token"


def test_distances_are_short_enough_for_a_table() -> None:
    back = torch.zeros(30, 30)
    back[:, 3] = 1  # mean offset 3 - 14.5
    assert summarise(back[None, None])[0].looks_at == "one piece, about 12 back"


def test_around_itself_is_not_at_itself() -> None:
    ring = torch.eye(8).roll(1, dims=1) / 2 + torch.eye(8).roll(-1, dims=1) / 2  # half one back, half one ahead
    half = 0.5 * DIAGONAL[:4, :4] + 0.5 * torch.eye(4).flip(0)  # not more than half
    more = 0.51 * DIAGONAL[:4, :4] + 0.49 * torch.eye(4).flip(0)
    assert summarise(ring[None, None])[0].looks_at == "one piece, around itself"
    assert [summarise(one[None, None])[0].looks_at for one in (half, more)] == [
        "a few pieces, around itself",
        "a few pieces, same position",
    ]
    assert summarise(ring[None, None])[0].own_share == 0
    assert summarise(DIAGONAL[None, None])[0].own_share == 1
    assert summarise(torch.eye(3, 5)[None, None])[0].own_share == 1
