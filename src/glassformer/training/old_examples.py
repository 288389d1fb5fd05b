"""The examples that the base run of a fine-tuning run learned from: read again if they have not changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glassformer.errors import GlassformerError
from glassformer.store.run import RunFolder
from glassformer.training.reading import is_of, read_recipe
from glassformer.training.task import Material, Task
from glassformer.training.watching import Silent, TrainingWatcher

SHARE = 0.5  # default share of the tokens
FILES = "files"  # key of the fingerprint of the raw files, next to those of the examples
MISSING = "Old examples cannot be mixed in, so more may be forgotten: {}"


def old_materials(task: Task, recipe: Any, new: Material, watcher: TrainingWatcher) -> list[tuple[Any, Material]]:
    """The data of the base run, then that of its own base run, and so on, as far as they can be read.

    Reports in one line what cannot be read, and why. Data identical to the `new` data is left out.
    """
    found: list[tuple[Any, Material]] = []
    seen: set[Path] = set()  # a run that replaced its own base would make a cycle
    while recipe.train.start_from and wanted_share(recipe) and Path(recipe.train.start_from).resolve() not in seen:
        base = RunFolder(Path(recipe.train.start_from))
        seen.add(base.path.resolve())
        if not is_of(task, base):  # an imported model, or a run of another task
            break
        try:
            later, recipe = recipe, read_recipe(task, base)
        except GlassformerError as error:
            watcher.on_stage(MISSING.format(error))
            break
        if not task.keeps_heads(later, recipe):  # its examples mean something else here
            break
        try:
            material = unchanged_material(task, base, recipe)
        except GlassformerError as error:
            watcher.on_stage(MISSING.format(error))
            continue
        if material.fingerprints["train"] != new.fingerprints["train"]:
            found.append((recipe, material))
    return found


def wanted_share(recipe: Any) -> float:
    """The share of old tokens that fine-tuning uses."""
    return SHARE if recipe.train.old_share is None else recipe.train.old_share


def unchanged_material(task: Task, run: RunFolder, recipe: Any) -> Material:
    """The data that the run learned from; an error if it cannot be read or has changed since."""
    material = task.read(recipe, Silent())
    then, now = run.about().get("data", {}), material.fingerprints
    part = FILES if FILES in now and FILES in then else "train"  # the other marks depend on the version too
    if then.get(part) != now[part]:
        raise GlassformerError(f"the data of {run.path} has changed since it was trained.")
    return material
