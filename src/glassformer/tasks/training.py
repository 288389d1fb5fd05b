"""Trains any task with a recipe: the engine together with loading and reports. `gf.train` is here."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from glassformer.config import merge
from glassformer.errors import DataError, SettingsError
from glassformer.tasks.closing import close_run
from glassformer.tasks.forking import check_process
from glassformer.tasks.live_report import LiveReport
from glassformer.tasks.model import described
from glassformer.tasks.registry import DEFAULT, task_for, task_named
from glassformer.tasks.starting import open_start
from glassformer.training.job import Progress
from glassformer.training.plan import Forecast
from glassformer.training.profile import Profile
from glassformer.training.recipe import Recipe
from glassformer.training.run import Hooks, forecast_run, profile_run, train_run
from glassformer.training.timekeeper import Clock
from glassformer.training.watching import TrainingWatcher

EXAMPLES = {  # of sections
    "data": '{"files": "train.tsv", "valid": "10%"}',
    "train": '{"steps": 500}',
    "model": '{"size": "small"}',
    "text": '{"vocab_size": 8000}',
    "decode": '{"beam": 5}',
}
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
    check_path("out", out)
    check_path("start_from", start_from)
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
    added: dict[str, Any] = {name: section_of(name, values) for name, values in sections.items()}
    if own:
        added["train"] = {**added.get("train", {}), **{name: str(value) for name, value in own.items()}}
    if data is not None:
        named = "pairs" if (task or (DEFAULT if recipe is None else task_in(recipe))) == DEFAULT else "files"
        added["data"] = section_of("data", data) if isinstance(data, Mapping) else {named: files_of(data)}
    if task is not None:
        added["task"] = task_for(task, files_in(added.get("data", {})))
    if not added and recipe is not None:
        return recipe
    check_recipe(recipe)
    tree = {} if recipe is None else recipe if isinstance(recipe, Mapping) else recipe.model_dump(exclude_unset=True)
    return merge(dict(tree), added)


def files_in(data: Any) -> list[str]:
    """The names of files in the settings of [data]; none if they are something else."""
    files = data.get("files", []) if isinstance(data, Mapping) else []
    given = [files] if isinstance(files, str | Path) else files
    return [str(one) for one in given if isinstance(one, str | Path)] if isinstance(given, list | tuple) else []


def section_of(name: str, values: Any) -> Any:
    """The settings of one section of the recipe; the recipe's own check names sections that there are not."""
    if name not in EXAMPLES:
        return values
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise SettingsError(f"{name} = {described(values)}: expected settings by name, for instance {EXAMPLES[name]}.")
    return dict(values)


def files_of(data: Any) -> list[str]:
    several = isinstance(data, Iterable) and not isinstance(data, str | bytes | bytearray | Mapping)
    found = list(data) if several else [data]
    for one in found:
        if not isinstance(one, str | Path):
            raise DataError(
                f"data has {described(one)}; expected the name of a file (str or Path), a list of names, or the "
                f"settings of [data], for instance {EXAMPLES['data']}."
            )
        check_path("data", one)
    return [str(one) for one in found]


def check_path(name: str, path: Any) -> None:
    """Refuses what cannot be the name of a file or folder."""
    if path is not None and not isinstance(path, str | Path):
        raise SettingsError(f"{name} = {described(path)}: expected a path (str or Path).")
    try:
        os.stat(path or "")
    except (OSError, ValueError) as problem:
        if isinstance(problem, ValueError) or problem.errno == errno.ENAMETOOLONG:  # it may not exist yet
            why = getattr(problem, "strerror", None) or problem
            raise SettingsError(f"{name} = {described(path)}: not a usable path ({why}). Give another.") from None


def check_recipe(recipe: Any) -> None:
    if recipe is not None and not isinstance(recipe, Mapping | Recipe):
        raise SettingsError(
            f"Got {described(recipe)} as recipe; expected a recipe or a dict with the names of a recipe file. For a "
            "recipe file: gf.train(tomllib.load(file), ...)."
        )


def task_in(recipe: Any) -> str:
    check_recipe(recipe)
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
    check_path("out", out)
    check_recipe(recipe)
    return train_run(
        task_named("translate"), recipe, HOOKS, out=out, watcher=watcher, accept_changes=accept_changes, clock=clock
    )


def forecast_training(recipe: Any, *, watcher: TrainingWatcher | None = None) -> Forecast:
    """The memory and time that training with this recipe would take on this machine. Creates no run."""
    return forecast_run(task_named(task_in(recipe)), recipe, HOOKS, watcher=watcher)


def profile_training(recipe: Any, *, watcher: TrainingWatcher | None = None) -> Profile:
    """How the time of a training step with this recipe is spent. Creates no run."""
    return profile_run(task_named(task_in(recipe)), recipe, HOOKS, watcher=watcher)
