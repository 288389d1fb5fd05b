"""Weights by name."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from glassformer.errors import RunError
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.store.weights import load_weights, weights_of

TIED_NAMES = {"all": 1, "output": 2, "none": 3}


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 5)
        self.second = nn.Linear(5, 7, bias=False)


@pytest.mark.parametrize("tied", TIED_NAMES)
def test_a_tied_matrix_is_saved_once(tied: str) -> None:
    config = TransformerConfig(size="nano", N=1, d=6, h=2, d_ff=5, tied=tied)
    weights = weights_of(Transformer(config, source_vocabulary=11, target_vocabulary=11))
    assert sum(tuple(weight.shape) == (11, 6) for weight in weights.values()) == TIED_NAMES[tied]


def test_weights_go_into_another_module_bit_by_bit() -> None:
    one, other = Two(), Two()
    load_weights(other, {name: weight.clone() for name, weight in weights_of(one).items()}, origin="here")
    for name, weight in weights_of(one).items():
        assert torch.equal(weights_of(other)[name], weight)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"second.weight": None}, "second.weight is missing"),
        ({"third.weight": torch.ones(1)}, "third.weight is unexpected"),
        ({"first.weight": torch.ones(3, 5)}, r"first.weight has shape \(3, 5\), expected \(5, 3\)"),
    ],
)
def test_a_tensor_that_does_not_fit_is_named_and_nothing_is_loaded(change: dict, told: str) -> None:
    module = Two()
    before = {name: weight.clone() for name, weight in weights_of(module).items()}
    wanted = {name: torch.zeros_like(weight) for name, weight in before.items()} | change
    with pytest.raises(RunError, match=f"^here: the weights do not fit this model: {told}"):
        load_weights(module, {name: w for name, w in wanted.items() if w is not None}, origin="here")
    assert all(torch.equal(weights_of(module)[name], weight) for name, weight in before.items())


def test_of_many_problems_three_are_shown_and_the_rest_counted() -> None:
    with pytest.raises(RunError, match=r"is missing; .*is missing; .*\(and 1 more\)"):
        load_weights(Two(), {"other": torch.ones(1)}, origin="here")
