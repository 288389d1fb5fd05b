"""The settings of captions: what a budget may choose of the encoder."""

from __future__ import annotations

from typing import Any

import pytest

from glassformer.tasks.captions import LADDER, CaptionRecipe, Captions
from glassformer.training.budget_rules import BudgetRules, Work, with_model

WORK = Work([10**9, 10**9], 100, lambda config: (config.encoder.N * config.encoder.d**2, config.N * config.d**2), 1e12)


def chosen(encoder: dict[str, Any]) -> Any:
    recipe = CaptionRecipe.model_validate({"task": "caption", "data": {"files": "x"}, "model": {"encoder": encoder}})
    return with_model(recipe, BudgetRules(), Captions().ladder(recipe), WORK, seconds=1e9).model


@pytest.mark.parametrize("given", [{}, {"patch": [2, 2]}, {"dropout": 0.3}])
def test_a_budget_chooses_what_is_open_in_the_encoder(given: dict[str, Any]) -> None:
    model = chosen(given)
    for part in (model, model.encoder):
        assert {name: getattr(part, name) for name in LADDER[0]} == LADDER[0]
    assert model.encoder.patch == tuple(given.get("patch", [4, 4]))
    assert model.encoder.dropout == given.get("dropout", 0.0)


@pytest.mark.parametrize("given", [{"size": "tiny-16"}, {"N": 12, "d": 192, "h": 3, "d_ff": 768}])
def test_an_encoder_whose_shape_was_set_is_kept(given: dict[str, Any]) -> None:
    model = chosen(given)
    assert (model.encoder.N, model.encoder.d, model.encoder.h, model.encoder.d_ff) == (12, 192, 3, 768)
    assert model.d == LADDER[0]["d"]
