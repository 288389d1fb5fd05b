"""Whatever goes wrong at whichever effect of a save: what was saved before loads, and going on gives the same bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_loop import make_job, metrics

from faults import DEATH, DEATH_WITHIN, FULL, PARTLY, Killed, breaking_disk
from glassformer.errors import RunError
from glassformer.store.run import RunFolder
from glassformer.training.job import Job
from glassformer.training.loop import train_loop


def job_at(path: Path) -> Job:
    """Four updates, each measured and saved; the scores are a function of the weights, like real ones."""
    job = make_job(path, [], steps=4, valid_every=1, optimiser="muon", ema=0.9)

    def validate() -> dict[str, float]:
        return {"bleu": float(next(job.model.parameters()).detach().double().sum() * 1e6 % 7)}

    return replace(job, validate=validate)


def last_checkpoint(run: RunFolder) -> dict[str, bytes]:
    folder = run.checkpoints.folder(run.steps[-1])
    return {name: (folder / name).read_bytes() for name in ("model.safetensors", "optimiser.safetensors")}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The training that nothing befell."""
    job = job_at(tmp_path_factory.mktemp("straight"))
    train_loop(job)
    return job.run


@pytest.fixture(scope="module")
def effects(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path]]:
    """Every effect on the disk of the whole training, in order."""
    with breaking_disk() as counted:
        train_loop(job_at(tmp_path_factory.mktemp("counted")))
    return counted.done


def test_saves_write_flush_rename_and_remove(effects: list[tuple[str, Path]]) -> None:
    names = [name for name, _ in effects]
    assert {"make_folder", "write", "append", "flush", "rename", "remove_tree"} <= set(names)
    assert len(names) > 40


@pytest.mark.parametrize("how", [FULL, DEATH, DEATH_WITHIN])
def test_whatever_breaks_going_on_gives_the_same_bytes(
    tmp_path: Path, straight: RunFolder, effects: list[tuple[str, Path]], how: str
) -> None:
    for at in range(1, len(effects) + 1):
        if how == DEATH and effects[at - 2][0] not in PARTLY:
            continue  # the same as death in the middle of the effect before
        path = tmp_path / str(at)
        with breaking_disk(at, how), pytest.raises(RunError if how == FULL else Killed) as caught:
            train_loop(job_at(path))
        run = RunFolder(path)
        if how == FULL:
            assert "\n" not in str(caught.value)
            assert not list(path.rglob(".*.tmp")) or effects[at - 1][0] in ("rename", "remove_tree")
        for step in run.steps:
            run.checkpoints.read(step)  # whatever has its name is whole
        run.sweep()  # as the lock does
        train_loop(job_at(path))
        assert last_checkpoint(run) == last_checkpoint(straight), effects[at - 1]
        assert metrics(run) == metrics(straight), effects[at - 1]
        assert set(straight.steps) <= set(run.steps)
