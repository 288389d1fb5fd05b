"""Trains any task with a recipe: the engine together with loading and reports. `gf.train` is here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.config import merge
from glassformer.tasks.closing import close_run
from glassformer.tasks.forking import check_process
from glassformer.tasks.live_report import LiveReport
from glassformer.tasks.registry import DEFAULT, task_named
from glassformer.tasks.starting import open_start
from glassformer.training.job import Progress
from glassformer.training.plan import Forecast
from glassformer.training.profile import Profile
from glassformer.training.run import Hooks, forecast_run, profile_run, train_run
from glassformer.training.timekeeper import Clock
from glassformer.training.watching import TrainingWatcher

HOOKS = Hooks(open_start=open_start, live=LiveReport, close=close_run, check_process=check_process)


def train(
    recipe: Any = None,
    *,
    task: str | None = None,
    data: Any = None,
    out: str | Path | None = None,
    start_from: str | Path | None = None,
    budget: str | None = None,
    watcher: TrainingWatcher | None = None,
    accept_changes: bool = False,
    clock: Clock | None = None,
    **sections: Mapping[str, Any],
) -> Progress:
    """Trains a model in the folder `out` and returns its progress; an interrupted run is resumed.

    `recipe` is a task's recipe or a nested mapping with the same names as in a recipe file. The other arguments add to
    it: `task` is the verb that will use the model ("translate", "generate", "classify"); `data` is a file, several
    files, or the settings of [data]; `train`, `model`, `text` and `decode` are the settings of these sections.
    """
    given = recipe_of(recipe, task=task, data=data, start_from=start_from, budget=budget, sections=sections)
    return train_run(
        task_named(task_in(given)),
        given,
        HOOKS,
        out=out,
        watcher=watcher,
        accept_changes=accept_changes,
        clock=clock,
    )


def recipe_of(
    recipe: Any, *, task: str | None, data: Any, start_from: Any, budget: str | None, sections: Mapping[str, Any]
) -> Any:
    """The recipe with the other arguments added."""
    own = {name: value for name, value in (("budget", budget), ("start_from", start_from)) if value is not None}
    added: dict[str, Any] = {name: dict(values) for name, values in sections.items()}
    if own:
        added["train"] = {**added.get("train", {}), **{name: str(value) for name, value in own.items()}}
    if data is not None:
        added["data"] = dict(data) if isinstance(data, Mapping) else {"files": files_of(data)}
    if task is not None:
        added["task"] = task
    if not added and recipe is not None:
        return recipe
    tree = {} if recipe is None else recipe if isinstance(recipe, Mapping) else recipe.model_dump(exclude_unset=True)
    return merge(dict(tree), added)


def files_of(data: Any) -> list[str]:
    return [str(data)] if isinstance(data, str | Path) else [str(one) for one in data]


def task_in(recipe: Any) -> str:
    return str(recipe.get("task", DEFAULT) if isinstance(recipe, Mapping) else recipe.task)


def train_translator(
    recipe: Any,
    out: str | Path | None = None,
    *,
    watcher: TrainingWatcher | None = None,
    accept_changes: bool = False,
    clock: Clock | None = None,
) -> Progress:
    """`train` for translation."""
    return train_run(
        task_named("translate"), recipe, HOOKS, out=out, watcher=watcher, accept_changes=accept_changes, clock=clock
    )


def forecast_training(recipe: Any, *, watcher: TrainingWatcher | None = None) -> Forecast:
    """The memory and time that training with this recipe would take on this machine. Creates no run."""
    return forecast_run(task_named(task_in(recipe)), recipe, HOOKS, watcher=watcher)


def profile_training(recipe: Any, *, watcher: TrainingWatcher | None = None) -> Profile:
    """How the time of a training step with this recipe is spent. Creates no run."""
    return profile_run(task_named(task_in(recipe)), recipe, HOOKS, watcher=watcher)
