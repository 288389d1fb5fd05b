"""Who looks on while a translator is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.train.loop import Progress, Watcher
from glassformer.train.plan import Forecast


class TrainingWatcher(Watcher, Protocol):
    """Someone who also wants to hear what happens before and after the steps."""

    def on_stage(self, text: str) -> None:
        """A part of the work begins, or something worth knowing was found."""

    def on_count(self, done: int, total: int) -> None:
        """How far the part that began last has come."""

    def on_plan(self, recipe: TranslationRecipe, *, parameters: int, resumed_at: int, forecast: Forecast) -> None:
        """Everything is decided; the steps begin."""


class Silent:
    """A watcher that looks away."""

    def on_stage(self, text: str) -> None: ...
    def on_count(self, done: int, total: int) -> None: ...
    def on_plan(self, recipe: TranslationRecipe, *, parameters: int, resumed_at: int, forecast: Forecast) -> None: ...
    def on_step(self, progress: Progress, report: Any, seconds: float) -> None: ...
    def on_validation(self, record: Mapping[str, Any]) -> None: ...
