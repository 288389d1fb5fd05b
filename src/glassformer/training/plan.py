"""The forecast: the memory and the time that a run will take, measured on this machine before step 1.

The steps of a copy of the model are timed on batches of the real data, including the largest ones; the run itself is
not touched. A model that cannot fit into memory is refused before it is tried.
"""

from __future__ import annotations

import copy
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from glassformer.data.columns import Pools
from glassformer.errors import ModelError
from glassformer.training.machine import give_back_memory
from glassformer.training.settings import TrainSettings
from glassformer.training.step import Loss
from glassformer.training.trial import Trial
from glassformer.training.tuning import tune

CGROUP = Path("/sys/fs/cgroup")
PATIENCE = 2.0  # seconds of timed steps
FEWEST_TIMED = 3  # steps
PER_PARAMETER = 16  # bytes: weight, gradient and the optimiser's two moments in float32
PER_VALUE = 16  # bytes, at least, that a block keeps for each value of a token: 8 copies in bf16, more in float32

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class Forecast:
    """The time and the memory that a run will take."""

    steps: int
    step_seconds: float
    validations: int
    validation_seconds: float  # of one
    closing_seconds: float  # measuring and the report
    memory: int  # bytes at the peak

    @property
    def seconds(self) -> float:
        """Until all steps are done; a run that stops improving ends earlier."""
        return self.steps * self.step_seconds + self.validations * self.validation_seconds + self.closing_seconds

    def of(self, settings: TrainSettings, *, done: int = 0) -> Forecast:
        """The same speeds with the number of steps in other settings, less the `done` ones."""
        steps = max(0, (settings.steps or 0) - done)
        return replace(self, steps=steps, validations=-(-steps // (settings.valid_every or steps or 1)))

    def __str__(self) -> str:
        return f"about {duration(self.seconds)} and {self.memory / 2**30:.1f} GB of memory"


def duration(seconds: float) -> str:
    """A length of time in words, such as `45 s`, `12 min` or `2 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def refuse_too_large(parameters: int, *, batch_tokens: int, width: int, blocks: int) -> None:
    """Raises an error if weights, gradients, optimiser state and the activations of one batch cannot fit."""
    kept = PER_VALUE * batch_tokens * width * blocks  # every token goes through the blocks of its side
    needed, there = PER_PARAMETER * parameters + kept, available_memory()
    if there is not None and needed > there:
        raise ModelError(
            f"A model of {parameters:,} parameters with batches of {batch_tokens:,} tokens needs at least "
            f"{needed / 2**30:.1f} GB to train, and {there / 2**30:.1f} GB of memory are free. Choose a smaller "
            "model.size, text.vocab_size or train.batch_tokens (a larger train.accumulate keeps updates as large)."
        )


def available_memory() -> int | None:
    """Bytes that a process can still get without swapping, or None if the system does not report it."""
    found = [int(value) for value in (_meminfo("MemAvailable"), _cgroup_left()) if value is not None]
    return min(found, default=None)


def _meminfo(name: str) -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)


def _cgroup_left() -> int | None:
    """Bytes that the container's limit leaves; None without a limit."""
    try:
        limit, used, stat = (CGROUP.joinpath(f"memory.{name}").read_text() for name in ("max", "current", "stat"))
    except OSError:
        return None
    cached = dict(line.split() for line in stat.splitlines()).get("inactive_file", "0")  # freed on demand
    return None if limit.strip() == "max" else max(0, int(limit) - int(used) + int(cached))


def peak_memory() -> int:
    """The most memory that this process has held so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def forecast(
    model: M,
    examples: Pools,
    settings: TrainSettings,
    *,
    loss: Callable[[M], Loss],
    validation: Callable[[M], float],
    closing_validations: float = 0.0,
    done: int = 0,
    patience: float | None = None,
) -> Forecast:
    """Trains a copy of `model` for about `patience` seconds and forecasts the rest of the run after `done` steps.

    `validation` says how many seconds one validation of the model it is given takes. The measurements at the end are
    estimated to take as long as `closing_validations` validations.
    """
    twin = copy.deepcopy(model)
    tune(twin, settings)
    patience = PATIENCE if patience is None else patience
    step_seconds = time_steps(twin, examples, settings, loss=loss(twin), patience=patience)
    twin.eval()
    give_back_memory()
    validation_seconds = validation(twin)
    give_back_memory()
    found = Forecast(
        steps=0,
        step_seconds=step_seconds,
        validations=0,
        validation_seconds=validation_seconds,
        closing_seconds=closing_validations * validation_seconds,
        memory=peak_memory() + saved_bytes(settings) * sum(p.numel() for p in model.parameters()),
    )
    return found.of(settings, done=done)


def saved_bytes(settings: TrainSettings) -> int:
    """Bytes of a checkpoint for each parameter: the weight, the optimiser's two moments, and the average if any."""
    return 16 if settings.ema or settings.average_last else 12


def time_steps(model: nn.Module, examples: Pools, settings: TrainSettings, *, loss: Loss, patience: float) -> float:
    """Seconds per step, including making its batches."""
    trial = Trial(model, examples, settings, loss)
    trial.warm_up()
    coming, seconds, taken = trial.coming(), 0.0, 0
    while taken < FEWEST_TIMED or (seconds < patience and taken < (settings.steps or 1)):
        seconds += timed(lambda: trial.step(next(coming)))
        taken += 1
    return seconds / taken


def timed(work: Callable[[], Any]) -> float:
    """Seconds that `work` takes; on a GPU, including the work still queued."""
    began = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - began
