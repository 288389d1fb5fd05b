"""Kinds of models and named sizes."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from pydantic import Field, ModelWrapValidatorHandler, model_validator

from glassformer.config import Settings, validate
from glassformer.errors import SettingsError
from glassformer.models.registry import (
    MODELS,
    build,
    build_without_init,
    config_class,
    model_class,
    sizes,
    spelled_out,
    values_of,
)
from glassformer.models.sizes import filled
from glassformer.models.transformer import SIZES, Transformer, TransformerConfig


class Shape(Settings):
    size: Literal["small", "large"] = "small"
    N: int = Field(ge=1)
    d: int = Field(ge=1)

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[Shape]) -> Shape:
        return filled(values, validated, sizes={"small": {"N": 2, "d": 3}, "large": {"N": 5, "d": 7}}, default="small")


def test_a_size_fills_in_what_is_not_given_and_does_not_count_as_set() -> None:
    config = validate(Shape, {"size": "large", "d": 11})
    assert (config.N, config.d) == (5, 11)
    assert config.model_fields_set == {"size", "d"}
    assert validate(Shape, {}).N == 2


@pytest.mark.parametrize("tree", [{"size": "huge"}, {"size": []}, {"size": None}])
def test_an_unknown_size_is_reported(tree: dict) -> None:
    with pytest.raises(SettingsError, match=r"size: input should be 'small' or 'large'"):
        validate(Shape, tree)


def test_a_kind_by_its_name() -> None:
    assert config_class("transformer") is TransformerConfig
    assert model_class("transformer") is Transformer
    assert sizes("transformer") is SIZES
    with pytest.raises(SettingsError, match=r"'transfomer' is not a kind of model. Known: transformer, bert"):
        config_class("transfomer")


def test_a_model_is_made_again_from_its_values() -> None:
    values = {"N": 1, "N_decoder": 2, "d": 6, "h": 2, "d_ff": 5, "tied": "output"}
    first = build("transformer", {**values, "source_vocabulary": 11, "target_vocabulary": 13})
    assert isinstance(first, Transformer)
    again = build("transformer", values_of(first))
    assert {name: p.shape for name, p in first.named_parameters()} == {
        name: p.shape for name, p in again.named_parameters()
    }


def test_wrong_values_are_reported_with_their_origin() -> None:
    with pytest.raises(SettingsError, match=r"config.json: unknown setting width"):
        build("transformer", {"width": 3}, origin="config.json")


def test_what_has_no_size_has_nothing_filled_in() -> None:
    assert spelled_out(Shape, {"N": 3}) == {"N": 3, "size": "small"}
    values = {"N": 1, "d": 6, "h": 2, "d_ff": 5, "source_vocabulary": 11, "target_vocabulary": 11}
    with pytest.raises(SettingsError, match="dropout"):
        build("transformer", {**values, "dropout": None})
    assert "size" not in values_of(build("transformer", values))


class Inner(Settings):
    size: Literal["one"] = "one"
    width: int | None = None


class Outer(Settings):
    inner: Inner
    depth: int = 2


def test_sections_are_spelled_out_too() -> None:
    assert spelled_out(Outer, {"inner": {}}) == {"inner": {"size": "one", "width": None}, "depth": 2}


def test_what_is_to_be_filled_in_is_not_drawn() -> None:
    values = {"N": 1, "d": 6, "h": 2, "d_ff": 5, "source_vocabulary": 11, "target_vocabulary": 11}
    before = torch.get_rng_state()
    model = build_without_init("transformer", values)
    assert torch.equal(torch.get_rng_state(), before)
    drawn = build("transformer", values)
    assert not torch.equal(torch.get_rng_state(), before)
    assert [p.shape for p in model.parameters()] == [p.shape for p in drawn.parameters()]
    positions = [one.encoder.inputs.positions.table for one in (model, drawn)]
    assert torch.equal(*positions), "what is computed is computed"


@pytest.mark.parametrize("kind", MODELS)
def test_each_config_says_its_kind(kind: str) -> None:
    assert config_class(kind).model_fields["kind"].default == kind
    assert next(iter(config_class(kind).model_fields)) == "kind"


def test_a_model_is_built_again_from_its_values_and_not_as_another_kind() -> None:
    values = values_of(build("gpt", {"size": "nano", "vocabulary": 11}))
    assert values["kind"] == "gpt"
    assert values_of(build("gpt", values)) == values
    with pytest.raises(SettingsError, match="kind: input should be 'llama'"):
        build("llama", values)


# New heads
