"""A model's program computes what the model computes: every family, every option, every tap, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.explain.program import Patch
from glassformer.explain.programs import WIRINGS, program_of
from glassformer.explain.programs.recorded import EXPERT, inputs_of, tapped_values, weights_of
from glassformer.explain.programs.vectors import with_vector
from glassformer.explain.tap_values import recorded_pass
from glassformer.models.registry import MODELS
from glassformer.nn.lora import add_adapters
from glassformer.nn.pooling import POOLINGS
from toy_programs import TEXT, TOYS

pytestmark = pytest.mark.usefixtures("double")
CLOSE = 1e-10


def compare(model: nn.Module, batch: Any) -> None:
    program = program_of(model)
    output, recorded = recorded_pass(model, batch)
    inputs = inputs_of(program, batch)
    values = program.run(inputs, weights_of(program, model))
    for step, expected in tapped_values(program, recorded, inputs).items():
        np.testing.assert_allclose(values[step], expected, rtol=CLOSE, atol=CLOSE, err_msg=step)
    (step,) = program.outputs.values()
    np.testing.assert_allclose(values[step].ravel(), output.numpy().ravel(), rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("name", TOYS)
def test_every_tap_has_the_numbers_of_the_model(name: str) -> None:
    compare(TOYS[name].model(), TOYS[name].batch)


@pytest.mark.parametrize("name", TOYS)
def test_a_single_token(name: str) -> None:
    compare(TOYS[name].model(), TOYS[name].short_batch)


@pytest.mark.parametrize("name", TOYS)
def test_every_tap_is_exactly_one_step(name: str) -> None:
    model = TOYS[name].model()
    _, recorded = recorded_pass(model, TOYS[name].batch)
    tapped = [step.name for step in program_of(model).steps if step.tapped]
    assert sorted(name for name in tapped if name in recorded or not EXPERT.fullmatch(name)) == sorted(recorded)


def test_every_kind_has_a_program() -> None:
    assert set(WIRINGS) == set(MODELS) == {toy.kind for toy in TOYS.values()}


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_the_vector_of_a_text(pooling: str, normalise: bool) -> None:
    toy = TOYS["bert-hidden"]
    model = toy.model()
    line = "tasks/embedding.py:1" if normalise else None
    program = with_vector(program_of(model), pooling=pooling, normalised_at=line)
    values = program.run(inputs_of(program, toy.batch), weights_of(program, model))
    with torch.no_grad():
        expected = POOLINGS[pooling](model(toy.batch)[0], toy.batch.lengths)
    expected = nn.functional.normalize(expected) if normalise else expected
    np.testing.assert_allclose(values[program.outputs["vector"]], expected.numpy(), rtol=CLOSE, atol=CLOSE)


def test_no_vector_of_other_poolings_and_heads() -> None:
    hidden, words = program_of(TOYS["bert-hidden"].model()), program_of(TOYS["bert"].model())
    assert with_vector(hidden, pooling="max") is hidden
    assert with_vector(words, pooling="mean") is words


def test_an_adapted_model() -> None:
    model = TOYS["gpt"].model()
    for name in ("blocks.0.attention.qkv", "blocks.0.feed_forward.up"):
        layer = model.get_submodule(name)
        assert isinstance(layer, nn.Linear)
        add_adapters(layer, rank=2, scale=3.0)
        for adapter in layer.adapters:  # type: ignore[union-attr]
            nn.init.normal_(adapter.b)
    plain = TOYS["gpt"].model()
    with torch.no_grad():
        assert (model(TEXT) - plain(TEXT)).abs().max() > 1e-2
    compare(model, TEXT)


def test_pieces_may_be_hidden_from_a_recurrent_decoder_too() -> None:
    toy = TOYS["rnn-attention"]
    model = toy.model()
    program = program_of(model)
    inputs, weights = inputs_of(program, toy.batch), weights_of(program, model)
    patch = Patch("decoder.blocks.0.cross_attention.core.masked", "hide", column=3)
    found = program.run(inputs, weights, [patch])
    mask = torch.tensor([[0, 0, 0, -torch.inf, 0]])
    with torch.no_grad():
        memory, _ = model.encode(toy.batch)
        expected = model.head(model.decoder(toy.batch.target_in, memory, mask=mask))[0]
    np.testing.assert_allclose(found["logits"], expected.numpy(), rtol=CLOSE, atol=CLOSE)
    assert (found["decoder.blocks.0.cross_attention.core.pattern"][..., 3] == 0).all()
