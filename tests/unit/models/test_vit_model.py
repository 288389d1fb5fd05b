"""The ViT's promises: images on their own, any size, settings, taps."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from glassformer.config import to_toml, validate
from glassformer.errors import ModelError, SettingsError
from glassformer.models.vit import SIZES, Vit, VitConfig
from glassformer.nn.taps import Tap, listen
from glassformer.training.settings import TrainSettings
from glassformer.training.tuning import tune


def make_model(**settings) -> Vit:
    shape = {"N": 2, "d": 15, "h": 3, "d_ff": 11, "patch": (3, 2), "image": (9, 8), "channels": 2, "classes": 5}
    model = Vit(VitConfig(**shape | settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model


def images(*shape: int) -> SimpleNamespace:
    return SimpleNamespace(images=torch.randn(shape))


@pytest.mark.usefixtures("double")
@torch.no_grad()
def test_neighbours_in_a_batch_change_nothing() -> None:
    model, batch = make_model(), images(3, 2, 9, 8)
    together = model(batch)
    for row in range(3):
        alone = model(SimpleNamespace(images=batch.images[[row]]))
        torch.testing.assert_close(alone[0], together[row], rtol=0, atol=1e-12)


def test_every_tap_is_passed_and_listening_changes_nothing() -> None:
    model, batch = make_model(pooler=True), images(3, 2, 9, 8)
    plain = model(batch)
    with listen(model) as heard:
        listened = model(batch)
        model.pool(model.hidden(batch))
    torch.testing.assert_close(plain, listened, rtol=0, atol=1e-5)
    assert set(heard) == {name for name, module in model.named_modules() if isinstance(module, Tap)}
    assert heard["blocks.1.self_attention.core.pattern"][0].shape == (3, 3, 13, 13)


@pytest.mark.parametrize("size", [(3, 2), (9, 9), (31, 17)])
def test_images_of_any_size(size: tuple[int, int]) -> None:
    hidden = make_model().hidden(images(2, 2, *size))
    assert hidden.shape == (2, 1 + size[0] // 3 * (size[1] // 2), 15)
    assert torch.isfinite(hidden).all()


@pytest.mark.parametrize(
    ("shape", "message"),
    [((1, 3, 9, 8), "have 3 channels; this model reads 2"), ((1, 2, 2, 8), "2 x 8 pixels are smaller than one patch")],
)
def test_images_that_do_not_fit(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make_model()(images(*shape))


def test_one_number_is_height_and_width() -> None:
    config = VitConfig(size="base-16", image=96)
    assert (config.image, config.patch) == ((96, 96), (16, 16))
    assert "image = [96, 96]" in to_toml(config)


@pytest.mark.parametrize("size", SIZES)
def test_named_sizes(size: str) -> None:
    config = VitConfig(size=size)
    assert all(getattr(config, name) == SIZES[size][name] for name in ("N", "d", "h", "d_ff"))
    if "-" in size:
        assert config.patch == (int(size.partition("-")[2]),) * 2


@pytest.mark.parametrize(
    ("size", "millions"), [("tiny-16", 5.7), ("small-16", 22.1), ("base-16", 86.6), ("base-32", 88.2)]
)
def test_sizes_have_the_published_number_of_parameters(size: str, millions: float) -> None:
    with torch.device("meta"):
        model = Vit(VitConfig(size=size, classes=1000))
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, abs=0.06)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": "nano", "d": 65}, "d = 65 is not a multiple of h = 4"),
        ({"size": "nano", "image": (3, 28)}, "has no patch"),
        ({"size": "nano", "patch": (4, 0)}, "patch"),
        ({"size": "giant"}, "size"),
    ],
)
def test_settings_that_cannot_be(values: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        validate(VitConfig, values)


@pytest.mark.usefixtures("double")
def test_the_last_block_computes_only_what_is_read() -> None:
    """The same logits and gradients as the plain blocks give."""
    model, batch = make_model(), images(3, 2, 9, 8)
    fast = model(batch)
    plain = model.head(model.hidden(batch)[:, 0])
    torch.testing.assert_close(fast, plain, rtol=0, atol=1e-12)
    gradients = [torch.autograd.grad(one.square().sum(), list(model.parameters())) for one in (fast, plain)]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.usefixtures("double")
def test_adapters_of_the_last_block_are_used_and_learn() -> None:
    model, batch = make_model(), images(3, 2, 9, 8)
    tune(model, TrainSettings(lora=2, start_from="x"))
    trained = {name: one for name, one in model.named_parameters() if one.requires_grad}
    for parameter in trained.values():
        torch.nn.init.normal_(parameter, std=0.3)
    fast = model(batch)
    torch.testing.assert_close(fast, model.head(model.hidden(batch)[:, 0]), rtol=0, atol=1e-12)
    fast.square().sum().backward()
    assert [name for name, one in trained.items() if one.grad is None or one.grad.abs().max() == 0] == []
