"""Validation: the loss of all held-out examples, and the task's metrics on predictions for some of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from glassformer.data.batches import epoch_batches, random_of
from glassformer.data.columns import Pool
from glassformer.errors import DataError
from glassformer.evaluate.metric import LOSS, Counts, Measured
from glassformer.training.ranks import ALONE, Ranks
from glassformer.training.task import Example, Listener, Setup, Task

BATCH_TOKENS = 8192  # in a batch whose loss is measured
FIRST, GROWTH = 16, 4  # a rehearsal predicts this many examples, then this many times as many, while there is time
WATCHED = 6  # examples whose predictions are shown at every validation


@dataclass(frozen=True)
class Held:
    """The examples that a model is validated on."""

    pool: Pool  # all held-out examples as ids
    sample: Sequence[Example]  # the examples that are predicted


def held_pool(task: Task, setup: Setup, examples: Sequence[Example], listener: Listener) -> Pool:
    """Held-out examples as ids; examples that cannot be used are reported."""
    encoded = task.encode_held(setup, examples)
    report_left_out(task, setup.recipe, encoded.left_out, len(encoded.columns), listener, held=True)
    if encoded.cut:
        listener.on_stage(f"Cut {encoded.cut:,} of {len(encoded.columns):,} held-out to {task.cut_to(setup.recipe)}")
    return task.pool_held(setup, encoded.columns)


def report_left_out(
    task: Task, recipe: Any, left_out: int, kept: int, listener: Listener, *, held: bool = False
) -> None:
    why = task.limit(recipe, held=held)
    if not kept:
        raise DataError(f"All {left_out:,} {task.units} are {why}. Raise the limit, or give others.")
    if left_out:
        listener.on_stage(f"Left out {left_out:,} {task.units}: {why}")


def validate_model(task: Task, setup: Setup, model: Any, user: Any, held: Held, ranks: Ranks = ALONE) -> dict[str, Any]:
    """The scores of one validation, with their evidence and some predictions to read.

    Several ranks share the batches that a single rank would make, so every result is the same as there.
    """
    predictions = predict_all(task, user, held.sample, ranks)
    losses = held_losses(task, setup, model, held.pool, ranks)
    evidence = [Measured(LOSS, losses)]
    for metric in task.metrics_for(setup.recipe):
        if metric.from_losses:
            evidence.append(Measured(metric, metric.counts(losses, held.pool)))
        elif metric.at_validations and held.sample:
            evidence.append(Measured(metric, metric.counts(predictions, held.sample)))
    scores = {one.metric.key: one.total for one in evidence}
    shown = [task.shown(held.sample[i], predictions[i]) for i in task.watched(held.sample, WATCHED)]
    by_key = {one.metric.key: one for one in evidence}
    return {**scores, "sentences": len(held.sample), "samples": shown, "evidence": by_key}


def predict_all(task: Task, user: Any, examples: Sequence[Example], ranks: Ranks = ALONE) -> list[Any]:
    """The prediction for each example, group by group, each on one rank."""
    groups = task.groups(user, examples)
    own = [task.predict(user, [examples[i] for i in index]) for index in ranks.own(groups)]
    found = {
        i: prediction
        for index, predictions in zip(groups, ranks.united(own), strict=True)
        for i, prediction in zip(index, predictions, strict=True)
    }
    return [found.get(i, task.no_prediction) for i in range(len(examples))]


@torch.inference_mode()
def held_losses(task: Task, setup: Setup, model: Any, pool: Pool, ranks: Ranks = ALONE) -> Counts:
    """(N, 2 or more): for each example, in order, what `Task.losses` returns: the summed loss, its weight, ..."""
    device = next(model.parameters()).device
    batches = epoch_batches(pool.lengths, tokens=BATCH_TOKENS, seed=0, epoch=0)
    own = [
        task.losses(setup, model, pool.batch(index, random_of(0, number)).to(device))
        for number, index in ranks.own(list(enumerate(batches)))
    ]
    rows = np.array([row for part in ranks.united(own) for row in part], dtype=np.float64)
    found = np.empty_like(rows)
    found[np.concatenate(batches)] = rows
    return found


class Rehearsed(NamedTuple):
    """Seconds that the parts of one validation take."""

    losses: float
    predictions: float


@torch.inference_mode()
def rehearse_validation(task: Task, setup: Setup, model: Any, held: Held, *, patience: float) -> Rehearsed:
    """Does the work of one validation with an untrained model. What would take more than about `patience` seconds is
    done in part and estimated."""
    user, device = task.user(setup, model), next(model.parameters()).device
    batches = epoch_batches(held.pool.lengths, tokens=BATCH_TOKENS, seed=0, epoch=0)

    def measure(count: int) -> None:
        for number, index in enumerate(batches[:count]):
            task.losses(setup, model, held.pool.batch(index, random_of(0, number)).to(device))

    def predict(count: int) -> None:
        task.rehearse(user, held.pool, held.sample[:count])

    sizes = np.cumsum([held.pool.lengths[index].sum() for index in batches])
    losses, done = timed_in_part(measure, len(batches), first=1, patience=patience)
    predictions, predicted = timed_in_part(predict, len(held.sample), first=FIRST, patience=patience)
    return Rehearsed(
        losses * float(sizes[-1] / max(1, sizes[done - 1])), predictions * len(held.sample) / max(1, predicted)
    )


def timed_in_part(work: Callable[[int], None], total: int, *, first: int, patience: float) -> tuple[float, int]:
    """Seconds of `work` for as many of `total` units as fit into about `patience` seconds, and how many these were."""
    count = min(first, total)
    while True:
        began = time.perf_counter()
        work(count)
        seconds = time.perf_counter() - began
        if count == total or seconds * GROWTH > patience:
            return seconds, count
        count = min(total, count * GROWTH)
