"""report.html during training: written again at every validation, and regularly between validations."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from glassformer.errors import RunError
from glassformer.evaluate.metric import by_key
from glassformer.explain.progress import ShownProgress
from glassformer.store.run import RunFolder
from glassformer.tasks.reports import make_live_report
from glassformer.training.job import Progress
from glassformer.training.pace import Pace, best_words
from glassformer.training.plan import Forecast
from glassformer.training.prepare import Rehearsal
from glassformer.training.recipe import Recipe
from glassformer.training.step import StepReport
from glassformer.training.task import Task
from glassformer.training.watching import TrainingWatcher

EVERY = 20.0  # seconds between two pages if there is no validation
REFRESH = 10  # seconds after which an open page reloads
SILENCE = 120  # seconds without an update, beyond the time of a validation, after which the page reports a stop


class LiveReport:
    """A watcher that keeps the page up to date and forwards everything to another watcher."""

    def __init__(self, watcher: TrainingWatcher, run: RunFolder, rehearsal: Rehearsal) -> None:
        self.watcher = watcher
        self.run = run
        self.rehearsal = rehearsal
        self.progress = Progress()
        self.pace: Pace | None = None
        self.metrics = by_key(())
        self.written = -math.inf  # so that the first step writes the page

    def on_stage(self, text: str) -> None:
        self.watcher.on_stage(text)

    def on_count(self, done: int, total: int) -> None:
        self.watcher.on_count(done, total)

    def on_plan(self, recipe: Recipe, *, parameters: int, resumed_at: int, forecast: Forecast, task: Task) -> None:
        self.pace, self.metrics = Pace.of(recipe.train, forecast), by_key(task.metrics_for(recipe))
        self.watcher.on_plan(recipe, parameters=parameters, resumed_at=resumed_at, forecast=forecast, task=task)

    def on_step(self, progress: Progress, report: StepReport, seconds: float) -> None:
        self.watcher.on_step(progress, report, seconds)
        self.progress = progress
        if self.pace is not None:
            self.pace.on_step(seconds, steps=progress.steps, budget_left=progress.left)
        if time.monotonic() - self.written > EVERY:
            self.write()

    def on_validation(self, record: Mapping[str, Any]) -> None:
        self.watcher.on_validation(record)
        if self.pace is not None:
            self.pace.on_validation(record["validation_seconds"], steps=record["steps"])
        self.write()

    def on_end(self, progress: Progress) -> None:
        """If training was stopped early, the page no longer reloads."""
        self.progress = progress
        if not progress.stopped:
            self.write(refresh=0)

    def write(self, *, refresh: int = REFRESH) -> None:
        """Writes the page. If that fails, training continues: the next checkpoint reports the problem with the disk."""
        if self.pace is None:
            return
        with suppress(RunError):
            self.run.show_report(self.page(self.shown(self.pace, refresh)))
        self.written = time.monotonic()

    def page(self, progress: ShownProgress) -> str:
        prepared, sample = self.rehearsal.prepared, self.rehearsal.held.sample
        counts = self.rehearsal.parameters, len(prepared.examples)
        return make_live_report(prepared.task, prepared.setup, self.run, progress, sample, counts=counts)

    def shown(self, pace: Pace, refresh: int) -> ShownProgress:
        progress, settings = self.progress, self.rehearsal.prepared.recipe.train
        return ShownProgress(
            step=progress.step,
            steps=pace.steps,
            epoch=progress.epoch + 1,
            elapsed=progress.seconds + progress.validating,
            left=pace.left(progress.step),
            best=best_words(progress.best_score, progress.best_step, best_by=settings.best_by, metrics=self.metrics),
            written=int(time.time()),
            refresh=refresh,
            silence=SILENCE + int(3 * pace.validation_seconds),
        )
