"""Masks, entry by entry."""

from __future__ import annotations

import torch

from glassformer.nn.masks import additive, causal_mask, padding_mask

HIDDEN = float("-inf")


def test_the_padding_mask_is_true_for_real_tokens() -> None:
    mask = padding_mask(torch.tensor([3, 1, 0]), 3)
    assert mask.shape == (3, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, True], [True, False, False], [False, False, False]]


def test_the_causal_mask_is_minus_infinity_above_the_diagonal() -> None:
    assert causal_mask(3, dtype=torch.float32).tolist() == [[0, HIDDEN, HIDDEN], [0, 0, HIDDEN], [0, 0, 0]]


def test_the_last_query_of_a_causal_mask_is_the_last_key() -> None:
    assert causal_mask(2, 5, dtype=torch.float32).tolist() == [[0, 0, 0, 0, HIDDEN], [0, 0, 0, 0, 0]]


def test_additive_is_zero_where_true_and_minus_infinity_where_false() -> None:
    mask = additive(torch.tensor([[True, False]]), torch.float64)
    assert mask.dtype == torch.float64
    assert mask.tolist() == [[0, HIDDEN]]


def test_a_mask_that_is_additive_already_passes_unchanged() -> None:
    mask = torch.tensor([0.5, HIDDEN])
    assert additive(mask, torch.float32) is mask
