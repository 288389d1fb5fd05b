"""One function loads any folder: runs of this and older versions, imported models, and what is no model."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

import encoder_models
import glassformer as gf
import import_seeds as seeds
from glassformer.errors import ExportError, GlassformerError, ModelError, RunError
from glassformer.models.registry import MODELS
from glassformer.store import files
from glassformer.store.bundle import save_bundle
from glassformer.store.run import CONFIG
from glassformer.tasks import translation
from glassformer.tasks.loading import USERS, load, load_bundle, named
from glassformer.tasks.model import LoadedModel


def with_config(folder: Path, copy: Path, change: str) -> Path:
    """A copy whose config.toml begins with `change`, or has lost what `change` matches after a minus sign."""
    shutil.copytree(folder, copy)
    text = (copy / CONFIG).read_text()
    text = re.sub(change[1:], "", text) if change.startswith("-") else f"{change}\n{text}"
    content = {
        path.name: path.read_bytes() for path in copy.iterdir() if path.name in files.read_manifest(copy)["files"]
    }
    content[CONFIG] = text.encode()
    (copy / CONFIG).write_text(text)
    (copy / files.MANIFEST).write_bytes(files.manifest_of(content, about={}))
    return copy


def test_each_kind_of_model_has_a_class_that_uses_it() -> None:
    assert USERS.keys() == MODELS.keys()
    assert all(issubclass(named(place), LoadedModel) for place in USERS.values())


def test_a_run_says_what_its_model_is(trained: Path) -> None:
    assert tomllib.loads((trained / CONFIG).read_text())["model"]["kind"] == "transformer"


@pytest.mark.parametrize("change", [r'-kind = "transformer"\n', r'-task = "translate"\n'])
def test_a_run_of_an_older_version_is_a_translator(trained: Path, tmp_path: Path, change: str) -> None:
    old = load(with_config(trained, tmp_path / "old", change))
    assert isinstance(old, gf.Translator)
    assert old.translate("the dog eats bread.") == load(trained).translate("the dog eats bread.")


def test_an_imported_model_of_an_older_version_names_its_kind_at_the_top(tmp_path: Path) -> None:
    save_bundle(seeds.decoder("gpt"), tmp_path / "new")
    without = with_config(tmp_path / "new", tmp_path / "without", r'-kind = "gpt"\n')
    with pytest.raises(RunError, match=r"config.toml: \[model\] names no kind. Known: transformer, bert"):
        load(without)
    old = with_config(without, tmp_path / "old", 'kind = "gpt"')
    assert isinstance(load(old), gf.LanguageModel)


def test_a_kind_or_task_of_a_newer_version_is_named(trained: Path, tmp_path: Path) -> None:
    save_bundle(seeds.decoder("gpt"), tmp_path / "new")
    with pytest.raises(RunError, match=r"kind = 'mamba'. Known: transformer, .* Update glassformer"):
        load(with_config(tmp_path / "new", tmp_path / "kind", 'kind = "mamba"'))
    untold = with_config(trained, tmp_path / "untold", r'-task = "translate"\n')
    with pytest.raises(RunError, match=r"task = 'sing'. Known: translate.* Update glassformer"):
        load(with_config(untold, tmp_path / "task", 'task = "sing"'))


def test_a_model_may_be_used_as_another_class(trained: Path, tmp_path: Path) -> None:
    save_bundle(seeds.decoder("gpt"), tmp_path / "gpt")
    assert type(load(tmp_path / "gpt")) is gf.LanguageModel
    assert load(tmp_path / "gpt", kind=gf.TextEncoder).embed("the").shape == (12,)
    assert type(load(tmp_path / "gpt", kind=LoadedModel)) is gf.LanguageModel
    assert isinstance(load(trained, kind=gf.LanguageModel).generate("the dog eats bread.", max_new=3), str)
    with pytest.raises(ModelError, match=r"A gpt model cannot translate\. Models that can: translators"):
        load(tmp_path / "gpt", kind=gf.Translator)


def test_an_imported_translator_is_a_bundle_like_any_other(tmp_path: Path) -> None:
    seeds.marian(tmp_path / "theirs")
    save_bundle(load_bundle(tmp_path / "theirs"), tmp_path / "ours")
    settings = tomllib.loads((tmp_path / "ours" / CONFIG).read_text())
    assert settings.keys() == {"model", "marks", "extras"}
    assert settings["model"]["kind"] == "transformer"
    both = [load(tmp_path / name) for name in ("theirs", "ours")]
    assert all(isinstance(one, gf.Translator) for one in both)
    assert both[0].recipe == both[1].recipe == translation.load(tmp_path / "ours").recipe
    assert both[0].translate("the cat sat.") == both[1].translate("the cat sat.")


def test_what_is_no_model(tmp_path: Path, trained: Path) -> None:
    for path, reason in {
        tmp_path / "none": r"none: no such folder. Train a model first \(glassformer train --task TASK",
        tmp_path: "is not a model: it has neither config.toml",
        trained / "model.safetensors": f"is a file in a model folder. Give the folder: {trained}",
    }.items():
        for opened in (load, load_bundle):
            with pytest.raises(RunError, match=reason) as caught:
                opened(path)
            assert "\n" not in str(caught.value)


def test_an_exported_folder_says_what_it_is_good_for(tmp_path: Path) -> None:
    for name in ("exported.json", "config.json"):  # CTranslate2's own config names no type of model
        (tmp_path / name).write_text("{}")
    for opened in (translation.load, load_bundle, load):
        with pytest.raises(ExportError, match="exported for CTranslate2, which can only translate: glassformer transl"):
            opened(tmp_path)


@pytest.mark.parametrize("name", ["manifest.json", "tokenizer.json"])
def test_a_pipe_in_an_imported_model_is_refused(tmp_path: Path, name: str) -> None:
    save_bundle(encoder_models.bert(), tmp_path / "model")
    (tmp_path / "model" / name).unlink()
    os.mkfifo(tmp_path / "model" / name)
    with pytest.raises(GlassformerError, match="is a pipe, not a regular file"):
        gf.load(tmp_path / "model")
