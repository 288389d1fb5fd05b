"""The same logits, hidden states, gradients and vectors as `transformers`' ViT, tiny and random, in float32.

In float64 the measure is the plain formulas at the end (the reference's own attention takes its softmax in float32).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from decoder_peers import close, randomised, read, their_weights
from torch import Tensor
from transformers import ViTConfig, ViTForImageClassification, ViTModel

from glassformer.errors import ExportError, ImportingError
from glassformer.hub.huggingface.folders import read_folder, write_folder
from glassformer.models.vit import Vit, VitConfig
from glassformer.nn.taps import listen
from glassformer.store.bundle import Bundle

SQUARE = {"image_size": 15, "patch_size": 5}
VARIANTS: dict[str, dict[str, Any]] = {
    "square": {**SQUARE},
    "not square": {"image_size": [15, 28], "patch_size": [5, 7], "num_attention_heads": 1, "hidden_size": 7},
    "a rest at the edge": {"image_size": [13, 17], "patch_size": 4, "num_channels": 1},
    "no bias, relu": {**SQUARE, "qkv_bias": False, "hidden_act": "relu", "num_hidden_layers": 3},
    "gelu_new, wide norm": {**SQUARE, "hidden_act": "gelu_new", "layer_norm_eps": 1e-2, "num_channels": 2},
}


def make(name: str, **more: Any) -> ViTForImageClassification:
    shape = {"hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 11}
    return randomised(ViTForImageClassification(ViTConfig(**shape | VARIANTS[name], num_labels=7, **more)))


def images_for(config: ViTConfig, *, count: int = 3, size: tuple[int, int] | None = None) -> SimpleNamespace:
    own = config.image_size if isinstance(config.image_size, list) else (config.image_size, config.image_size)
    return SimpleNamespace(images=torch.randn(count, config.num_channels, *(size or own)))


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_logits_and_hidden_states_equal_theirs(name: str, tmp_path: Path) -> None:
    theirs = make(name)
    batch, ours = images_for(theirs.config), read(theirs, tmp_path).model
    expected = theirs(batch.images, output_hidden_states=True)
    with listen(ours, lambda tap: tap.endswith(("inputs.sum", "feed_forward_residual.after"))) as heard:
        close(ours(batch), expected.logits)
    for got, state in zip(heard.values(), expected.hidden_states, strict=True):
        close(got[0], state)


@pytest.mark.parametrize("name", VARIANTS)
def test_gradients_equal_theirs(name: str, tmp_path: Path) -> None:
    theirs = make(name)
    batch, ours = images_for(theirs.config), read(theirs, tmp_path).model
    weights = torch.randn(3, 7)
    (theirs(batch.images).logits.tanh() * weights).sum().backward()
    (ours(batch).tanh() * weights).sum().backward()
    found = {name_in_modules(key): one for key, one in their_weights(ours, "vit", gradients=True).items()}
    for key, parameter in theirs.named_parameters():
        largest = parameter.grad.abs().max()
        assert largest > 1e-3 or key.endswith("k_proj.bias"), f"{key} must matter"  # which moves all scores alike
        scale = largest if largest > 1e-3 else 1.0
        close(found[key] / scale, parameter.grad / scale)


def name_in_modules(name: str) -> str:
    """Their files keep names that their modules have given up."""
    changes = {
        "encoder.layer.": "layers.", "attention.attention.query": "attention.q_proj",
        "attention.attention.key": "attention.k_proj", "attention.attention.value": "attention.v_proj",
        "attention.output.dense": "attention.o_proj", "intermediate.dense": "mlp.fc1", "output.dense": "mlp.fc2",
    }  # fmt: skip
    for old, new in changes.items():
        name = name.replace(old, new)
    return name


@pytest.mark.parametrize("size", [(20, 20), (10, 10), (15, 25), (31, 12), (5, 45)])
@torch.no_grad()
def test_other_sizes_equal_theirs(size: tuple[int, int], tmp_path: Path) -> None:
    """(5, 45) has as many patches as the images that it learned from, in another grid."""
    theirs = make("square")
    batch, ours = images_for(theirs.config, size=size), read(theirs, tmp_path).model
    close(ours(batch), theirs(batch.images, interpolate_pos_encoding=True).logits)


@torch.no_grad()
def test_positions_of_a_grid_that_is_not_square_are_stretched_by_rows_and_columns() -> None:
    """Where theirs fails: the middle of twice as many places stands between the old ones."""
    config = VitConfig(N=1, d=4, h=1, d_ff=3, patch=2, image=(4, 6), channels=1)
    positions = Vit(config).inputs.positions
    ramp = torch.arange(6.0).view(2, 3)
    positions.weight.copy_(torch.cat([torch.full((1,), 9.0), ramp.flatten()])[:, None].expand(7, 4))
    got = positions((2, 12))[:, 0]
    assert got[0] == 9
    rows = got[1:].view(2, 12)
    close(rows[1] - rows[0], torch.full((12,), 3.0))
    assert torch.equal(rows[0].sort().values, rows[0])


@pytest.mark.parametrize("pooler", [True, False])
@torch.no_grad()
def test_without_a_head_the_image_is_a_vector(pooler: bool, tmp_path: Path) -> None:
    torch.manual_seed(3)
    config = ViTConfig(
        hidden_size=15, num_hidden_layers=2, num_attention_heads=3, intermediate_size=11, **SQUARE, num_labels=5
    )
    theirs = randomised(ViTModel(config, add_pooling_layer=pooler))
    batch, ours = images_for(config), read(theirs, tmp_path / "theirs")
    expected = theirs(batch.images)
    close(ours.model.hidden(batch), expected.last_hidden_state)
    close(ours.model(batch), expected.pooler_output if pooler else expected.last_hidden_state[:, 0])
    again = exported(ours, tmp_path / "ours", ViTModel)
    close(again(batch.images).last_hidden_state, expected.last_hidden_state)


def exported(bundle: Bundle, folder: Path, kind: type) -> Any:
    folder.mkdir()
    write_folder(bundle, folder)
    return kind.from_pretrained(folder).eval()


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_an_export_has_their_logits_and_names(name: str, tmp_path: Path) -> None:
    labels = {i: word for i, word in enumerate(["cat", "dog", "cow", "hen", "pig", "ant", "bee"])}
    theirs = make(name, id2label=labels, label2id={word: i for i, word in labels.items()})
    batch, ours = images_for(theirs.config), read(theirs, tmp_path / "theirs")
    assert ours.extras["labels"] == list(labels.values())
    again = exported(ours, tmp_path / "ours", ViTForImageClassification)
    assert again.config.id2label == labels
    assert torch.equal(again(batch.images).logits, theirs(batch.images).logits)


PREPARATIONS = [
    (
        {"size": {"height": 15, "width": 20}, "image_mean": [0.1, 0.2, 0.3], "image_std": [0.5, 0.6, 0.7]},
        {"height": 15, "width": 20, "resample": "bilinear", "rescale": 1 / 255, "mean": [0.1, 0.2, 0.3],
         "std": [0.5, 0.6, 0.7]},
    ),
    (
        {"size": {"shortest_edge": 17}, "do_center_crop": True, "crop_size": 15, "resample": 3, "do_normalize": False,
         "rescale_factor": 0.5},
        {"shortest": 17, "crop_height": 15, "crop_width": 15, "resample": "bicubic", "rescale": 0.5},
    ),
    ({"do_resize": False, "do_rescale": False, "image_mean": 0.5, "image_std": [0.25]}, {"mean": [0.5], "std": [0.25]}),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), PREPARATIONS)
def test_how_images_are_prepared_goes_there_and_back(theirs: dict, ours: dict, tmp_path: Path) -> None:
    make("square").save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(theirs))
    bundle = read_folder(tmp_path)
    assert bundle.extras["image"] == ours
    (tmp_path / "again").mkdir()
    write_folder(bundle, tmp_path / "again")
    assert read_folder(tmp_path / "again").extras["image"] == ours


@pytest.mark.parametrize(
    ("file", "field", "value", "message"),
    [
        ("config.json", "hidden_act", "quick_gelu", "hidden_act = 'quick_gelu' is not supported"),
        ("config.json", "patch_size", [5, 5, 5], "patch_size"),
        ("config.json", "pooler_act", "relu", "pooler_act = 'relu'"),
        ("config.json", "image_size", 20, "position_embeddings has shape"),
        ("preprocessor_config.json", "size", {"longest_edge": 5}, "preprocessor_config.json: size"),
        ("preprocessor_config.json", "resample", 1, "preprocessor_config.json: resample = 1"),
    ],
)
def test_what_cannot_be_read_is_named(file: str, field: str, value: Any, message: str, tmp_path: Path) -> None:
    make("square").save_pretrained(tmp_path)
    path = tmp_path / file
    config = json.loads(path.read_text()) if path.exists() else {"do_resize": True}
    path.write_text(json.dumps({**config, field: value}))
    with pytest.raises(ImportingError, match=message):
        read_folder(tmp_path)


def test_pooler_and_classes_together_are_not_exported(tmp_path: Path) -> None:
    model = Vit(VitConfig(size="nano", pooler=True, classes=3))
    with pytest.raises(ExportError, match="not both"):
        write_folder(Bundle("vit", model), tmp_path)


# Plain formulas: the patches by the convolution that they are, attention by loops over heads.


def norm(x: Tensor, w: dict[str, Tensor], name: str, eps: float) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.pow(2).mean(-1, keepdim=True) + eps).sqrt() * w[f"{name}.gain"] + w[f"{name}.bias"]


def linear(x: Tensor, w: dict[str, Tensor], name: str) -> Tensor:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def logits_by_hand(model: Vit, image: Tensor) -> Tensor:
    """One image (C, height, width) -> (classes,)"""
    config, w = model.config, model.state_dict()
    kernel = w["inputs.patches.weight"].view(config.d, config.channels, *config.patch)
    patches = F.conv2d(image[None], kernel, w["inputs.patches.bias"], stride=config.patch)[0].flatten(1).T  # (P, D)
    x = torch.cat([w["inputs.first"][None], patches]) + w["inputs.positions.weight"]
    for i in range(config.N):
        block, width = f"blocks.{i}", config.d // config.h
        y = norm(x, w, f"{block}.self_attention_residual.norm", config.norm_eps)
        q, k, v = linear(y, w, f"{block}.self_attention.qkv").split(config.d, dim=1)
        heads = [slice(h * width, (h + 1) * width) for h in range(config.h)]
        z = [(q[:, h] @ k[:, h].T / math.sqrt(width)).softmax(-1) @ v[:, h] for h in heads]
        x = x + linear(torch.cat(z, dim=1), w, f"{block}.self_attention.out.linear")
        up = linear(norm(x, w, f"{block}.feed_forward_residual.norm", config.norm_eps), w, f"{block}.feed_forward.up")
        inner = 0.5 * up * (1 + torch.erf(up / math.sqrt(2)))
        x = x + linear(inner, w, f"{block}.feed_forward.down")
    return linear(norm(x, w, "final_norm", config.norm_eps)[0], w, "head.linear")


@pytest.mark.usefixtures("double")
@torch.no_grad()
def test_logits_equal_the_plain_formulas_in_float64() -> None:
    model = Vit(VitConfig(N=2, d=15, h=3, d_ff=11, patch=(3, 2), image=(7, 9), channels=2, classes=5)).eval()
    for parameter in model.parameters():
        parameter.normal_(std=0.5)
    images = torch.randn(3, 2, 7, 9)
    got = model(SimpleNamespace(images=images))
    for row, image in zip(got, images, strict=True):
        torch.testing.assert_close(row, logits_by_hand(model, image), rtol=0, atol=1e-9)
