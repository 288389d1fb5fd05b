"""The captioner's promises: cached is uncached, beams, one reading of an image, settings, taps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.config import validate
from glassformer.errors import ModelError, SettingsError
from glassformer.models.captioner import SIZES, Captioner, CaptionerConfig
from glassformer.models.decoding import state as decoding_state
from glassformer.nn.taps import Tap, listen

V = 19
ENCODER = {"N": 2, "d": 10, "h": 2, "d_ff": 7, "patch": 3, "image": 7, "channels": 2}


@dataclass
class Batch:
    images: Tensor
    target_in: Tensor


def make_model(**settings) -> Captioner:
    shape = {"vocabulary": V, "N": 3, "d": 15, "h": 3, "d_ff": 11, "max_length": 31, "encoder": ENCODER}
    model = Captioner(CaptionerConfig(**shape | settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model


def make_batch(length: int = 23) -> Batch:
    return Batch(torch.randn(3, 2, 7, 7), torch.randint(0, V, (3, length)))


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("settings", [{}, {"d": 10, "h": 2}, {"tied": False, "activation": "relu"}])
@torch.no_grad()
def test_step_by_step_equals_all_at_once(settings: dict) -> None:
    model, batch = make_model(**settings), make_batch()
    assert (model.bridge is None) == (model.config.d == 10)
    expected, state = model(batch), model.start(batch)
    for t in range(23):
        logits, state, _ = model.step(batch.target_in[:, t], state)
        close(logits, expected[:, t])


@pytest.mark.usefixtures("double")
@torch.no_grad()
def test_hypotheses_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding_state, "COMPACT_ABOVE", 12)
    model, batch = make_model(), make_batch()
    random = np.random.default_rng(5)
    said, owners, state = [[1] for _ in range(3)], [0, 1, 2], model.start(batch)
    for _ in range(20):
        logits, state, _ = model.step(torch.tensor([ids[-1] for ids in said]), state)
        for row, owner in enumerate(owners):
            close(logits[row], model(Batch(batch.images[[owner]], torch.tensor([said[row]])))[0, -1])
        rows = sorted(random.integers(0, len(said), int(random.integers(2, 8))).tolist(), key=lambda i: owners[i])
        state = model.select(state, torch.tensor(rows))
        said = [[*said[i], int(random.integers(0, V))] for i in rows]
        owners = [owners[i] for i in rows]


@torch.no_grad()
def test_an_image_is_read_once() -> None:
    model, batch = make_model(), make_batch()
    with listen(model, lambda name: name in ("memory", "encoder.inputs.sum")) as heard:
        state = model.select(model.start(batch), torch.tensor([0, 0, 1, 2]))
        for _ in range(4):
            _, state, attention = model.step(torch.tensor([2, 3, 4, 5]), state, want_attention=True)
    assert {name: len(values) for name, values in heard.items()} == {"encoder.inputs.sum": 1, "memory": 1}
    assert attention.shape == (4, 3, 3, 5)
    torch.testing.assert_close(attention.sum(-1), torch.ones(4, 3, 3))


def test_every_tap_but_the_poolers_is_passed() -> None:
    model, batch = make_model(), make_batch()
    plain = model(batch)
    with listen(model) as heard:
        listened = model(batch)
    torch.testing.assert_close(plain, listened, rtol=0, atol=1e-5)
    taps = {name for name, module in model.named_modules() if isinstance(module, Tap)}
    assert taps - set(heard) == {"encoder.pooled", "encoder.logits"}


def test_training_moves_every_weight() -> None:
    model, batch = make_model().train(), make_batch()
    model(batch).log_softmax(-1)[:, :, 2].mean().neg().backward()
    still = [name for name, one in model.named_parameters() if one.grad is None or one.grad.abs().max() == 0]
    assert still == []


def test_a_text_beyond_the_learned_positions_is_refused() -> None:
    with pytest.raises(ModelError, match="learned 31 positions"):
        make_model()(make_batch(32))


@pytest.mark.parametrize("size", SIZES)
def test_named_sizes(size: str) -> None:
    config = CaptionerConfig(size=size, vocabulary=V)
    assert config.encoder.size == SIZES[size]["encoder"]["size"]
    assert (config.N, config.d) == (SIZES[size]["N"], SIZES[size]["d"])


def test_one_setting_of_the_encoder_leaves_the_others_to_the_size() -> None:
    config = CaptionerConfig.model_validate({"size": "tiny", "vocabulary": V, "encoder": {"dropout": 0.2}})
    assert (config.encoder.N, config.encoder.d, config.encoder.dropout) == (4, 64, 0.2)
    assert config.encoder.model_fields_set == {"dropout"}
    config = CaptionerConfig.model_validate({"size": "tiny", "vocabulary": V, "encoder": {"size": "tiny-16"}})
    assert (config.encoder.N, config.encoder.d) == (12, 192)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vocabulary": 3, "h": 5}, "d = 768 is not a multiple of h = 5"),
        ({"vocabulary": 3, "encoder": {"size": "nano", "h": 3}}, "d = 64 is not a multiple of h = 3"),
        ({}, "vocabulary"),
    ],
)
def test_settings_that_cannot_be(values: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        validate(CaptionerConfig, values)
