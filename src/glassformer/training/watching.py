"""Watchers: objects that are notified while a run prepares, trains and ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from glassformer.training.job import Progress, Watcher
from glassformer.training.plan import Forecast
from glassformer.training.recipe import Recipe
from glassformer.training.task import Task


class TrainingWatcher(Watcher, Protocol):
    """A watcher that is also notified of the work before and after the steps."""

    def on_stage(self, text: str) -> None:
        """A part of the work begins, or there is something to report."""

    def on_count(self, done: int, total: int) -> None:
        """How far the current part is."""

    def on_plan(self, recipe: Recipe, *, parameters: int, resumed_at: int, forecast: Forecast, task: Task) -> None:
        """Everything is decided; the steps begin."""


class Silent:
    """A watcher that ignores everything."""

    def on_stage(self, text: str) -> None: ...
    def on_count(self, done: int, total: int) -> None: ...
    def on_plan(self, recipe: Recipe, *, parameters: int, resumed_at: int, forecast: Forecast, task: Task) -> None: ...
    def on_step(self, progress: Progress, report: Any, seconds: float) -> None: ...
    def on_validation(self, record: Mapping[str, Any]) -> None: ...
