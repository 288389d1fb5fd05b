"""A change to a step's result does what the same change does inside the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.errors import ModelError
from glassformer.explain.ablation import without_head
from glassformer.explain.op_functions import Array
from glassformer.explain.program import Patch, patched
from glassformer.explain.programs import program_of
from glassformer.explain.programs.recorded import inputs_of, weights_of
from glassformer.nn.taps import listening
from toy_programs import TOYS

pytestmark = pytest.mark.usefixtures("double")
TOY = TOYS["transformer"]
HEAD = "decoder.blocks.0.cross_attention.out"


def logits_with(model: nn.Module, *patches: Patch, batch: Any = TOY.batch) -> Array:
    program = program_of(model)
    return program.run(inputs_of(program, batch), weights_of(program, model), patches)["logits"]


def logits_in_torch(model: nn.Module, tap: str, change: Callable[[Tensor], None], *, batch: Any = TOY.batch) -> Array:
    def changed(value: Tensor) -> Tensor:
        value = value.clone()
        change(value)
        return value

    with torch.no_grad(), listening([(model.get_submodule(tap), changed)]):
        return model(batch)[0].numpy()


@pytest.mark.parametrize("mean", [False, True])
def test_a_head_removed(mean: bool) -> None:
    model = TOY.model()
    program = program_of(model)
    z = program.run(inputs_of(program, TOY.batch), weights_of(program, model))[f"{HEAD}.z"]
    instead = torch.from_numpy(z[1].mean(axis=0)) if mean else None
    with torch.no_grad(), without_head(model.get_submodule(HEAD), 1, instead=instead):
        expected = model(TOY.batch)[0].numpy()
    found = logits_with(model, Patch(f"{HEAD}.z", "mean" if mean else "zero", head=1))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    assert abs(found - logits_with(model)).max() > 1e-3


def zero_neuron(value: Tensor) -> None:
    value[..., 4] = 0


def set_one(value: Tensor) -> None:
    value[:, 1, 4] = 0.5


def hide_piece(value: Tensor) -> None:
    value[..., 2] = float("-inf")


@pytest.mark.parametrize(
    ("patch", "change"),
    [
        (Patch("decoder.blocks.0.feed_forward.post", "zero", column=4), zero_neuron),
        (Patch("decoder.blocks.0.feed_forward.post", "set", row=1, column=4, value=0.5), set_one),
        (Patch("decoder.blocks.0.cross_attention.core.masked", "hide", column=2), hide_piece),
        (Patch("decoder.blocks.0.cross_attention.core.masked", "hide"), lambda value: value.fill_(-torch.inf)),
        (Patch("memory", "zero", row=3), lambda value: value[:, 3].zero_()),
    ],
)
def test_a_change_at_any_tap(patch: Patch, change: Callable[[Tensor], None]) -> None:
    model = TOY.model()
    found = logits_with(model, patch)
    np.testing.assert_allclose(found, logits_in_torch(model, patch.step, change), rtol=0, atol=1e-10)
    assert abs(found - logits_with(model)).max() > 1e-3


def zero_head(value: Tensor) -> None:
    value[:, 1] = 0


@pytest.mark.parametrize(
    ("name", "patch", "change"),
    [
        ("bert", Patch("blocks.0.self_attention.out.z", "zero", head=1), zero_head),
        ("bert-class", Patch("inputs.sum", "zero", row=1), lambda value: value[:, 1].zero_()),
        ("gpt", Patch("blocks.0.attention.core.masked", "hide", column=2), hide_piece),
        ("llama", Patch("blocks.0.feed_forward.post", "zero", column=4), zero_neuron),
        ("llama-experts", Patch("blocks.0.attention.out.z", "zero", head=1), zero_head),
        ("t5", Patch("encoder.positions.bias", "zero", head=1), lambda value: value[1].zero_()),
        ("vit", Patch("inputs.token", "zero", row=1), lambda value: value[:, 1].zero_()),
        ("captioner", Patch("decoder.blocks.0.cross_attention.out.z", "zero", head=1), zero_head),
        ("lstm", Patch("context", "zero", row=1), lambda value: value[:, :, 1].zero_()),
        ("lstm-lm", Patch("blocks.0.hidden", "zero", row=1), lambda value: value[:, 1].zero_()),
        ("bilstm-attention", Patch("attention.scores", "hide", column=2), hide_piece),
        ("rnn-attention", Patch("memory", "zero", row=3), lambda value: value[:, 3].zero_()),
    ],
)
def test_in_every_family(name: str, patch: Patch, change: Callable[[Tensor], None]) -> None:
    model, batch = TOYS[name].model(), TOYS[name].batch
    found, expected = logits_with(model, patch, batch=batch), logits_in_torch(model, patch.step, change, batch=batch)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-10)
    assert abs(found - logits_with(model, batch=batch)).max() > 1e-4


def test_what_is_selected() -> None:
    value, axes = np.arange(24.0).reshape(2, 3, 4), ("head", "target", "head_width")
    found = patched(value, axes, Patch("x", "mean", head=1, column=2))
    assert found[1, :, 2].tolist() == [18, 18, 18]
    found[1, :, 2] = value[1, :, 2]
    assert (found == value).all()
    assert patched(value, axes, Patch("x", "mean", row=0))[0, 0].tolist() == [4, 5, 6, 7]
    assert patched(value, axes, Patch("x", "set", value=3)).tolist() == np.full((2, 3, 4), 3.0).tolist()
    assert value.ravel().tolist() == list(range(24)), "the value itself is not changed"


def test_several_changes_and_unknown_steps() -> None:
    model = TOY.model()
    both = [Patch(f"{HEAD}.z", "zero", head=head) for head in (0, 1)]
    np.testing.assert_array_equal(logits_with(model, *both), logits_with(model, Patch(f"{HEAD}.z", "zero")))
    with pytest.raises(ModelError, match="no step 'head\\.z'"):
        logits_with(model, Patch("head.z", "zero"))
