"""A run within a time budget that was killed: its recorded changes are repeated, and it ends with the same bytes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_loop import Listener, make_job

from faults import Killed
from glassformer.errors import RunError
from glassformer.store import files
from glassformer.store.run import PLAN, RunFolder
from glassformer.training.job import Job, Progress
from glassformer.training.loop import train_loop
from glassformer.training.timekeeper import TimeLimit

BUDGET = 60.0


class Machine(Listener):
    """A clock that only steps and validations move; two threads are worse than one while it is busy."""

    def __init__(self, speed: Callable[[float], float], at_step: Callable[[int], None] = lambda _: None) -> None:
        super().__init__(at_step)
        self.now, self.speed = 5.0, speed
        self.threads: list[int] = []

    def pass_time(self, seconds: float) -> None:
        self.now += seconds / self.speed(self.now)

    def on_step(self, progress: Progress, report: Any, seconds: float) -> None:
        threads = torch.get_num_threads()
        self.threads.append(threads)
        self.pass_time(0.5 if threads == 1 else 0.35 if self.speed(self.now) >= 1 else 2.0)
        super().on_step(progress, report, seconds)

    def validate(self) -> dict[str, Any]:
        self.pass_time(1.0)
        return {"bleu": 1.0}


def busy_in_the_middle(now: float) -> float:
    return 0.5 if 20 < now < 40 else 1.0


def job_of(path: Path, machine: Machine) -> Job:
    limit = TimeLimit(BUDGET, lambda: machine.now, 0.4, 1.0, 2.0, threads=(1, 2))
    job = make_job(path, [], machine, steps=90, valid_every=18, ema=0.9, optimiser="muon", threads=1)
    return replace(job, limit=limit, validate=machine.validate)


def digest(run: RunFolder) -> str:
    """Of weights and optimiser at the last step, and of what was measured on the way."""
    last = run.checkpoints.read(run.steps[-1])
    clocks = ("seconds", "validation_seconds", "elapsed_seconds", "tokens_per_second")
    told = [{name: value for name, value in row.items() if name not in clocks} for row in run.metrics()]
    parts = [files.pack_tensors(last.weights), files.pack_tensors(last.optimiser), json.dumps(told).encode()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def changes(path: Path) -> list[dict[str, Any]]:
    return RunFolder(path).plan_changes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Progress, Machine]:
    """A run that was never stopped, on a machine that was busy for a while."""
    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("runs") / "whole"
    machine = Machine(busy_in_the_middle)
    return path, train_loop(job_of(path, machine)), machine


def kill_at(step: int) -> Callable[[int], None]:
    def at_step(now: int) -> None:
        if now == step:
            raise Killed

    return at_step


def test_the_budget_is_used_and_every_change_is_recorded(whole: tuple[Path, Progress, Machine]) -> None:
    path, progress, machine = whole
    assert progress.stopped == "the time is used"
    assert machine.now + 2.0 == pytest.approx(BUDGET, rel=0.05)
    found = changes(path)
    assert len(found) > 5
    assert set(machine.threads) == {1, 2}
    assert {change["threads"] for change in found} == {1, 2}
    assert found[-1]["step"] == found[-1]["steps"] == progress.step == progress.steps
    assert progress.used == pytest.approx(machine.now)
    rates = [row["lr"] for row in RunFolder(path).metrics() if "lr" in row]
    assert rates[-1] < 0.02 * max(rates)


@pytest.mark.parametrize("step", [1, 20, 33, 47, 70])
def test_killed_and_gone_on_with_the_same_records_it_ends_with_the_same_bytes(
    whole: tuple[Path, Progress, Machine], tmp_path: Path, step: int
) -> None:
    path, progress, machine = whole
    with pytest.raises(Killed):
        train_loop(job_of(tmp_path / "run", Machine(busy_in_the_middle, kill_at(step))))
    torch.set_num_threads(1)
    assert [c for c in changes(path) if c["step"] < step] == changes(tmp_path / "run")
    shutil.copy(path / PLAN, tmp_path / "run" / PLAN)
    other = Machine(lambda _: 0.01)  # a clock that would end it at once
    again = train_loop(job_of(tmp_path / "run", other))
    assert again.step == progress.step
    assert other.threads == machine.threads[-len(other.threads) :]
    assert digest(RunFolder(tmp_path / "run")) == digest(RunFolder(path))
    assert changes(tmp_path / "run") == changes(path)


def test_what_a_resumed_run_decides_is_recorded_as_well(tmp_path: Path) -> None:
    """Killed twice, on machines of other speeds; a run from step 1 by the records of them all is the same run."""
    for step, speed in ((25, 1.0), (40, 0.9)):
        with pytest.raises(Killed):
            train_loop(job_of(tmp_path / "run", Machine(lambda _, speed=speed: speed, kill_at(step))))
        torch.set_num_threads(1)
    train_loop(job_of(tmp_path / "run", Machine(lambda _: 1.3)))
    (tmp_path / "again").mkdir()
    shutil.copy(tmp_path / "run" / PLAN, tmp_path / "again" / PLAN)
    torch.set_num_threads(1)
    train_loop(job_of(tmp_path / "again", Machine(lambda _: 3.0)))
    assert digest(RunFolder(tmp_path / "again")) == digest(RunFolder(tmp_path / "run"))


def test_time_used_before_counts_when_it_is_resumed(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        train_loop(job_of(tmp_path / "run", Machine(lambda _: 1.0, kill_at(60))))
    run = RunFolder(tmp_path / "run")
    used = run.checkpoints.state(run.steps[-1])["used"]
    assert used > 15
    machine = Machine(lambda _: 1.0)
    train_loop(job_of(tmp_path / "run", machine))
    assert used + machine.now + 2.0 == pytest.approx(BUDGET, rel=0.05)


def test_a_record_that_was_cut_short_had_not_taken_effect(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.record_change({"step": 1, "steps": 9, "threads": 1})
    with (tmp_path / PLAN).open("ab") as file:
        file.write(b'{"step": 2, "ste')
    assert run.plan_changes() == [{"step": 1, "steps": 9, "threads": 1}]
    run.record_change({"step": 3, "steps": 8, "threads": 1})
    assert [change["step"] for change in run.plan_changes()] == [1, 3]


def test_lost_records_are_an_error(whole: tuple[Path, Progress, Machine], tmp_path: Path) -> None:
    shutil.copytree(whole[0], tmp_path / "run")
    (tmp_path / "run" / PLAN).unlink()
    with pytest.raises(RunError, match=r"plan\.jsonl has 0 changes of plan up to step"):
        train_loop(job_of(tmp_path / "run", Machine(lambda _: 1.0)))


def test_a_run_resumed_with_steps_instead_of_a_time_makes_these_steps(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        train_loop(job_of(tmp_path / "run", Machine(lambda _: 1.0, kill_at(40))))
    machine = Machine(lambda _: 1.0)
    progress = train_loop(replace(job_of(tmp_path / "run", machine), limit=None))
    assert (progress.step, progress.stopped) == (90, "all steps done")


@pytest.mark.parametrize("step", [8, 47])
def test_steps_instead_of_a_time_hold_for_later_sessions_too(tmp_path: Path, step: int) -> None:
    """Killed (at step 8 before the first checkpoint) with changes recorded for later steps, which do not happen now."""

    def job(name: str, machine: Machine) -> Job:
        return replace(job_of(tmp_path / name, machine), limit=None)

    with pytest.raises(Killed):
        train_loop(job_of(tmp_path / "whole", Machine(busy_in_the_middle, kill_at(step))))
    run = RunFolder(tmp_path / "whole")
    assert changes(run.path)[-1]["step"] > (run.steps[-1] if run.steps else 0)
    torch.set_num_threads(1)
    shutil.copytree(run.path, tmp_path / "halves")
    train_loop(job("whole", Machine(lambda _: 1.0)))
    torch.set_num_threads(1)
    with pytest.raises(Killed):
        train_loop(job("halves", Machine(lambda _: 1.0, kill_at(75))))
    torch.set_num_threads(1)
    progress = train_loop(job("halves", Machine(lambda _: 1.0)))
    assert progress.step == 90
    assert digest(RunFolder(tmp_path / "halves")) == digest(run)
    assert [c["step"] for c in changes(run.path)] == sorted(c["step"] for c in changes(run.path))


def test_a_line_that_is_not_a_change_is_an_error(tmp_path: Path) -> None:
    (tmp_path / PLAN).write_text("5\n")
    with pytest.raises(RunError, match=r"plan\.jsonl has a line that is not a change of plan: 5"):
        train_loop(job_of(tmp_path, Machine(lambda _: 1.0)))
