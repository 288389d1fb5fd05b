"""Fine-tuning that trains few weights: adapters, frozen parts. The run ends as a plain model, and resumes exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from test_every_task import Killing, outcome

import glassformer as gf
from faults import Killed
from glassformer.errors import SettingsError
from glassformer.store.run import RunFolder
from glassformer.tasks.registry import task_named
from glassformer.training import fine_tune
from glassformer.training.reading import read_recipe
from tiny_tasks import TINY, Recipe, changed
from two_ranks import run_ranks, spec_of

LORA = {"lora": 2, "lora_dropout": 0.1, "ema": 0.8, "old_share": 0.0}
KINDS = ("translate", "generate", "classify", "fill")


@pytest.fixture(autouse=True)
def _years_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fine_tune, "MOST_UNKNOWN", 1.0)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A finished run of each task. Only to be read."""
    found = {}
    for task in KINDS:
        folder = tmp_path_factory.mktemp(task)
        gf.train(TINY[task](folder), out=folder / "base")
        found[task] = folder / "base"
    return found


def from_base(task: str, base: Path, train: dict[str, Any]) -> Recipe:
    recipe = changed(TINY[task](base.parent), {"train": {"start_from": str(base), **train}})
    return {name: section for name, section in recipe.items() if name not in ("text", "model")}


def weights(run: Path) -> dict[str, torch.Tensor]:
    return RunFolder(run).weights()[0]


@pytest.mark.parametrize("task", KINDS)
def test_adapters_are_learnt_merged_and_kept_and_a_killed_run_ends_with_the_same_bytes(
    task: str, bases: dict[str, Path], tmp_path: Path
) -> None:
    recipe, base = from_base(task, bases[task], {**LORA, "best_by": "loss", "lr": 0.02}), weights(bases[task])
    gf.train(recipe, out=tmp_path / "whole")
    for step in (2, 5):
        with pytest.raises(Killed):
            gf.train(recipe, out=tmp_path / "killed", watcher=Killing(step))
    gf.train(recipe, out=tmp_path / "killed")
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")
    run = RunFolder(tmp_path / "whole")
    merged, adapter = weights(run.path), run.adapter()
    assert merged.keys() == base.keys()  # a plain model
    scale = 2.0  # alpha is twice the rank
    for name in base:
        parts = sorted(one for one in adapter if one.startswith(f"{name.removesuffix('weight')}adapters."))
        if not parts:
            expected = adapter.get(name, base[name])  # a head, or frozen
        else:
            products = [adapter[f"{one[:-1]}b"] @ adapter[one] for one in parts if one.endswith(".a")]
            expected = base[name] + scale * torch.cat(products)
        torch.testing.assert_close(merged[name], expected, rtol=0, atol=1e-6)
    assert any(not torch.equal(merged[name], base[name]) for name in base)
    counts = run.about()["training"]
    assert counts["trained"] == sum(one.numel() for one in adapter.values()) < counts["weights"]


def test_adapters_start_as_the_model_that_they_are_put_on(bases: dict[str, Path], tmp_path: Path) -> None:
    gf.train(from_base("classify", bases["classify"], LORA), out=tmp_path / "run")
    first = next(record for record in RunFolder(tmp_path / "run").metrics() if "valid_loss" in record)
    last = [record for record in RunFolder(bases["classify"]).metrics() if record.get("best")][-1]
    assert first["step"] == 0
    assert first["valid_loss"] == pytest.approx(last["valid_loss"], rel=1e-5)


def test_what_is_frozen_keeps_its_bytes(bases: dict[str, Path], tmp_path: Path) -> None:
    given = {"freeze": "inputs", "layer_decay": 0.5, "old_share": 0.0, "best_by": "accuracy", "lr": 0.05}
    gf.train(from_base("classify", bases["classify"], given), out=tmp_path / "run")
    before, after = weights(bases["classify"]), weights(tmp_path / "run")
    for name, weight in before.items():
        assert torch.equal(after[name], weight) == name.startswith(
            ("inputs.", "word_odds.")
        )  # the latter are counted, not trained


def test_a_wrong_name_is_refused_before_anything_is_written(bases: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Did you mean inputs"):
        gf.train(from_base("classify", bases["classify"], {"freeze": "input"}), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_adapters_learn_at_a_higher_rate_than_the_whole_model(bases: dict[str, Path], tmp_path: Path) -> None:
    rates = []
    for name, more in (("whole", {}), ("lora", {"lora": 2})):
        recipe = from_base("classify", bases["classify"], {**more, "steps": 1, "old_share": 0.0})
        del recipe["train"]["lr"]
        gf.train(recipe, out=tmp_path / name)
        rates.append(read_recipe(task_named("classify"), RunFolder(tmp_path / name)).train.lr)
    assert rates[1] == pytest.approx(10 * rates[0])


def test_two_ranks_train_adapters_as_one_process(bases: dict[str, Path], tmp_path: Path) -> None:
    recipe = from_base("translate", bases["translate"], {"lora": 2, "old_share": 0.0, "best_by": "loss", "lr": 0.01})
    recipe["model"] = {"dropout": 0.0}
    ended = run_ranks("train", spec_of(recipe, tmp_path), tmp_path)
    assert ended.codes == [0, 0], ended.err
    gf.train(changed(recipe, {"train": {"accumulate": 2}}), out=tmp_path / "alone")
    together, alone = (RunFolder(tmp_path / name).adapter() for name in ("run", "alone"))
    assert together.keys() == alone.keys()
    for name, weight in alone.items():
        torch.testing.assert_close(together[name], weight, rtol=0, atol=2e-5)
