"""Adapters as `peft` reads them: names and values that give the merged model when they are added to the base."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import glassformer as gf
from glassformer.errors import RunError
from glassformer.hub.huggingface.adapted import Adapter, class_names, read_adapted, with_classes
from glassformer.hub.huggingface.fields import Fields
from glassformer.hub.huggingface.folders import read_folder
from glassformer.store.bundle import save_bundle
from glassformer.tasks.exporting import export_adapter, export_to_huggingface
from glassformer.tasks.loading import load_bundle
from glassformer.training import fine_tune
from toy_texts import settings, write_labelled, write_running, write_scored

MODELS = {"classify": {"kind": "bert"}, "similar": {"kind": "bert"}, "generate": {"kind": "gpt"}}
WRITERS = {"classify": write_labelled, "similar": write_scored, "generate": write_running}


@pytest.fixture(scope="module", params=MODELS)
def exported(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A folder with base, run, and both exported."""
    task, folder = request.param, tmp_path_factory.mktemp(request.param)
    files = WRITERS[task](folder / ("train.txt" if task == "generate" else "train.tsv"))
    sections = settings(MODELS[task], {"steps": 2, "valid_every": 2})
    gf.train(task=task, data={"files": str(files)}, out=folder / "base", **sections)
    train = {**sections["train"], "start_from": str(folder / "base"), "lora": 3, "old_share": 0.0, "best_by": "loss"}
    train |= {"lr": 0.01, "steps": 20, "valid_every": 10}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fine_tune, "MOST_UNKNOWN", 1.0)  # the years
        gf.train(task=task, data={"files": str(files)}, out=folder / "run", train=train)
    export_adapter(folder / "run", folder / "adapter")
    for name in ("base", "run"):
        export_to_huggingface(load_bundle(folder / name), folder / f"{name}-hf")
    return task, folder


def test_base_and_adapter_are_the_merged_model(exported: tuple[str, Path]) -> None:
    _, folder = exported
    config = json.loads((folder / "adapter" / "adapter_config.json").read_text())
    adapter = load_file(folder / "adapter" / "adapter_model.safetensors")
    base, merged = (load_file(folder / f"{name}-hf" / "model.safetensors") for name in ("base", "run"))
    assert any(not torch.equal(base[name], merged[name]) for name in base)
    for name, weight in base.items():
        module, place = name.removesuffix(".weight"), f"base_model.model.{name.removesuffix('.weight')}"
        if f"{place}.lora_A.weight" in adapter:
            a, b = (adapter[f"{place}.lora_{letter}.weight"] for letter in "AB")
            rank = config["rank_pattern"].get(module, config["r"])
            alpha = config["alpha_pattern"].get(module, config["lora_alpha"])
            assert len(a) == rank
            assert module in config["target_modules"]
            product = alpha / rank * (b @ a)
            expected = weight + (product.mT if config["fan_in_fan_out"] else product)
        else:
            expected = adapter.get(f"base_model.model.{name}", weight)
        torch.testing.assert_close(merged[name], expected, rtol=0, atol=1e-6)


def test_adapters_are_read_back_onto_their_base(exported: tuple[str, Path]) -> None:
    task, folder = exported
    bundle = read_adapted(folder / "adapter", folder / "base-hf")
    found = bundle.model.state_dict()
    merged = load_bundle(folder / "run-hf").model.state_dict()
    assert found.keys() == merged.keys()
    for name, weight in merged.items():
        torch.testing.assert_close(found[name], weight, rtol=0, atol=1e-6, msg=name)
    if task == "classify":
        assert bundle.extras["labels"] == load_bundle(folder / "run").extras["labels"]
        config = json.loads((folder / "base-hf" / "config.json").read_text())
        config["id2label"] = {number: f"other {number}" for number in config["id2label"]}
        nameless = Fields(config, origin="base")
        adapter = Adapter({}, {"classifier.weight": torch.zeros(len(config["id2label"]), 2)}, None)
        named = with_classes(nameless, adapter, class_names(folder / "adapter"))["id2label"]
        assert list(named.values()) == bundle.extras["labels"]


def test_the_command_line_imports_adapters(exported: tuple[str, Path], command: Callable[..., Any]) -> None:
    _, folder = exported
    done = command("import", folder / "adapter", "--out", folder / "alone")
    assert done.code == 2
    assert "do not name their base model" in done.err
    done = command("import", folder / "adapter", "--base", folder / "base-hf", "--out", folder / "imported")
    assert done.code == 0, done.err
    imported, run = (load_bundle(folder / name).model.state_dict() for name in ("imported", "run-hf"))
    assert all(torch.allclose(imported[name], run[name], atol=1e-6) for name in run)


def test_names_are_those_of_peft(exported: tuple[str, Path]) -> None:
    task, folder = exported
    config = json.loads((folder / "adapter" / "adapter_config.json").read_text())
    names = set(load_file(folder / "adapter" / "adapter_model.safetensors"))
    assert (config["peft_type"], config["r"], config["lora_alpha"]) == ("LORA", 3, 6.0)
    if task != "generate":
        assert config["task_type"] == "SEQ_CLS"
        assert "base_model.model.bert.encoder.layer.0.attention.self.query.lora_A.weight" in names
        assert "base_model.model.classifier.weight" in names
        assert "classifier" in config["modules_to_save"]
        assert not config["fan_in_fan_out"]
    else:
        assert config["task_type"] == "CAUSAL_LM"
        assert "base_model.model.transformer.h.0.attn.c_attn.lora_B.weight" in names
        assert config["rank_pattern"] == {"transformer.h.0.attn.c_attn": 9}
        assert config["alpha_pattern"] == {"transformer.h.0.attn.c_attn": 18.0}
        assert config["fan_in_fan_out"]


def test_a_base_that_peft_cannot_read_is_not_named(
    exported: tuple[str, Path], tmp_path: Path, command: Callable[..., Any]
) -> None:
    _, folder = exported
    config = json.loads((folder / "adapter" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] is None
    if exported[0] == "classify":
        done = command("export", folder / "run", "--to", "peft", "--out", tmp_path / "out")
        assert done.code == 0
        assert f"glassformer export {folder / 'base'} --to huggingface" in done.err


def test_a_run_without_adapters_is_refused(exported: tuple[str, Path], tmp_path: Path) -> None:
    save_bundle(read_folder(exported[1] / "base-hf"), tmp_path / "imported", about={})
    for path in (exported[1] / "base", tmp_path / "imported"):
        with pytest.raises(RunError, match=r"not a run that was fine-tuned with train.lora"):
            export_adapter(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
