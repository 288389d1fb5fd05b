"""What the engine promises for every task: exact resume, and two ranks that train as one process."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from faults import Killed
from glassformer.store.run import RunFolder
from glassformer.tasks.registry import TASKS
from glassformer.training.watching import Silent
from tiny_tasks import RECURRENT, TINY, changed, plain
from two_ranks import run_ranks, spec_of

CLOCKS = {"seconds", "validation_seconds", "elapsed_seconds", "tokens_per_second"}


class Killing(Silent):
    """Ends the training after a step, as a crash would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, progress: Any, report: Any, seconds: float) -> None:  # noqa: ARG002
        if progress.step == self.step:
            raise Killed


def records(run: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in record.items() if key not in CLOCKS} for record in found]


def outcome(run: Path) -> dict[str, Any]:
    weights = hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()
    return {"weights": weights, "records": records(run), "config": (run / "config.toml").read_text()}


def test_every_task_has_a_tiny_recipe() -> None:
    assert sorted(TINY) == sorted(TASKS)


@pytest.mark.parametrize("task", TINY | RECURRENT)
def test_killed_between_validations_it_ends_with_the_same_bytes(task: str, tmp_path: Path) -> None:
    recipe = (TINY | RECURRENT)[task](tmp_path)
    gf.train(recipe, out=tmp_path / "whole")
    for step in (2, 5, 8):  # 2: before the first checkpoint
        with pytest.raises(Killed):
            gf.train(recipe, out=tmp_path / "killed", watcher=Killing(step))
    gf.train(recipe, out=tmp_path / "killed")
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")


@pytest.mark.parametrize("task", TINY | RECURRENT)
def test_two_ranks_train_as_one_process_with_twice_the_batches(task: str, tmp_path: Path) -> None:
    recipe = plain(task, tmp_path)
    ended = run_ranks("train", spec_of(recipe, tmp_path), tmp_path)
    assert ended.codes == [0, 0], ended.err
    gf.train(changed(recipe, {"train": {"accumulate": 2}}), out=tmp_path / "alone")
    together, alone = (RunFolder(tmp_path / name).weights()[0] for name in ("run", "alone"))
    assert together.keys() == alone.keys()
    for name, weight in alone.items():
        torch.testing.assert_close(together[name], weight, rtol=0, atol=2e-5)
    ours, theirs = (records(tmp_path / name)[-1] for name in ("run", "alone"))
    assert ours["measured"] == pytest.approx(theirs["measured"], rel=1e-3)
