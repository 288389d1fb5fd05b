"""Where the time of a training step goes: real steps under torch's profiler, summed into named groups.

Every microsecond of the steps is in exactly one group. An operation belongs to the part that it is inside of (the
optimiser, the attention), or else to its own kind. Work of the backward pass belongs to the group of its forward
operation. Operations that `profile_groups` does not name are shown as everything else, with the largest of them.
"""

from __future__ import annotations

import copy
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from glassformer.data.columns import Pools
from glassformer.errors import SettingsError
from glassformer.nn.dropout import Dropout
from glassformer.training import profile_groups as groups
from glassformer.training.settings import TrainSettings
from glassformer.training.step import Loss
from glassformer.training.step_trace import Account, Event, nested
from glassformer.training.trial import Trial

STEPS = 20  # profiled steps; fewer if they would take longer than PATIENCE
PATIENCE = 15.0  # seconds
PLAIN = 1024  # rows and columns of the matrices in the plain product
M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class Profile:
    """An average step. Times are in seconds."""

    steps: int
    step_seconds: float  # without the profiler
    profiled_seconds: float  # with it
    tokens: float  # without padding, both sides
    groups: dict[str, float]  # seconds under the profiler, by group; they add up to profiled_seconds
    others: list[tuple[str, float]]  # the largest parts of everything else
    product_flops: float  # of all matrix products of the model, including attention and output layer
    product_seconds: float  # time of these products
    plain_rate: float  # floating-point operations per second of one large product alone
    threads: int

    @property
    def shares(self) -> dict[str, float]:
        return {name: seconds / self.profiled_seconds for name, seconds in self.groups.items()}

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.step_seconds

    @property
    def step_rate(self) -> float:
        """Floating-point operations per second over the whole step."""
        return self.product_flops / self.step_seconds

    @property
    def product_rate(self) -> float:
        return self.product_flops / self.product_seconds if self.product_seconds else 0.0


def profile(
    model: M, examples: Pools, settings: TrainSettings, *, loss: Callable[[M], Loss], steps: int | None = None
) -> Profile:
    """Trains a copy of `model` for some steps: first timed alone, then the same steps under the profiler."""
    device = next(model.parameters()).device
    if device.type != "cpu":
        raise SettingsError(f"Only the CPU can be profiled; got train.device = {device}. Add --set train.device=cpu.")
    twin = copy.deepcopy(model)
    trial = Trial(twin, examples, settings, loss(twin))
    trial.warm_up()
    coming, began = trial.coming(), time.perf_counter()
    next_step(trial, coming)
    steps = steps or max(3, min(STEPS, int(PATIENCE / (time.perf_counter() - began))))
    coming, began = trial.coming(), time.perf_counter()
    tokens = sum(next_step(trial, coming) for _ in range(steps))
    step_seconds = (time.perf_counter() - began) / steps
    account, profiled = Account(), 0.0
    with dropout_marked(twin):
        coming = trial.coming()  # the same ones again
        for _ in range(steps):
            events, seconds = traced(lambda: next_step(trial, coming))
            account.add(events)
            profiled += seconds
    account.groups[groups.PYTHON] += max(0.0, profiled - account.total)  # around the trace
    return Profile(
        steps=steps,
        step_seconds=step_seconds,
        profiled_seconds=account.total / steps,
        tokens=tokens / steps,
        groups={name: seconds / steps for name, seconds in account.groups.items()},
        others=[(name, seconds / steps) for name, seconds in account.largest_others()],
        product_flops=account.flops / steps,
        product_seconds=account.product_seconds / steps,
        plain_rate=plain_rate(),
        threads=torch.get_num_threads(),
    )


def next_step(trial: Trial, coming: Iterator[list[Any]]) -> int:
    """Takes the next update; returns the tokens in it."""
    with torch.profiler.record_function(groups.BATCH):
        batches = next(coming)
    trial.step(batches)
    return sum(batch.tokens for batch in batches)


@contextmanager
def dropout_marked(model: nn.Module) -> Iterator[None]:
    """While open, a model's dropout is marked in traces: its operations have names that others share."""
    handles = [handle for module in model.modules() if isinstance(module, Dropout) for handle in mark_forward(module)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def mark_forward(module: nn.Module) -> list[RemovableHandle]:
    mark = torch.profiler.record_function(groups.DROPPING)

    def enter(*_: Any) -> None:
        mark.__enter__()

    def leave(*_: Any) -> None:
        mark.__exit__(None, None, None)

    return [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]


# Traces


def traced(work: Callable[[], Any]) -> tuple[list[Event], float]:
    """The events of `work` in the order of their start, and the seconds it took."""
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, record_shapes=True) as profiler:
        began = time.perf_counter()
        with torch.profiler.record_function(groups.STEP):
            work()
        seconds = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:  # much faster than the profiler's own list of events
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        trace = json.loads(path.read_bytes())
    return nested(trace["traceEvents"]), seconds


def plain_rate(size: int = PLAIN, tries: int = 5) -> float:
    """The best rate at which this machine multiplies two large float32 matrices, in operations per second."""
    a, b = torch.ones(size, size), torch.ones(size, size)
    seconds = []
    for _ in range(tries):
        began = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - began)
    return 2.0 * size**3 / min(seconds)
