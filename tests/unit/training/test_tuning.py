"""Frozen parts and rates by layer: which names there are, and what each parameter gets."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from glassformer.errors import SettingsError
from glassformer.models.registry import build
from glassformer.nn.lora import is_adapter
from glassformer.training.averaging import trained_of
from glassformer.training.optimiser import make_optimiser, optimiser_tensors
from glassformer.training.settings import TrainSettings
from glassformer.training.tuning import frozen_names, rate_scales, trained_in_words, tune

SHAPE = {"N": 4, "d": 8, "h": 2, "d_ff": 12, "dropout": 0.0, "vocabulary": 20}
BERT = {"kind": "bert", **SHAPE, "head": "sentence", "max_length": 10}
T5 = {"kind": "t5", **SHAPE, "d_kv": 4, "N_decoder": 2}


def bert() -> nn.Module:
    return build("bert", BERT)


def trained(model: nn.Module) -> set[str]:
    return {name.split(".adapters")[0] for name, parameter in model.named_parameters() if parameter.requires_grad}


def stepped(model: nn.Module, settings: TrainSettings, *, steps: int = 1) -> Any:
    """Updates with gradients of one for everything that is trained."""
    tune(model, settings)
    optimiser = make_optimiser(model, settings)
    for _ in range(steps):
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter) if parameter.requires_grad else None
        optimiser.step(settings.lr)
    return optimiser


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (("inputs",), {"blocks", "pooler", "head"}),
        (("inputs", "blocks.0-2"), {"blocks", "pooler", "head"}),
        (("body",), {"pooler", "head"}),
        (("blocks", "pooler"), {"inputs", "head"}),
    ],
)
def test_frozen_parts_are_named(names: tuple[str, ...], left: set[str]) -> None:
    model = bert()
    tune(model, TrainSettings(freeze=names))
    assert {name.split(".")[0] for name in trained(model)} == left
    if "blocks.0-2" in names:
        assert {name.split(".")[1] for name in trained(model) if name.startswith("blocks")} == {"3"}


def test_names_are_separated_by_commas_on_the_command_line() -> None:
    assert TrainSettings.model_validate({"freeze": "inputs, blocks.0-3"}).freeze == ("inputs", "blocks.0-3")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("block.0-3", r"no part 'block.0-3'\. Did you mean blocks.0\? Blocks are counted from 0 to 3"),
        ("blocks.4-9", r"no part 'blocks.4-9'\. Did you mean blocks.0\?"),
        ("input", r"Did you mean inputs\?"),
        ("xyz", r"Its parts: inputs, blocks, pooler, head, and body for all but the heads"),
    ],
)
def test_a_wrong_name_is_an_error_that_helps(name: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        frozen_names(bert(), (name,))


def test_something_must_be_trained() -> None:
    with pytest.raises(SettingsError, match="nothing would be trained"):
        tune(bert(), TrainSettings(freeze=("body", "pooler", "head")))


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_what_is_frozen_does_not_move_and_has_no_state(optimiser: str) -> None:
    model = bert()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    settings = TrainSettings(freeze=("inputs", "blocks.0-1"), ema=0.9, weight_decay=0.1, optimiser=optimiser)  # type: ignore[arg-type]
    found = stepped(model, settings)
    moved = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved == trained(model)
    fields = optimiser_tensors(model, found)
    assert {name.rpartition("/")[0] for name in fields if not name.endswith("/weight")} == trained(model)
    assert set(found.average.weights) == set(trained_of(model)) == trained(model)


def test_how_much_is_trained_is_told() -> None:
    model = bert()
    assert trained_in_words(model) == ""
    tune(model, TrainSettings(freeze=("body",)))
    assert trained_in_words(few_of_many()).endswith("(under 0.01%)")
    assert trained_in_words(model).startswith(f"{8 * 8 + 8 + 2 * 8 + 2:,} of ")


def test_rates_fall_by_the_layer_exactly() -> None:
    scales = rate_scales(bert(), 0.5)
    assert scales["inputs.embedding.weight"] == scales["inputs.norm.gain"] == 0.5**5
    assert [scales[f"blocks.{i}.feed_forward.up.weight"] for i in range(4)] == [0.5**4, 0.5**3, 0.5**2, 0.5**1]
    assert scales["pooler.linear.weight"] == scales["head.linear.weight"] == 1.0


def test_each_stack_counts_by_itself() -> None:
    scales = rate_scales(build("t5", T5), 0.5)
    assert scales["encoder.inputs.embedding.weight"] == scales["encoder.positions.weight"] == 0.5**5
    assert scales["decoder.positions.weight"] == 0.5**3
    assert scales["encoder.blocks.0.feed_forward.up.weight"] == 0.5**4
    assert scales["decoder.blocks.1.cross_attention.query.weight"] == 0.5
    assert scales["decoder.final_norm.gain"] == scales["encoder.final_norm.gain"] == 1.0


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_an_update_is_as_much_smaller(optimiser: str) -> None:
    """With the same gradients, the first update of a layer is its share of the update at the full rate."""
    changes = {}
    for decay in (1.0, 0.5):
        torch.manual_seed(1)
        model = bert().double()
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        stepped(model, TrainSettings(layer_decay=decay, weight_decay=0.0, lr=1e-3, optimiser=optimiser))  # type: ignore[arg-type]
        changes[decay] = {name: parameter.detach() - before[name] for name, parameter in model.named_parameters()}
    for name, scale in rate_scales(bert(), 0.5).items():
        torch.testing.assert_close(changes[0.5][name], scale * changes[1.0][name], rtol=1e-6, atol=1e-12)


def test_adapters_and_heads_are_trained_and_their_state_is_small() -> None:
    model = bert()
    found = stepped(model, TrainSettings(lora=2, start_from="x"))
    assert {name.split(".")[0] for name in trained(model)} == {"blocks", "pooler", "head"}
    names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    assert all(is_adapter(name) or name.startswith(("pooler.", "head.")) for name in names)
    state = sum(t.numel() for name, t in optimiser_tensors(model, found).items() if "/exp_avg" in name)
    assert state == 2 * sum(p.numel() for p in model.parameters() if p.requires_grad)


def test_frozen_parts_have_no_adapters() -> None:
    model = bert()
    tune(model, TrainSettings(lora=2, start_from="x", freeze=("blocks.0-1", "blocks.2.feed_forward.up.weight")))
    names = {name.split(".adapters")[0] for name, _ in model.named_parameters() if is_adapter(name)}
    assert names == {name for name in trained(model) if name.startswith("blocks")}
    assert {name.split(".")[1] for name in names} == {"2", "3"}
    assert "blocks.2.feed_forward.up" not in names
    assert "blocks.2.feed_forward.down" in names
    with pytest.raises(SettingsError, match="no adapter would be left"):
        tune(bert(), TrainSettings(lora=2, start_from="x", freeze=("blocks",)))


def test_adapters_do_not_train_new_tokens() -> None:
    with pytest.raises(ValueError, match="would never learn"):
        TrainSettings(lora=4, start_from="x", extend_vocabulary=("zebra",))


def test_adapters_need_a_model_and_adamw() -> None:
    with pytest.raises(ValueError, match="needs a model to start from"):
        TrainSettings(lora=4)
    with pytest.raises(ValueError, match="trained by adamw"):
        TrainSettings(lora=4, start_from="x", optimiser="muon")


def few_of_many() -> torch.nn.Module:
    model = torch.nn.Linear(30_000, 2, bias=False, device="meta").requires_grad_(False)
    model.register_parameter("few", torch.nn.Parameter(torch.zeros(2)))
    return model
