"""A run of a task, read from its folder: recipe and tokenizers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassformer.config import validate
from glassformer.errors import GlassformerError, RunError
from glassformer.store.bundle import kind_in, read_settings
from glassformer.store.run import CONFIG, RunFolder
from glassformer.text import Tokenizer
from glassformer.training.task import Task, Tokenizers

TOKENIZER_FILES = ("tokenizer.json", "source.tokenizer.json", "target.tokenizer.json")


def named_task(tree: Mapping[str, Any]) -> str | None:
    """The task that a config.toml names; None for an imported model, or a run from before there were several tasks."""
    return str(tree["task"]) if "task" in tree else None


def is_imported(tree: Mapping[str, Any]) -> bool:
    """Whether a config.toml belongs to an imported model."""
    return "task" not in tree and ("kind" in tree or "marks" in tree)


def is_of(task: Task, run: RunFolder) -> bool:
    """Whether a folder is a run of this task; True for a damaged folder, since reading it reports the damage."""
    try:
        return run.exists and _fits(task, read_settings(run.path))
    except GlassformerError:
        return True


def _fits(task: Task, tree: Mapping[str, Any]) -> bool:
    return named_task(tree) == task.name or (task.is_oldest and "task" not in tree and not is_imported(tree))


def read_recipe(task: Task, run: RunFolder) -> Any:
    """The resolved settings of a run of this task."""
    tree = read_settings(run.path)
    if not _fits(task, tree):
        named = named_task(tree)
        kind = kind_in(tree, origin=str(run.path / CONFIG))
        what = f"was trained to {named}" if named else f"holds a model of the kind {kind!r}"
        raise RunError(f"{run.path} {what}, not to {task.name}.")
    return validate(task.recipe, {"task": task.name, **tree}, origin=str(run.path / CONFIG))


def read_tokenizers(run: RunFolder) -> Tokenizers:
    """The tokenizers of a run, by their file names."""
    names = [name for name in TOKENIZER_FILES if run.holds(name)]
    for name in names:
        run.text(name)  # refuses a damaged or missing file
    return {name: Tokenizer.load(run.path / name) for name in names}
