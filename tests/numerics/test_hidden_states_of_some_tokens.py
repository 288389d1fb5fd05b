"""Encoders compute the last hidden states of some tokens alone: the same numbers and gradients as for all."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import encoder_models
from glassformer.tasks.embedding import TextBatch


@pytest.mark.parametrize("lengths", [[11, 11, 11], [11, 7, 3]])
@pytest.mark.parametrize("make", [encoder_models.bert, encoder_models.roformer])
def test_some_tokens_have_the_hidden_states_of_all(make: Any, lengths: list[int]) -> None:
    torch.manual_seed(2)
    model = make().model.double()
    batch = TextBatch(torch.randint(5, 25, (3, 11)), torch.tensor(lengths))
    rows = torch.tensor([1, 4, 12, 13, 24])
    wanted = model.hidden(batch).flatten(0, 1)[rows]
    weights = torch.randn_like(wanted)
    expected = torch.autograd.grad((wanted * weights).sum(), list(model.parameters()), allow_unused=True)
    found = model.hidden_at(batch, rows)
    gradients = torch.autograd.grad((found * weights).sum(), list(model.parameters()), allow_unused=True)
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)
    for one, other in zip(gradients, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)
