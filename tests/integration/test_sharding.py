"""A sharded training on two ranks: the weights of an ordinary one, and checkpoints that any number of ranks resumes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from test_every_task import records

import glassformer as gf
from glassformer.store.run import RunFolder
from tiny_tasks import changed, plain
from two_ranks import run_ranks, spec_of

TASKS = ("translate", "generate", "classify")
LESS = {"train": {"steps": 6, "valid_every": 3}}


def weights(run: Path) -> dict[str, torch.Tensor]:
    return RunFolder(run).weights()[0]


def assert_close(one: Path, other: Path, *, atol: float = 2e-5) -> None:
    ours, theirs = weights(one), weights(other)
    assert ours.keys() == theirs.keys()
    for name, weight in theirs.items():
        # A bias of keys has no effect: its gradient is rounding noise, which AdamW makes as large as any other.
        parts = {"qkv.bias": 3, "key_value.bias": 2}.get(".".join(name.split(".")[-2:]), 0)
        keys = {3: slice(len(weight) // 3, 2 * len(weight) // 3), 2: slice(0, len(weight) // 2)}.get(parts)
        ours[name][keys or slice(0)] = weight[keys or slice(0)] = 0.0
        torch.testing.assert_close(ours[name], weight, rtol=0, atol=atol)


@pytest.mark.parametrize("task", TASKS)
def test_sharded_ranks_learn_what_one_process_learns(task: str, tmp_path: Path) -> None:
    recipe = changed(plain(task, tmp_path), LESS)
    given = {"train": {"shard": True, "recompute": task != "classify"}}
    ended = run_ranks("train", spec_of(changed(recipe, given), tmp_path), tmp_path)
    assert ended.codes == [0, 0], ended.err
    gf.train(changed(recipe, {"train": {"accumulate": 2}}), out=tmp_path / "alone")
    assert_close(tmp_path / "run", tmp_path / "alone")
    ours, theirs = (records(tmp_path / name) for name in ("run", "alone"))
    assert [record["train_loss"] for record in ours if "train_loss" in record] == pytest.approx(
        [record["train_loss"] for record in theirs if "train_loss" in record], rel=1e-4
    )


def test_a_killed_sharded_run_ends_with_the_same_bytes_and_one_process_can_go_on(tmp_path: Path) -> None:
    recipe = changed(plain("classify", tmp_path), {"train": {**LESS["train"], "shard": True}})
    spec: dict[str, Any] = spec_of(recipe, tmp_path)
    (tmp_path / "whole").mkdir()
    whole = run_ranks("train", spec_of(recipe, tmp_path / "whole"), tmp_path / "whole")
    assert whole.codes == [0, 0], whole.err
    killed = run_ranks("train", {**spec, "strike": [1, 4, signal.SIGKILL]}, tmp_path)
    assert 0 not in killed.codes
    kept = RunFolder(tmp_path / "run").checkpoints.read(3)
    assert kept.weights.keys() == weights(tmp_path / "whole" / "run").keys()  # whole tensors, as always
    again = run_ranks("train", spec, tmp_path)
    assert again.codes == [0, 0], again.err
    assert_close(tmp_path / "run", tmp_path / "whole" / "run", atol=0)


def test_one_process_goes_on_where_sharded_ranks_stopped(tmp_path: Path) -> None:
    recipe = changed(plain("classify", tmp_path), {"train": {**LESS["train"], "shard": True}})
    run_ranks("train", {**spec_of(recipe, tmp_path), "strike": [0, 3, signal.SIGTERM]}, tmp_path)
    run = RunFolder(tmp_path / "run")
    assert run.steps
    assert not run.finished
    one = changed(recipe, {"train": {"shard": False, "accumulate": 2}})
    gf.train(one, out=run.path, accept_changes=True)
    (noted,) = run.about()["continued"]
    assert "train.ranks was 2, now 1" in noted["changes"]
    gf.train(one, out=tmp_path / "alone")
    assert_close(run.path, tmp_path / "alone")


@pytest.mark.parametrize(
    ("given", "why"),
    [({"optimiser": "muon"}, "whole matrices"), ({"ema": 0.9}, "averages"), ({"budget": "1m"}, "steps")],
)
def test_what_cannot_be_sharded_is_refused(given: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(gf.GlassformerError, match=f"shard = true: .*{why}"):
        gf.train(changed(plain("classify", tmp_path), {"train": {"shard": True, **given}}), out=tmp_path / "run")
