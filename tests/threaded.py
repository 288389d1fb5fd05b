"""Many calls of one model from several threads at once, each compared with what it gives alone."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

Call = Callable[[], Hashable]


def differing(calls: Sequence[Call], *, times: int, threads: int = 8, seed: int = 0) -> list[str]:
    """What differed: `times` calls, each of `calls` equally often, in a random order, against each made alone before.

    Threads start together, so the first of them meet what is built at the first use.
    """
    order = [number % len(calls) for number in range(times)]
    random.Random(seed).shuffle(order)
    start = threading.Barrier(threads)

    def work(own: Sequence[int]) -> list[tuple[int, Hashable]]:
        start.wait()
        return [(number, outcome(calls[number])) for number in own]

    with ThreadPoolExecutor(threads) as pool:
        found = [one for part in pool.map(work, [order[i::threads] for i in range(threads)]) for one in part]
    alone = [outcome(call) for call in calls]
    assert not any(isinstance(one, tuple) and one[:1] == ("raised",) for one in alone), alone
    return [f"call {number}: {str(got)[:200]}" for number, got in found if got != alone[number]]


def outcome(call: Call) -> Hashable:
    try:
        return call()
    except Exception as error:  # an error is a result that differs
        return ("raised", repr(error))


def digits(value: Any) -> Hashable:
    """A result with every number in it, so that results can be compared to the last bit."""
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), value.numpy().tobytes())
    if isinstance(value, dict):
        return tuple((name, digits(one)) for name, one in value.items())
    return tuple(map(digits, value)) if isinstance(value, list | tuple) else value
