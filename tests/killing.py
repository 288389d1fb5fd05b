"""Real kills: a training in a process of its own, killed with SIGKILL at any moment and started again.

`python tests/killing.py train ...` is `glassformer train ...` that says "ready" on stdout once all is imported, and
that keeps the last optimiser beside the run, so that it can be compared when the checkpoints are gone.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO, Any

from forking import Forked
from short_forecasts import shorten_forecasts

CLOCKS = {"seconds", "validation_seconds", "elapsed_seconds", "tokens_per_second"}
MOST_KILLS = 12  # of one run; then it may end in peace
PYTHON = [sys.executable, __file__]
TWO_RANKS = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", __file__]
READY, PLAN = "ready", "Estimate: "  # said on stdout once all is imported, on stderr before the first step


@dataclass(frozen=True)
class Moment:
    """So many seconds after it has said something, or after its start."""

    after: str
    seconds: float


@dataclass(frozen=True)
class Training:
    """A training that can be started again and again with the same command."""

    arguments: Sequence[str]  # of `glassformer`, with its --out
    out: Path
    launcher: Sequence[str] = ()  # for instance torchrun; without one it is forked, which is much cheaper

    def start(self) -> subprocess.Popen[str] | Forked:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
        if not self.launcher:
            return Forked([__file__, *self.arguments], environment)
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*self.launcher, *self.arguments], env=environment, **pipes)

    def run_to_its_end(self) -> float:
        """Seconds from the plan to the end."""
        process = self.start()
        wait_for(READY, process.stdout)
        wait_for(PLAN, process.stderr)
        began = time.monotonic()
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
        return time.monotonic() - began

    def killed_at(self, moment: Moment) -> bool:
        """Starts it and kills it at that moment; False if it ended before."""
        process = self.start()
        if moment.after in (READY, PLAN):
            wait_for(READY, process.stdout)
        if moment.after == PLAN:
            wait_for(PLAN, process.stderr)
        try:
            process.wait(timeout=moment.seconds)
        except subprocess.TimeoutExpired:
            kill_all(process.pid)
        _, told = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), told
        return process.returncode != 0


def check_killed_run(arguments_for: Callable[[Path], Sequence[str]], folder: Path) -> None:
    """A training that is killed before and during its steps, and run again, ends with the same bytes."""
    whole, killed = (Training(arguments_for(folder / name), folder / name) for name in ("whole", "killed"))
    seconds = whole.run_to_its_end()
    killed.killed_at(Moment(READY, 0.1))
    during = [killed.killed_at(Moment(PLAN, share * seconds)) for share in (0.2, 0.3)]
    assert any(during), "it was never killed during its steps"
    killed.run_to_its_end()
    assert outcome(killed.out) == outcome(whole.out)


def wait_for(words: str, stream: IO[str] | None) -> None:
    """Reads lines until one has the words in it, or there are no more."""
    assert stream is not None
    while (line := stream.readline()) and words not in line:
        pass


def kill_all(parent: int) -> None:
    """The process and all that it has started, the parent first, so that it starts nothing more."""
    for process in [parent, *descendants(parent)]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue


def descendants(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    children = [int(child) for task in tasks for child in task.read_text().split()]
    return [process for child in children for process in (child, *descendants(child))]


def moments(seed: int, *, within: float) -> Iterator[Moment]:
    """When to kill: mostly in the training and its end, sometimes in the preparation or before anything has begun."""
    random = Random(seed)
    while True:
        place = random.random()
        if place < 0.05:
            yield Moment("", 0.3)
        elif place < 0.2:
            yield Moment(READY, random.uniform(0, within / 2))
        else:
            yield Moment(PLAN, random.uniform(0, within))


def kill_until_it_ends(training: Training, when: Iterator[Moment], *, most: int = MOST_KILLS) -> int:
    """Starts and kills it until it comes to its end, after `most` kills in peace; how often it was killed."""
    for kills in range(most):
        if not training.killed_at(next(when)):
            return kills
    training.run_to_its_end()
    return most


def outcome(out: Path) -> dict[str, Any]:
    """All that must be the same to the last byte."""
    lines = (out / "metrics.jsonl").read_text().splitlines()
    return {
        "weights": hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest(),
        "optimiser": hashlib.sha256(optimiser_beside(out).read_bytes()).hexdigest(),
        "losses": [{k: v for k, v in json.loads(line).items() if k not in CLOCKS} for line in lines],
        "config": (out / "config.toml").read_bytes(),
        "names": sorted(path.name for path in out.iterdir() if not path.match(".checkpoints.*.tmp")),
    }


def optimiser_beside(out: Path) -> Path:
    return out.with_name(f"{out.name}.last-optimiser")


def main() -> None:
    from glassformer.cli.main import main as command
    from glassformer.store.checkpoints import OPTIMISER, Checkpoints
    from glassformer.tasks import translation  # noqa: F401 (imports all that training needs)

    drop = Checkpoints.drop

    def keeping_the_last_optimiser(self: Checkpoints) -> None:
        shutil.copyfile(self.folder(self.steps[-1]) / OPTIMISER, optimiser_beside(self.path.parent))
        drop(self)

    shorten_forecasts()
    Checkpoints.drop = keeping_the_last_optimiser  # type: ignore[method-assign]
    print(READY, flush=True)
    command()


if __name__ == "__main__":
    main()
