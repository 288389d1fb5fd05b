"""A time budget: the settings with which a run is at its best when the time is over.

All settings are chosen before the first step, from the size of the data and the speed of this machine, and written to
config.toml. If the machine gets slower or faster during the run, the number of steps and of threads is adjusted
(training/timekeeper.py), and every change is recorded.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch

from glassformer.errors import SettingsError
from glassformer.store.run import RunFolder
from glassformer.training.budget_rules import (
    Work,
    with_model,
    with_more_validation,
    with_steps,
    with_training,
    with_validation,
)
from glassformer.training.choose_threads import timed_threads
from glassformer.training.fine_tune_length import most_steps
from glassformer.training.optimiser import inner_matrices
from glassformer.training.plan import Forecast, duration, peak_memory
from glassformer.training.prepare import Prepared, Rehearsal, resolve
from glassformer.training.settings import seconds_of
from glassformer.training.task import Setup, Task
from glassformer.training.threads import ThreadTiming, best_timing
from glassformer.training.timekeeper import Clock, TimeLimit
from glassformer.training.watching import TrainingWatcher

TRIAL = 0.02  # share of the budget for the timed steps that measure the machine's speed
SHORTEST_TRIAL, LONGEST_TRIAL = 0.5, 5.0  # seconds of timed steps
PASSING = 4.0  # the wall time may be this many times the CPU time; above, the machine counts as busy for a moment only
FEWEST = 50  # steps; with fewer, the user is warned
FEWEST_AT_ALL = 20  # steps; with fewer, the run is refused


def within_budget(prepared: Prepared, watcher: TrainingWatcher, *, clock: Clock) -> Prepared:
    """Chooses all settings that are open, so that the run ends when the budget is used up."""
    watcher.on_stage("Timing some steps to choose settings that fit the budget")
    total = seconds_of(prepared.recipe.train.budget or "")
    patience = min(LONGEST_TRIAL, max(SHORTEST_TRIAL, TRIAL * total))
    seconds = total - clock()
    work = measured(prepared, patience=patience)
    rules, held = prepared.task.rules_for(prepared.recipe), len(prepared.material.valid)
    recipe = with_model(prepared.recipe, rules, prepared.task.ladder(prepared.recipe), work, seconds=seconds)
    recipe = with_training(recipe, rules, work, seconds=seconds, ranks=prepared.ranks.world)
    recipe = with_validation(recipe, rules, seconds=seconds, held=held)
    trial = replace(prepared, recipe=resolve(recipe, prepared.examples, prepared.device, prepared.ranks))
    forecast = Rehearsal(trial, watcher).forecast(patience=patience)
    refuse_too_short(prepared, forecast, total=total, clock=clock, watcher=watcher)
    recipe, forecast = with_more_validation(recipe, forecast, seconds=total - clock(), held=held)
    recipe = with_steps(recipe, forecast, seconds=total - clock(), most=most_steps(trial))
    watcher.on_stage(f"Chosen for {duration(max(0.0, total - clock()))}: {described(prepared.task, recipe)}")
    if recipe.train.steps == most_steps(trial):
        watcher.on_stage("More passes over this data would not help: the run ends before the time is over")
    recipe = resolve(recipe, prepared.examples, prepared.device, prepared.ranks)
    forecast = forecast.of(recipe.train)
    limit = limit_of(trial, forecast, clock=clock) if prepared.keeps_time else None
    return replace(prepared, recipe=recipe, timed=forecast, limit=limit)


def limit_of(prepared: Prepared, forecast: Forecast, *, clock: Clock) -> TimeLimit:
    return TimeLimit(
        seconds=seconds_of(prepared.recipe.train.budget or ""),
        clock=clock,
        step_seconds=forecast.step_seconds,
        validation_seconds=forecast.validation_seconds,
        closing_seconds=forecast.closing_seconds,
        threads=prepared.threads,
        most_steps=most_steps(prepared),
    )


def refuse_too_short(
    prepared: Prepared, forecast: Forecast, *, total: float, clock: Clock, watcher: TrainingWatcher
) -> None:
    """Raises an error if the time is too short to learn almost anything, and warns if it is too short to learn much."""
    train = prepared.recipe.train
    ends = 2 * forecast.validation_seconds + forecast.closing_seconds
    if "steps" in train.model_fields_set or total - clock() >= FEWEST * forecast.step_seconds + ends:
        return
    needed = clock() + FEWEST * forecast.step_seconds + ends
    enough = duration(60 * -(-needed // 60) if needed > 90 else 10 * -(-needed // 10))
    if total - clock() < FEWEST_AT_ALL * forecast.step_seconds + ends:
        raise SettingsError(
            f"train.budget = {train.budget} is too short to learn anything here: starting took {duration(clock())}, a "
            f"step takes {forecast.step_seconds:.2g} s, measuring at the end {duration(ends)}. Give at least {enough}."
        )
    watcher.on_stage(f"Warning: {train.budget} is very short for this data on this machine; {enough} would be enough")


def time_left(prepared: Prepared, run: RunFolder, rehearsal: Rehearsal, *, clock: Clock) -> tuple[TimeLimit, Forecast]:
    """For a resumed run: its time limit with the speeds it measured earlier, and a forecast for the time left."""
    state = run.checkpoints.state(run.steps[-1]) if run.steps else {}
    known = state.get("step_seconds", 0.0) > 0
    forecast = (
        rehearsal.forecast()
        if not known
        else Forecast(
            steps=0,
            step_seconds=state["step_seconds"],
            validations=1,
            validation_seconds=state["validation_seconds"],
            closing_seconds=state["closing_seconds"],
            memory=peak_memory(),
        )
    )
    limit = limit_of(prepared, forecast, clock=clock)
    ends = forecast.validation_seconds + forecast.closing_seconds
    left = limit.seconds - state.get("used", 0.0) - clock() - ends
    steps = max(1, int(left / forecast.step_seconds))
    if limit.most_steps:
        steps = min(steps, max(1, limit.most_steps - state.get("step", 0)))
    return limit, replace(forecast, steps=steps, validations=1)


def described(task: Task, recipe: Any) -> str:
    """The chosen settings in one line."""
    model, train = recipe.model, recipe.train
    return (
        f"{task.shape(recipe)}, dropout {model.dropout:g}, {train.steps:,} steps of {train.batch_tokens:,} "
        f"{task.tokens} by {train.optimiser}, highest rate {train.lr:.2g}"
    )


def measured(prepared: Prepared, *, patience: float) -> Work:
    """Times the steps of a small model on the real data, and sets torch to the best number of threads."""
    trial, timings = timed_threads(prepared, patience=patience)
    best = best_timing(timings)
    torch.set_num_threads(best.threads)
    settings = prepared.recipe.train
    task, pools = prepared.task, prepared.examples.pools(seed=settings.seed, epoch=0)
    tokens = sum(pool.lengths.sum(axis=0) for pool in pools)
    outputs = task.output_width(Setup(prepared.recipe, prepared.tokenizers))
    work = Work([int(count) for count in tokens], outputs, partial(inner_weights, task))
    epoch = believed(best, timings) * work.all_tokens
    return replace(work, speed=prepared.ranks.world * work.of_an_epoch(trial.recipe.model) / epoch)


def believed(best: ThreadTiming, timings: list[ThreadTiming]) -> float:
    """Seconds per token. The CPU time shows how fast a core is; a wall time far above it means a busy moment."""
    return min(best.seconds, PASSING * min(timing.cpu_seconds for timing in timings))


def inner_weights(task: Task, config: Any) -> tuple[int, ...]:
    """The number of weights in the matrices of each side of a model, without embeddings and output layer."""
    with torch.device("meta"):  # shapes only, no memory
        model = task.model_for(config)
    return tuple(sum(matrix.numel() for matrix in inner_matrices(side)) for side in task.sides(model))
