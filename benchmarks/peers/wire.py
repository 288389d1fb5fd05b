"""The wire between a benchmark and its competitors: one JSON object per line each way.

Only Python's own library is imported here, because a competitor may live in an environment of its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]


class Competitor:
    """A process that works on command and waits in between."""

    def __init__(
        self, name: str, module: str, told: dict[str, Any], *, log: Path, threads: int, python: str = sys.executable
    ) -> None:
        path = os.pathsep.join([str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)}
        self.name, self.log = name, log
        self._errors = log.open("w")
        self._process = subprocess.Popen(
            [python, "-m", module, json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
        )
        self.ready = self._answer()

    def ask(self, do: str, **told: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **told}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise SystemExit(f"{self.name} has ended. Its last words, from {self.log}:\n{self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self._errors.flush()
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-12:])

    def close(self) -> None:
        """Ends the process: a competitor stops where its commands stop."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        self._errors.close()


class Wire:
    """The competitor's end. What anything else prints goes to the log, not onto the wire."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self.told: dict[str, Any] = json.loads(sys.argv[1])

    def answer(self, **values: Any) -> None:
        self._out.write(json.dumps(values) + "\n")
        self._out.flush()

    def commands(self) -> Iterator[dict[str, Any]]:
        """Commands until the other side hangs up."""
        for line in sys.stdin:
            yield json.loads(line)


class Turn:
    """A series of whole steps: at least this many, for at least this many seconds."""

    def __init__(self, *, seconds: float = 0.0, steps: int = 1) -> None:
        self.seconds, self.steps = seconds, steps
        self.done, self.tokens, self.targets, self.loss = 0, 0, 0, 0.0
        self.began = time.perf_counter()

    def count(self, *, tokens: int, targets: int, loss: float) -> None:
        """A step: real tokens of both sides, those of the target, and the mean loss of the latter."""
        self.done += 1
        self.tokens += tokens
        self.targets += targets
        self.loss += loss * targets

    @property
    def over(self) -> bool:
        return self.done >= self.steps and time.perf_counter() - self.began >= self.seconds

    def result(self) -> dict[str, float]:
        seconds = time.perf_counter() - self.began
        return {
            "seconds": seconds,
            "steps": self.done,
            "tokens": self.tokens,
            "tokens_per_second": self.tokens / seconds,
            "targets_per_second": self.targets / seconds,
            "loss": self.loss / max(self.targets, 1),
        }


def take_turn(command: dict[str, Any], step: Callable[[Turn], None]) -> dict[str, float]:
    """A whole turn of a competitor that calls its steps itself."""
    turn = Turn(seconds=command.get("seconds", 0.0), steps=command.get("steps", 1))
    while not turn.over:
        step(turn)
    return turn.result()


def memory() -> dict[str, int]:
    """Bytes that this process holds now, has held at most, and has held at most since `forget_peak`."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    kilobytes = {name: int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM")}
    whole = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, kilobytes["VmHWM"])
    return {"now": 1024 * kilobytes["VmRSS"], "since": 1024 * kilobytes["VmHWM"], "peak": 1024 * whole}


def forget_peak() -> dict[str, int]:
    """Resets the peak memory that the kernel counts; returns the old peak."""
    before = memory()["peak"]
    Path("/proc/self/clear_refs").write_text("5")
    return {"before": before}
