"""A process that was forked after its parent had computed with several threads.

torch's threads (OpenMP) do not survive a fork, and libgomp waits for them forever: torch hangs in the child at its
first parallel loop. Nothing can be done about it there, so the first call raises an error instead. Our own threads
(nn/team.h) are started again in the child.
"""

from __future__ import annotations

import os

import torch

from glassformer.errors import ModelError


class _Process:
    """What this process has done."""

    computed = False  # with several threads
    orphaned = False  # forked after that


def _after_fork() -> None:
    _Process.orphaned = _Process.orphaned or _Process.computed


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def check_process(training_threads: int | None = None) -> None:
    """Raises an error if this process would hang. Called before a model is loaded, computes or is trained.

    Training sets the number of threads itself; everything else uses torch's current number.
    """
    several = (torch.get_num_threads() if training_threads is None else training_threads) > 1
    if several and _Process.orphaned:
        way = "call torch.set_num_threads(1) first" if training_threads is None else "train with train.threads = 1"
        raise ModelError(
            "This process was forked after its parent had used a model with several threads, so it would hang here. "
            f'Start processes with multiprocessing.get_context("spawn"), or {way}.'
        )
    _Process.computed = _Process.computed or several
