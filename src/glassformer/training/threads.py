"""How many threads to use: timed on real steps, because fewer can be faster if other programs use the machine."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import torch

from glassformer.training.machine import thread_count
from glassformer.training.trial import Trial

ROUNDS = 3  # rounds of short trials, so that one busy moment does not decide
BETTER = 1.1  # times faster: fewer threads must be at least this much faster to be chosen


@dataclass(frozen=True)
class ThreadTiming:
    """The speed of training with a number of threads."""

    threads: int
    seconds: float  # wall time per token
    cpu_seconds: float  # CPU time per token, of all threads together, without waiting for a core


def thread_options(wanted: int | None, *, processes: int = 1) -> tuple[int, ...]:
    """The numbers to choose from: the one that the user set; if unset, 1, half of the cores and all cores."""
    most = thread_count(wanted, processes=processes)
    if wanted is not None or os.environ.get("OMP_NUM_THREADS") or processes > 1:
        return (most,)
    return tuple(sorted({1, max(1, most // 2), most}))


def time_threads(trial: Trial, options: Sequence[int], *, patience: float) -> list[ThreadTiming]:
    """Times the steps of a warmed-up trial with each number of threads in turn, for about `patience` seconds."""
    windows: dict[int, list[tuple[float, float]]] = {number: [] for number in options}
    coming, turn = trial.coming(), patience / (ROUNDS * len(options))
    for _ in range(ROUNDS):
        for number in options:
            torch.set_num_threads(number)
            began, cpu, tokens = time.perf_counter(), time.process_time(), 0
            while not tokens or time.perf_counter() - began < turn:
                batches = next(coming)
                trial.step(batches)
                tokens += max(1, sum(batch.tokens for batch in batches))
            spent = time.perf_counter() - began, time.process_time() - cpu
            windows[number].append((spent[0] / tokens, spent[1] / tokens))
    return [
        ThreadTiming(number, median(wall for wall, _ in rows), median(cpu for _, cpu in rows))
        for number, rows in windows.items()
    ]


def best_timing(timings: Sequence[ThreadTiming], *, better: float = BETTER) -> ThreadTiming:
    """The timing with the most threads, unless fewer are clearly faster."""
    best = max(timings, key=lambda timing: timing.threads)
    for timing in sorted(timings, key=lambda timing: -timing.threads):
        if timing.seconds * better < best.seconds:
            best = timing
    return best
