"""How many threads train fastest on this machine now: measured for a second with a small model on the real data."""

from __future__ import annotations

from dataclasses import replace

import torch

from glassformer.training.prepare import Prepared, loss_by, resolve, untrained
from glassformer.training.threads import ThreadTiming, best_timing, time_threads
from glassformer.training.trial import Trial
from glassformer.training.watching import TrainingWatcher

TOKENS = 1024  # in each timed batch: few, so that a slow machine does not lose much time
PATIENCE = 1.0  # seconds of timing without a budget
MUCH_BETTER = 1.3  # times faster; so an idle machine always uses all cores, and a run can be repeated to the last bit


def timed_threads(prepared: Prepared, *, patience: float) -> tuple[Prepared, list[ThreadTiming]]:
    """The small trial that was timed, and its speed with each number of threads."""
    task, train = prepared.task, prepared.recipe.train
    model_settings = prepared.recipe.model.decided(task.trial_model(prepared.recipe))
    train = train.decided({"batch_tokens": min(TOKENS, train.batch_tokens), "accumulate": 1, "compile": False})
    recipe = prepared.recipe.decided({"model": model_settings, "train": train})
    small = replace(prepared, recipe=resolve(recipe, prepared.examples, prepared.device, prepared.ranks))
    model = untrained(small)
    trial = Trial(model, prepared.examples, small.recipe.train, loss_by(task, small.setup, model))
    trial.warm_up()
    options = prepared.threads or (torch.get_num_threads(),)
    return small, time_threads(trial, options, patience=patience)


def with_threads(prepared: Prepared, watcher: TrainingWatcher) -> Prepared:
    """Uses fewer threads than cores if other programs are busy and training is then much faster."""
    if len(prepared.threads) < 2 or prepared.device.type != "cpu":
        return prepared
    _, timings = timed_threads(prepared, patience=PATIENCE)
    best = best_timing(timings, better=MUCH_BETTER)
    torch.set_num_threads(best.threads)
    if best.threads == max(prepared.threads):
        return prepared
    watcher.on_stage(
        f"Other programs use this machine: using {best.threads} of {max(prepared.threads)} threads, which is faster"
    )
    train = prepared.recipe.train.decided({"threads": best.threads})
    return replace(prepared, recipe=prepared.recipe.decided({"train": train}))
