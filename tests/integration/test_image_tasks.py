"""Images get the whole engine: classes and captions are learned, used, evaluated, explained, started from."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import ViTConfig, ViTForImageClassification

import glassformer as gf
from glassformer.errors import DataError
from glassformer.store.run import RunFolder
from toy_images import NAMES, bars, caption_sections, class_sections, write_captions, write_folder, write_idx

Command = Callable[..., Any]
ENOUGH = {"steps": 90, "valid_every": 45, "valid_sentences": 60}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images")


@pytest.fixture(scope="module")
def classes(here: Path) -> Path:
    """A finished run. Only to be read."""
    data = {"files": write_idx(here, count=300), "valid": write_idx(here, count=60, seed=2, name="valid")}
    data["augment"] = "none"
    gf.train(task="classify", data=data, out=here / "classes", **class_sections(ENOUGH))
    return here / "classes"


@pytest.fixture(scope="module")
def captions(here: Path) -> Path:
    (here / "told").mkdir()
    data = {"files": str(write_captions(here / "told", count=300)), "valid": "20%"}
    sections = caption_sections({**ENOUGH, "steps": 200, "valid_every": 100})
    gf.train(task="caption", data=data, out=here / "captions", **sections)
    return here / "captions"


def validations(run: Path) -> list[dict[str, Any]]:
    return [record for record in RunFolder(run).metrics() if "valid_loss" in record]


def test_classes_are_learned(classes: Path) -> None:
    assert validations(classes)[-1]["valid_accuracy"] >= 95


def test_shuffled_labels_are_not_learned(tmp_path: Path) -> None:
    wrong = write_idx(tmp_path, count=300, shuffled=True)
    data = {"files": wrong, "valid": write_idx(tmp_path, count=60, seed=2, name="valid")}
    gf.train(task="classify", data=data, out=tmp_path / "run", **class_sections({**ENOUGH, "steps": 45}))
    assert 20 <= validations(tmp_path / "run")[-1]["valid_accuracy"] <= 80


def test_the_run_says_what_it_is(classes: Path) -> None:
    config = (classes / "config.toml").read_text()
    assert 'task = "classify-images"' in config
    assert "mean = [" in config
    page = (classes / "report.html").read_text()
    assert "Which classes are confused" in page


def test_it_is_used_from_the_command_line(classes: Path, here: Path, command: Command) -> None:
    images, labels = write_idx(here, count=60, seed=2, name="valid")
    found = command("classify", classes, f"{images}:0-9", "--top", "1", "--json")
    assert found.code == 0, found.err
    guesses = [json.loads(line)["classes"][0]["label"] for line in found.out.splitlines()]
    assert np.mean([int(guess) == own for guess, own in zip(guesses, bars(60, seed=2)[1][:10], strict=True)]) >= 0.9
    measured = command("evaluate", classes, images, labels, "--json")
    assert measured.code == 0, measured.err
    scores = json.loads(measured.out)
    assert "accuracy" in json.dumps(scores)


def test_it_is_used_from_python(classes: Path) -> None:
    images, own = bars(20, seed=7)
    found = gf.load(classes).classify(list(images), top=1)
    assert np.mean([int(guess[0].label) == label for guess, label in zip(found, own, strict=True)]) >= 0.9


def test_new_classes_get_a_new_head(classes: Path, tmp_path: Path, command: Command) -> None:
    folder = write_folder(tmp_path / "train", count=60)
    done = command(
        "train", "--task", "classify", "--data", folder, "--from", classes, "--out", tmp_path / "run",
        "--set", "train.steps=3", "--set", "train.threads=1", "--set", "train.device=cpu",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "newly initialised: head." in done.err
    assert done.err.splitlines()[-1] == f"Try:  glassformer classify {tmp_path / 'run'} IMAGE"
    assert list(gf.load(tmp_path / "run").bundle.extras["labels"]) == list(NAMES)


def test_another_size_interpolates_the_positions(classes: Path, tmp_path: Path, command: Command) -> None:
    folder = write_folder(tmp_path / "train", count=60)
    done = command(
        "train", "--task", "classify", "--data", folder, "--from", classes, "--out", tmp_path / "run",
        "--set", "data.image=16", "--set", "train.steps=3", "--set", "train.threads=1", "--set", "train.device=cpu",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "its positions are interpolated" in done.err
    assert gf.load(tmp_path / "run").prepare.size == (16, 16)


def test_a_vit_made_by_others_is_a_start(tmp_path: Path, command: Command) -> None:
    torch.manual_seed(1)
    config = ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=16, patch_size=8,
        num_channels=3, num_labels=3,
    )  # fmt: skip
    ViTForImageClassification(config).save_pretrained(tmp_path / "vit")
    about = {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4], "size": {"height": 16, "width": 16}}
    (tmp_path / "vit" / "preprocessor_config.json").write_text(json.dumps(about))
    folder = write_folder(tmp_path / "train", count=60)
    done = command(
        "train", "--task", "classify", "--data", folder, "--from", tmp_path / "vit", "--out", tmp_path / "run",
        "--set", "train.steps=3", "--set", "train.threads=1", "--set", "train.device=cpu",
    )  # fmt: skip
    assert done.code == 0, done.err
    loaded = gf.load(tmp_path / "run")
    assert loaded.prepare.mean == (0.4, 0.5, 0.6)
    assert loaded.prepare.size == (16, 16)
    assert loaded.model.config.channels == 3


def test_a_budget_chooses_and_ends(tmp_path: Path) -> None:
    clock = partial(next, count(0.0, 0.5))
    done = gf.train(
        task="classify", data=write_idx(tmp_path, count=300), out=tmp_path / "run", budget="20s",
        train={"threads": 1, "device": "cpu"}, clock=clock,
    )  # fmt: skip
    assert done.stopped == "the time is used"


def test_captions_are_learned(captions: Path) -> None:
    assert validations(captions)[-1]["valid_exact"] >= 90


def test_captions_from_the_command_line(captions: Path, here: Path, command: Command) -> None:
    table = here / "told" / "captions.tsv"
    found = command("caption", captions, here / "told" / "1.pgm", here / "told" / "2.pgm", "--json", "--beam", "1")
    assert found.code == 0, found.err
    words = [json.loads(line) for line in found.out.splitlines()]
    assert len(words) == 2
    assert "bar" in json.dumps(words)
    measured = command("evaluate", captions, table, "--json")
    assert measured.code == 0, measured.err


def test_the_attention_of_each_word_is_shown(captions: Path, here: Path, command: Command) -> None:
    found = command("explain", captions, here / "told" / "1.pgm")
    assert found.code == 0, found.err
    assert "The patches that each token reads" in found.out
    assert "█" in found.out
    page = (captions / "report.html").read_text()
    assert "What each word looks at" in page
    assert "data:image/png;base64" in page


@pytest.mark.usefixtures("captions")
def test_the_doctor_examines_both(here: Path, command: Command) -> None:
    found = command("doctor", "--task", "classify", *write_idx(here, count=60, seed=2, name="valid"), "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)["labels"].keys() == {"0", "1"}
    found = command("doctor", "--task", "caption", here / "told" / "captions.tsv")
    assert found.code == 0, found.err
    assert "300 images" in found.out
    assert "400 captions" in found.out


def test_a_caption_row_without_its_image_is_reported(tmp_path: Path, command: Command) -> None:
    write_captions(tmp_path, count=20)
    with (tmp_path / "captions.tsv").open("a") as table:
        table.write("absent.pgm\ta bar\n")
    found = command("doctor", "--task", "caption", tmp_path / "captions.tsv")
    assert found.code == 0, found.err
    assert "absent.pgm: no such file" in found.out


def test_scenes_have_names(captions: Path) -> None:
    with pytest.raises(DataError):
        gf.load(captions).caption("scenes:99999")
    assert isinstance(gf.load(captions).caption("scenes:0"), str)
