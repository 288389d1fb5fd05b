"""Resuming with other settings, sentences, code or machine: refused with the difference, or accepted and noted."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from test_resume import STEPS, Watching, contents, interrupt, interrupting

import glassformer as gf
from glassformer.errors import RunError
from glassformer.store.run import RunFolder
from glassformer.training import resume


@pytest.fixture(scope="module")
def recipe(shared_toy: Any) -> dict[str, Any]:
    recipe: dict[str, Any] = shared_toy.recipe(**STEPS)
    return recipe


@pytest.fixture(scope="module")
def stopped(recipe: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped after 4 of 9 updates. Only to be read."""
    folder = tmp_path_factory.mktemp("runs") / "stopped"
    gf.train_translator(recipe, folder, watcher=interrupting(4, interrupt))
    return folder


@pytest.fixture
def halted(stopped: Path, tmp_path: Path) -> Path:
    return shutil.copytree(stopped, tmp_path / "halted")


@pytest.mark.parametrize(
    ("section", "name", "value", "told"),
    [
        ("train", "lr", 0.5, "train.lr was 0.01, now 0.5"),
        ("train", "seed", 7, "train.seed was 1, now 7"),
        ("train", "threads", 2, "train.threads was 1, now 2"),
        ("model", "dropout", 0.2, "model.dropout was 0.1, now 0.2"),
        ("text", "kind", "char", "text.kind was 'word', now 'char'"),
        ("data", "max_tokens", 99, "data.max_tokens was 200, now 99"),
        ("decode", "beam", 3, "decode.beam was 2, now 3"),
    ],
)
def test_resuming_with_another_setting_is_refused_by_its_name(
    recipe: dict[str, Any], halted: Path, section: str, name: str, value: object, told: str
) -> None:
    before = contents(halted)
    with pytest.raises(RunError, match="was started with different settings") as caught:
        gf.train_translator({**recipe, section: {**recipe[section], name: value}}, halted)
    assert told in str(caught.value)
    assert contents(halted) == before


def test_one_vocabulary_instead_of_two_is_refused_before_a_model_is_made(toy: Any, tmp_path: Path) -> None:
    apart = toy.recipe(text={"shared": False}, **STEPS)
    gf.train_translator(apart, tmp_path / "run", watcher=interrupting(4, interrupt))
    with pytest.raises(RunError, match=r"text\.shared was False, now True; model\.tied was 'output', now 'all'"):
        gf.train_translator(toy.recipe(**STEPS), tmp_path / "run")


SURROUNDINGS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "torch was .*, now 9.9": lambda patch: patch.setattr(torch, "__version__", "9.9"),
    "glassformer was .*, now 9.9": lambda patch: patch.setattr(resume, "__version__", "9.9"),
    "the processor was .*, now .* NONE": lambda patch: patch.setattr(
        torch.backends.cpu, "get_cpu_capability", lambda: "NONE"
    ),
}


@pytest.mark.parametrize("told", SURROUNDINGS)
def test_another_code_or_machine_is_refused_unless_accepted(
    recipe: dict[str, Any], halted: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    SURROUNDINGS[told](monkeypatch)
    before = contents(halted)
    with pytest.raises(RunError, match=f"was started with different settings: {told}.*--accept-changes"):
        gf.train_translator(recipe, halted)
    assert contents(halted) == before
    watcher = Watching()
    assert gf.train_translator(recipe, halted, watcher=watcher, accept_changes=True).stopped == "all steps done"
    assert watcher.resumed_at == 4
    noted = RunFolder(halted).about()["continued"]
    assert [entry["step"] for entry in noted] == [4]
    assert re.fullmatch(told, noted[0]["changes"][0])


def test_accepted_settings_become_the_runs_and_are_asked_about_only_once(recipe: dict[str, Any], halted: Path) -> None:
    changed = {**recipe, "train": {**recipe["train"], "lr": 0.5, "clip": 0.5, "steps": 7}}
    first = Watching(lambda step: interrupt() if step == 5 else None)
    gf.train_translator(changed, halted, watcher=first, accept_changes=True)
    assert any("Resuming from step 4 with changes: train.steps was 9, now 7" in text for text in first.stages)
    assert gf.load(halted).recipe.train.lr == 0.5
    with pytest.raises(RunError, match=r"train\.lr was 0\.5, now 0\.01"):
        gf.train_translator(recipe, halted)
    progress = gf.train_translator(changed, halted)  # no need to accept it again
    assert progress.step == 7
    noted = RunFolder(halted).about()["continued"]
    assert noted == [
        {
            "step": 4,
            "changes": ["train.steps was 9, now 7", "train.lr was 0.01, now 0.5", "train.clip was 1.0, now 0.5"],
        }
    ]
    assert "Changed at step 4" in (halted / "report.html").read_text()


def test_what_the_weights_are_made_of_cannot_be_accepted(recipe: dict[str, Any], halted: Path) -> None:
    before = contents(halted)
    changed = {**recipe, "model": {**recipe["model"], "d": 32}, "train": {**recipe["train"], "lr": 0.5}}
    with pytest.raises(RunError, match=r"cannot be changed in a run .*: model\.d was 16, now 32\. Undo these"):
        gf.train_translator(changed, halted, accept_changes=True)
    with pytest.raises(RunError, match=r"model\.d was 16") as caught:
        gf.train_translator(changed, halted)
    assert "--accept-changes" not in str(caught.value)
    assert contents(halted) == before


def test_a_budget_is_spent_once(recipe: dict[str, Any], halted: Path) -> None:
    changed = {**recipe, "train": {**recipe["train"], "budget": "1h"}}
    with pytest.raises(RunError, match=r"cannot be changed in a run that has begun: train\.budget was None, now '1h'"):
        gf.train_translator(changed, halted, accept_changes=True)


def test_saving_more_often_is_not_a_change(recipe: dict[str, Any], halted: Path) -> None:
    often = {**recipe, "train": {**recipe["train"], "save_minutes": 1e-9}}
    assert gf.train_translator(often, halted).stopped == "all steps done"


def test_other_sentences_can_be_accepted_and_other_held_out_ones_start_the_choice_again(
    toy: Any, tmp_path: Path
) -> None:
    recipe, out = toy.recipe(**STEPS), tmp_path / "run"
    gf.train_translator(recipe, out, watcher=interrupting(4, interrupt))
    toy.source.write_text(toy.source.read_text().replace("dog", "cow"))
    scores: list[Any] = []
    watcher = Watching()
    watcher.on_validation = scores.append  # type: ignore[method-assign]
    progress = gf.train_translator(recipe, out, watcher=watcher, accept_changes=True)
    assert progress.stopped == "all steps done"
    assert scores[0]["best"]  # whatever it is: the scores before do not compare with it
    assert "the validation data has changed" in RunFolder(out).about()["continued"][0]["changes"]


def test_a_finished_run_has_nothing_to_resume(recipe: dict[str, Any], halted: Path) -> None:
    gf.train_translator(recipe, halted)
    changed = {**recipe, "train": {**recipe["train"], "lr": 0.5}}
    with pytest.raises(RunError, match=r"train\.lr was 0\.01, now 0\.5") as caught:
        gf.train_translator(changed, halted, accept_changes=True)
    assert "--accept-changes" not in str(caught.value)


def test_several_changes_are_reported_together(recipe: dict[str, Any], halted: Path) -> None:
    changed = {"model": {**recipe["model"], "dropout": 0.3}, "train": {**recipe["train"], "lr": 1.0}}
    with pytest.raises(RunError, match=r"model\.dropout was .*; train\.lr was "):
        gf.train_translator({**recipe, **changed}, halted)


@pytest.mark.parametrize(("side", "part"), [("source", "training"), ("target", "validation")])
def test_resuming_with_other_sentences_is_refused(toy: Any, tmp_path: Path, side: str, part: str) -> None:
    recipe, halted = toy.recipe(**STEPS), tmp_path / "halted"
    gf.train_translator(recipe, halted, watcher=interrupting(4, interrupt))
    before = contents(halted)
    path: Path = getattr(toy, side)
    path.write_text(path.read_text().replace("dog", "cow").replace("Hund", "Kuh"))
    with pytest.raises(RunError, match=rf"started with different settings: .*the {part} data has changed"):
        gf.train_translator(recipe, halted)
    assert contents(halted) == before
