"""`--from`: going on from the weights of another run, on other sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.errors import DataError, RunError, SettingsError
from glassformer.store.run import RunFolder
from glassformer.tasks.translation.recipe import read_recipe
from glassformer.tasks.translation.training import train_translator


def recipe(toy: Any, start: Path, **train: Any) -> dict[str, Any]:
    data = {"source": str(toy.source), "target": str(toy.target), "valid": [str(toy.source), str(toy.target)]}
    few = {"steps": 2, "batch_tokens": 150, "valid_sentences": 4, "threads": 1, "device": "cpu"}
    return {"data": data, "train": {**few, "start_from": str(start), **train}}


def test_it_starts_where_the_other_ended(toy: Any, trained: Path, tmp_path: Path) -> None:
    train_translator(recipe(toy, trained, steps=1, lr=1e-30), tmp_path / "run")
    old, new = RunFolder(trained).weights()[0], RunFolder(tmp_path / "run").weights()[0]
    assert old.keys() == new.keys()
    assert all(torch.allclose(old[name], new[name], atol=1e-7) for name in old)


def test_it_keeps_vocabulary_and_shape_and_is_gentler(toy: Any, trained: Path, tmp_path: Path) -> None:
    train_translator(recipe(toy, trained), tmp_path / "run")
    old, new = read_recipe(RunFolder(trained)), read_recipe(RunFolder(tmp_path / "run"))
    assert (new.model, new.text) == (old.model, old.text)
    assert new.train.lr == old.train.lr / 4
    tokenizer = "tokenizer.json"
    assert (tmp_path / "run" / tokenizer).read_bytes() == (trained / tokenizer).read_bytes()


def test_the_same_command_again_finds_it_finished(toy: Any, trained: Path, tmp_path: Path) -> None:
    given = recipe(toy, trained)
    train_translator(given, tmp_path / "run")
    assert train_translator(given, tmp_path / "run").stopped == "finished before"


def test_dropout_may_be_another(toy: Any, trained: Path, tmp_path: Path) -> None:
    train_translator({**recipe(toy, trained), "model": {"dropout": 0.3}}, tmp_path / "run")
    assert read_recipe(RunFolder(tmp_path / "run")).model.dropout == 0.3


def test_another_shape_or_vocabulary_is_refused_with_the_way_out(toy: Any, trained: Path, tmp_path: Path) -> None:
    given = {**recipe(toy, trained), "model": {"d": 32}, "text": {"vocab_size": 99}}
    with pytest.raises(
        SettingsError, match=r"text.vocab_size is 60 there, 99 here; model.d is 16 there, 32 here.*leave"
    ):
        train_translator(given, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_sentences_that_the_vocabulary_does_not_know_are_refused(toy: Any, trained: Path, tmp_path: Path) -> None:
    toy.source.write_text("".join(f"всё иначе {i}\n" for i in range(60)), encoding="utf-8")
    with pytest.raises(DataError, match=r"does not fit your source sentences: \d+% of their tokens are unknown.*anew"):
        train_translator(recipe(toy, trained), tmp_path / "run")


def test_a_folder_that_is_no_run_is_told(toy: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--from: .*nowhere does not exist"):
        train_translator(recipe(toy, tmp_path / "nowhere"), tmp_path / "run")


def test_a_damaged_start_is_refused(toy: Any, run_copy: Path, tmp_path: Path) -> None:
    path = run_copy / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(RunError, match="damaged"):
        train_translator(recipe(toy, run_copy), tmp_path / "run")


def test_other_weights_than_those_it_was_begun_with_are_refused(toy: Any, run_copy: Path, tmp_path: Path) -> None:
    """Stopped before its first checkpoint, the run would otherwise begin from somewhere else."""
    given, out = recipe(toy, run_copy), tmp_path / "run"
    train_translator(given, out)
    begun = RunFolder(out)
    (out / "model.safetensors").unlink()
    (out / "report.html").unlink()
    about = begun.about()
    begun.change(config=begun.config_text(), about=about)  # as it was when it had begun: without weights
    other = RunFolder(run_copy)
    other.finish({name: weight + 1 for name, weight in other.weights()[0].items()}, about={})
    with pytest.raises(RunError, match=r"the weights of .*copied-run have changed"):
        train_translator(given, out)
    assert train_translator(given, out, accept_changes=True).stopped
