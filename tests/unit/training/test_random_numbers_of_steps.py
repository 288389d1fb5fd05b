"""Dropout in training: a function of (seed, step, rank), and independent across layers, tokens, steps and ranks."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from glassformer.nn.dropout import Dropout
from glassformer.training.step import seed_step

TOKENS, WIDTH, LAYERS = 96, 64, 5
SIZE = TOKENS * WIDTH


def masks(seed: int, step: int, rank: int, *, p: float = 0.5) -> Tensor:
    """(LAYERS, TOKENS, WIDTH) of 0 and 1: what the layers of one step keep."""
    layer = Dropout(p)
    seed_step(seed, step, rank)
    return torch.stack([(layer(torch.ones(TOKENS, WIDTH)) != 0).double() for _ in range(LAYERS)])


def correlations(rows: Tensor) -> Tensor:
    """Of each row with each other."""
    return torch.corrcoef(rows) - torch.eye(len(rows))


def test_the_same_step_drops_the_same_values() -> None:
    assert torch.equal(masks(1, 7, 2), masks(1, 7, 2))


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_steps_ranks_seeds_and_layers_are_independent(p: float) -> None:
    """Of 24 x 5 masks no two are correlated: 7,140 comparisons, so up to 5 standard deviations may be chance."""
    places = product((1, 2), (0, 1, 2, 1000, 1001, 10**6), (0, 1))
    rows = torch.cat([masks(*place, p=p).flatten(1) for place in places])
    assert rows.shape == (24 * LAYERS, SIZE)
    assert correlations(rows).abs().max() < 5 / SIZE**0.5


def test_tokens_and_values_within_a_layer_are_independent() -> None:
    layers = torch.cat([masks(1, step, 0) for step in range(20)])  # (100, TOKENS, WIDTH)
    by_token, by_value = layers.transpose(0, 1).flatten(1), layers.movedim(2, 0).flatten(1)
    assert correlations(by_token).abs().max() < 5 / by_token.size(1) ** 0.5
    assert correlations(by_value).abs().max() < 5 / by_value.size(1) ** 0.5


def test_no_step_keeps_more_than_chance_allows() -> None:
    kept = torch.stack([masks(1, step, rank, p=0.1).mean() for step in range(50) for rank in range(2)])
    deviation = (0.1 * 0.9 / (LAYERS * SIZE)) ** 0.5
    assert (kept - 0.9).abs().max() < 5 * deviation
    assert kept.std().item() == pytest.approx(deviation, rel=0.35), "as spread out as independent draws are"
