"""Training by recipe: prepare, train, choose the best weights, report; or resume a run that was stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from glassformer.config import to_toml, validate
from glassformer.errors import RunError, SettingsError
from glassformer.models.flops import training_cost
from glassformer.store.run import RunFolder
from glassformer.store.weights import load_body, load_weights
from glassformer.training.budget import time_left, within_budget
from glassformer.training.choice import too_few
from glassformer.training.choose_threads import with_threads
from glassformer.training.fine_tune import Start, check_vocabulary, fitting, started_from
from glassformer.training.fine_tune_length import with_fine_tuning
from glassformer.training.finish import finish
from glassformer.training.job import Job, Progress
from glassformer.training.loop import train_loop
from glassformer.training.new_tokens import with_new_tokens
from glassformer.training.plan import Forecast
from glassformer.training.prepare import Prepared, Rehearsal, loss_by, prepare, untrained
from glassformer.training.profile import Profile, profile
from glassformer.training.ranks import ALONE, Ranks, joined
from glassformer.training.reading import read_recipe, read_tokenizers
from glassformer.training.resume import (
    BASELINE,
    accept,
    changed_settings,
    changes_of,
    marks_of,
    measured_with,
    refuse_changes,
    set_aside_damaged,
    still_open_as,
)
from glassformer.training.settings import TrainSettings
from glassformer.training.sharing import received, send_prepared
from glassformer.training.task import Task
from glassformer.training.threads import thread_options
from glassformer.training.timekeeper import Clock
from glassformer.training.tuning import trained_in_words, tune
from glassformer.training.validate import validate_model
from glassformer.training.watching import Silent, TrainingWatcher


class LiveWatcher(TrainingWatcher, Protocol):
    """A watcher that keeps a report up to date while training."""

    def on_end(self, progress: Progress) -> None:
        """The steps are over, or were stopped."""


@dataclass(frozen=True)
class Hooks:
    """Functions that the engine needs from the packages above it."""

    open_start: Callable[[Task, str], Start]  # reads a folder to start from
    live: Callable[[TrainingWatcher, RunFolder, Rehearsal], LiveWatcher]  # writes the report while training
    close: Callable[[RunFolder, Prepared, Rehearsal, TrainingWatcher], None]  # measures, writes the final report
    check_process: Callable[[int], None]  # raises an error in a process where threads would hang


@dataclass(frozen=True)
class Work:
    """The task of a run, and how the run communicates: hooks, watcher, clock and ranks."""

    task: Task
    hooks: Hooks
    watcher: TrainingWatcher
    clock: Clock
    ranks: Ranks = ALONE
    accept_changes: bool = False

    def start_of(self, recipe: Any) -> Start | None:
        folder, words = recipe.train.start_from, recipe.train.extend_vocabulary
        return with_new_tokens(self.hooks.open_start(self.task, folder), words, self.watcher) if folder else None


def clock_from_now(age: float = 0.0) -> Clock:
    """A clock that counts the seconds from now, or from `age` seconds ago."""
    began = time.monotonic() - age
    return lambda: time.monotonic() - began


def train_run(
    task: Task,
    recipe: Any,
    hooks: Hooks,
    *,
    out: str | Path | None = None,
    watcher: TrainingWatcher | None = None,
    accept_changes: bool = False,
    clock: Clock | None = None,
) -> Progress:
    """Trains by the recipe into the folder `out`; resumes a stopped run there.

    A resumed run must have the settings, data, code and threads that it was started with, unless `accept_changes`. With
    several processes (torchrun), the first one does this and the others train with it. `clock` returns the seconds
    since the work began, for a time budget; by default they are counted from this call.
    """
    work = Work(task, hooks, watcher or Silent(), clock or clock_from_now(), accept_changes=accept_changes)
    recipe = checked(task, recipe, hooks)
    run = RunFolder(folder_for(recipe, out))
    with joined() as ranks:
        work = replace(work, ranks=ranks)
        if not ranks.is_writer:
            return follow(work, run)
        run.refuse_other_folder()
        with run.lock():
            return train_locked(work, recipe, run)


def checked(task: Task, recipe: Any, hooks: Hooks) -> Any:
    """The recipe, validated; an error in a forked process, where training would hang."""
    from glassformer.training.machine import thread_count

    found = recipe if isinstance(recipe, task.recipe) else validate(task.recipe, {"task": task.name, **recipe})
    hooks.check_process(thread_count(found.train.threads))
    return found


def folder_for(recipe: Any, out: str | Path | None) -> Path:
    folder = out or recipe.out
    if not folder:
        raise SettingsError('Give the run a folder: --out runs/NAME, or out = "runs/NAME" in the recipe.')
    return Path(folder)


def train_locked(work: Work, recipe: Any, run: RunFolder) -> Progress:
    """With the folder locked: trains, or returns at once if the run is finished."""
    if run.exists and run.finished:
        return already_finished(work, recipe, run)
    if not run.exists:
        run.refuse_foreign()
    elif run.lost_its_weights:
        raise RunError(run.describe_no_weights())
    return train_prepared(work, recipe, run)


def already_finished(work: Work, recipe: Any, run: RunFolder) -> Progress:
    then = read_recipe(work.task, run)
    names = work.task.decided_names
    changes = changed_settings(still_open_as(then, recipe, (*names, *work.task.adjusted_names)), then, names)
    changes.possible += work.task.changed_files(recipe, run.about().get("data", {}))
    refuse_changes(run, changes, finished=True)
    run.sweep()
    work.watcher.on_stage(f"{run.path} is already finished; nothing to do. For a new run, choose another --out.")
    work.ranks.from_writer(None)
    made = run.about().get("training", {}).get("steps")  # a budget, or patience, may have changed the plan
    return Progress(stopped="finished before", step=made or then.train.steps or 0)


def follow(work: Work, run: RunFolder) -> Progress:
    """Trains together with the writer, without touching its files."""
    prepared = received(work.task, work.ranks)
    if prepared is None:
        return Progress(stopped="finished before")
    rehearsal = Rehearsal(prepared, Silent())
    if not prepared.recipe.train.budget:
        rehearsal.forecast()  # keeps the machine as busy as it will be, because the writer times its steps now
    return train_loop(make_job(prepared, rehearsal, run, Silent()))


def forecast_run(task: Task, recipe: Any, hooks: Hooks, *, watcher: TrainingWatcher | None = None) -> Forecast:
    """The memory and the time that training by the recipe would take on this machine. Creates no run."""
    work = Work(task, hooks, watcher or Silent(), clock_from_now())
    recipe = checked(task, recipe, hooks)
    prepared = planned_new(work, recipe, work.start_of(recipe))
    return prepared.timed or Rehearsal(prepared, work.watcher).forecast()


def profile_run(task: Task, recipe: Any, hooks: Hooks, *, watcher: TrainingWatcher | None = None) -> Profile:
    """Where the time of a training step goes with this recipe. Creates no run."""
    work = Work(task, hooks, watcher or Silent(), clock_from_now())
    recipe = checked(task, recipe, hooks)
    prepared = planned_new(work, recipe, work.start_of(recipe))
    work.watcher.on_stage("Profiling some steps")
    loss = partial(loss_by, task, prepared.setup)
    model = untrained(prepared)
    tune(model, prepared.recipe.train)
    return profile(model, prepared.examples, prepared.recipe.train, loss=loss)


def train_prepared(work: Work, recipe: Any, run: RunFolder) -> Progress:
    watcher = work.watcher
    start = None if run.steps else work.start_of(recipe)
    prepared = planned(work, recipe, run, start)
    if run.exists:  # before a model is made: another recipe may not fit these tokenizers
        settle_changes(work, run, prepared, start)
    rehearsal = Rehearsal(prepared, watcher)
    if prepared.keeps_time and prepared.limit is None:
        limit, forecast = time_left(prepared, run, rehearsal, clock=work.clock)
        prepared = replace(prepared, limit=limit, timed=forecast)
    if start:
        load_start(prepared, rehearsal, start, watcher)
    if not run.exists:
        begin_run(run, prepared, start)
    if not start and not run.steps:
        work.task.first_weights(prepared.setup, rehearsal.model, prepared.examples, watcher)
    if not prepared.baseline and not run.steps:
        work.task.counted_weights(prepared.setup, rehearsal.model, prepared.examples, watcher)
    report_validation(prepared, rehearsal, watcher)
    send_prepared(prepared)
    live = work.hooks.live(watcher, run, rehearsal)
    job = make_job(prepared, rehearsal, run, live)
    done = run.steps[-1] if run.steps else 0
    forecast = prepared.timed or rehearsal.forecast(done)
    live.on_plan(prepared.recipe, parameters=rehearsal.parameters, resumed_at=done, forecast=forecast, task=work.task)
    progress = train_loop(job)
    live.on_end(progress)
    if progress.stopped:
        first = partial(first_of, work, prepared.recipe) if prepared.baseline else None
        settle = partial(work.task.settled, rehearsal.user, rehearsal.held.sample)
        finish(run, job.model, progress, watcher, first, settle)
        watcher.on_stage("Measuring and writing the report")
        work.hooks.close(run, prepared, rehearsal, watcher)
        run.checkpoints.drop()
    return progress


def first_of(work: Work, recipe: Any) -> Mapping[str, Any]:
    start = replace(work, watcher=Silent()).start_of(recipe)
    assert start is not None
    return start.weights


def settle_changes(work: Work, run: RunFolder, prepared: Prepared, start: Start | None) -> None:
    """Refuses differences from how the run was started, or records them if they are accepted."""
    changes = changes_of(run, prepared, start)
    refuse_changes(run, changes, accepted=work.accept_changes)
    run.sweep()
    set_aside_damaged(run, work.watcher)
    if changes:
        accept(run, prepared, changes, work.watcher, start=start)


def load_start(prepared: Prepared, rehearsal: Rehearsal, start: Start, watcher: TrainingWatcher) -> None:
    """Loads the weights of the start model; heads that it lacks keep their first values, and are reported."""
    if prepared.baseline:
        load_weights(rehearsal.model, start.weights, origin=str(start.path))
    else:
        heads = prepared.task.new_heads
        new = load_body(rehearsal.model, start.weights, origin=str(start.path), new=heads)
        watcher.on_stage(f"Started from {start.path}; newly initialised: {', '.join(new) or 'nothing'}")
    prepared.task.check_loaded(prepared.setup, rehearsal.model, prepared.material, f"--from {start.path}")


def report_validation(prepared: Prepared, rehearsal: Rehearsal, watcher: TrainingWatcher) -> None:
    task, held = prepared.task, rehearsal.held
    if few := too_few(len(held.pool), prepared.recipe.train.best_by, task.unit):
        watcher.on_stage(few)
    metrics = task.metrics_for(prepared.recipe)
    predicted = [metric.label for metric in metrics if metric.at_validations and not metric.from_losses]
    also = f", {' and '.join(predicted)} of {len(held.sample):,}" if predicted else ""
    unit = task.unit if len(held.pool) == 1 else task.units
    watcher.on_stage(f"Each validation: the loss of {len(held.pool):,} {unit}{also}")


def planned(work: Work, recipe: Any, run: RunFolder, start: Start | None) -> Prepared:
    """Everything decided: as when the run was started, or now for a new run."""
    if not run.exists:
        return planned_new(work, recipe, start)
    given, then = recipe.train, read_recipe(work.task, run)
    if given.budget or given.start_from:
        begun = recipe.as_begun(then)  # except for the number of processes, which torchrun decides
        recipe = begun.decided({"train": begun.train.decided({"ranks": given.ranks})})
    elif given.threads is None and work.ranks.world == 1:
        recipe = recipe.decided({"train": given.decided({"threads": then.train.threads})})
    prepared = prepare(work.task, recipe, work.watcher, tokenizers=read_tokenizers(run), ranks=work.ranks)
    baseline = bool(run.about().get(BASELINE, recipe.train.start_from))
    return with_clock(replace(prepared, baseline=baseline), given)


def with_clock(prepared: Prepared, given: TrainSettings) -> Prepared:
    """Whether the clock may change the steps of a budget, and which numbers of threads it may try."""
    keeps_time = bool(given.budget) and "steps" not in given.model_fields_set and not given.average_last
    options = thread_options(given.threads, processes=prepared.ranks.world) if prepared.threads else ()
    return replace(prepared, keeps_time=keeps_time, threads=options)


def planned_new(work: Work, recipe: Any, start: Start | None) -> Prepared:
    """Everything decided for a new run."""
    task, watcher = work.task, work.watcher
    if start:
        prepared = prepared_from(work, recipe, start)
        check_vocabulary(task, start, prepared.recipe, prepared.material, watcher)
        prepared = with_fine_tuning(prepared)
    else:
        prepared = prepare(task, recipe, watcher, ranks=work.ranks)
    prepared = with_clock(prepared, recipe.train)
    if not recipe.train.budget:
        return with_threads(prepared, watcher)
    prepared = within_budget(prepared, watcher, clock=work.clock)
    validate(task.recipe, prepared.recipe.model_dump(), origin="what the budget chose")
    return prepared


def prepared_from(work: Work, recipe: Any, start: Start) -> Prepared:
    """The run as it starts from another model. The data may show that only the body of that model can be used."""
    task, watcher = work.task, work.watcher
    started = started_from(task, start, recipe)
    prepared = prepare(task, started, watcher, tokenizers=start.tokenizers, ranks=work.ranks)
    body = fitting(task, start, prepared.recipe)
    if body is not start:
        watcher.on_stage(f"{start.path} was trained for something else: only its body is used, with new heads")
        started = started_from(task, body, recipe)
        prepared = prepare(task, started, Silent(), tokenizers=start.tokenizers, ranks=work.ranks)
    return replace(prepared, baseline=body.is_whole)


def begin_run(run: RunFolder, prepared: Prepared, start: Start | None) -> None:
    """Writes everything that is decided before the first step, with the fingerprints of the data."""
    run.begin(
        config=to_toml(prepared.recipe),
        texts={name: tokenizer.to_json().encode() for name, tokenizer in prepared.tokenizers.items()},
        about=marks_of(prepared, start),
    )


def make_job(prepared: Prepared, rehearsal: Rehearsal, run: RunFolder, watcher: TrainingWatcher) -> Job:
    """Puts model, loss and validation together for the loop."""
    task, setup, settings = prepared.task, prepared.setup, prepared.recipe.train
    model, user, ranks = rehearsal.model, rehearsal.user, prepared.ranks
    tune(model, settings)
    if some := trained_in_words(model):
        watcher.on_stage(some)
    return Job(
        model=model,
        examples=prepared.examples,
        settings=settings,
        loss=loss_by(task, setup, model),
        validate=lambda: validate_model(task, setup, model, user, rehearsal.held, ranks),
        run=run,
        watcher=watcher,
        device=prepared.device,
        metrics=task.metrics_for(prepared.recipe),
        show=partial(task.in_words, setup),
        measured_by=measured_with(prepared),
        ranks=ranks,
        limit=prepared.limit,
        baseline=prepared.baseline,
        loss_of=partial(loss_by, task, setup),
        cost=training_cost(model, task.sides(model), auxiliary=bool(settings.auxiliary)),
    )
