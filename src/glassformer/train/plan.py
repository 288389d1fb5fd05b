"""The forecast: the memory and the minutes that a training will take, measured on this machine before step 1.

The steps of a copy of the model are timed on batches of the real data, the largest among them; nothing of the run is
touched. What cannot fit at all is refused before it is tried.
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

from glassformer.data.batches import Pools
from glassformer.errors import ModelError
from glassformer.train.machine import give_back_memory
from glassformer.train.settings import TrainSettings
from glassformer.train.step import Loss
from glassformer.train.trial import Trial

CGROUP = Path("/sys/fs/cgroup")
PATIENCE = 2.0  # seconds of steps that are timed
PER_PARAMETER = 16  # bytes: weight, gradient and the optimiser's two memories in float32
PER_VALUE = 16  # bytes at the least that a block keeps of a token's each value: 8 times in bf16, more in float32

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class Forecast:
    """What a training will take."""

    steps: int
    step_seconds: float
    validations: int
    validation_seconds: float  # of one
    closing_seconds: float  # measuring and the report
    memory: int  # bytes at the peak

    @property
    def seconds(self) -> float:
        """All the way to the end; a training that stops getting better ends earlier."""
        return self.steps * self.step_seconds + self.validations * self.validation_seconds + self.closing_seconds

    def of(self, settings: TrainSettings, *, done: int = 0) -> Forecast:
        """The same for the steps of other settings, after the `done` ones."""
        steps = max(0, (settings.steps or 0) - done)
        return replace(self, steps=steps, validations=-(-steps // (settings.valid_every or steps or 1)))

    def __str__(self) -> str:
        return f"about {duration(self.seconds)} and {self.memory / 2**30:.1f} GB of memory"


def duration(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def refuse_too_large(parameters: int, *, batch_tokens: int, width: int, blocks: int) -> None:
    """An error where weights, gradients, optimiser and what one batch leaves for the backward pass cannot fit."""
    kept = PER_VALUE * batch_tokens * width * blocks  # every token goes through the blocks of its side
    needed, there = PER_PARAMETER * parameters + kept, available_memory()
    if there is not None and needed > there:
        raise ModelError(
            f"A model of {parameters:,} parameters with batches of {batch_tokens:,} tokens needs at least "
            f"{needed / 2**30:.1f} GB to train, and {there / 2**30:.1f} GB of memory are free. Take a smaller "
            "model.size, text.vocab_size or train.batch_tokens (more train.accumulate keeps updates as large)."
        )


def available_memory() -> int | None:
    """Bytes that a process can still get without swapping, or None where the system does not tell."""
    found = [int(value) for value in (_meminfo("MemAvailable"), _cgroup_left()) if value is not None]
    return min(found, default=None)


def _meminfo(name: str) -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)


def _cgroup_left() -> int | None:
    """What a container's limit leaves."""
    try:
        limit, used, stat = (CGROUP.joinpath(f"memory.{name}").read_text() for name in ("max", "current", "stat"))
    except OSError:
        return None
    cached = dict(line.split() for line in stat.splitlines()).get("inactive_file", "0")  # let go when it is needed
    return None if limit.strip() == "max" else max(0, int(limit) - int(used) + int(cached))


def peak_memory() -> int:
    """The most memory that this process has held so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def forecast(
    model: M,
    pairs: Pools,
    settings: TrainSettings,
    *,
    loss: Callable[[M], Loss],
    validation: Callable[[M], Any],
    closing_validations: float = 0.0,
    done: int = 0,
    patience: float | None = None,
) -> Forecast:
    """Trains a copy of `model` for about `patience` seconds and reckons from there what comes after `done` steps.

    `validation` does the work of one validation of the model it is given. What comes at the end is reckoned as so many
    validations.
    """
    twin = copy.deepcopy(model)
    patience = PATIENCE if patience is None else patience
    step_seconds = time_steps(twin, pairs, settings, loss=loss(twin), patience=patience)
    twin.eval()
    give_back_memory()
    validation_seconds = timed(lambda: validation(twin))
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
    """Bytes of a checkpoint for each parameter: weight and the optimiser's two memories, an average's weight too."""
    return 16 if settings.ema or settings.average_last else 12


def time_steps(model: nn.Module, pairs: Pools, settings: TrainSettings, *, loss: Loss, patience: float) -> float:
    """Seconds a step, the making of its batches included."""
    trial = Trial(model, pairs, settings, loss)
    trial.warm_up()
    coming, seconds, taken = trial.coming(), 0.0, 0
    while taken < 3 or (seconds < patience and taken < (settings.steps or 1)):
        seconds += timed(lambda: trial.step(next(coming)))
        taken += 1
    return seconds / taken


def timed(work: Callable[[], Any]) -> float:
    """Seconds that `work` takes, on a GPU too."""
    began = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - began
