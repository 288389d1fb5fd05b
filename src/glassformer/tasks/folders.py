"""What is known about a path before its model is loaded: the task it was trained for, or why it is not a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.store.run import CONFIG

FIRST_TASK = "translate"  # runs of older versions name no task: there was only this one


def task_in(settings: Mapping[str, Any]) -> str | None:
    """What a run was trained for, by its config.toml; None for an imported model."""
    imported = "kind" in settings or "marks" in settings
    task = settings.get("task", None if imported else FIRST_TASK)
    return None if task is None else str(task)


def describe_missing(path: Path) -> str:
    """Why there is no model at this path, and how to get one."""
    if path.is_file() and (path.parent / CONFIG).is_file():
        return f"{path} is a file in a model folder. Give the folder: {path.parent}"
    if path.exists():
        return (
            f"{path} is not a model: it has neither {CONFIG} (a folder of glassformer) nor config.json (Hugging Face)."
        )
    name = str(path)
    on_hub = name.count("/") == 1 and not name.startswith((".", "/")) and not path.parent.exists()
    wanted, to = (name, "FOLDER") if on_hub else ("FOLDER", name)
    return (
        f"{path}: no such folder. Train a model first (glassformer train --task TASK --data FILE --out {path}; "
        f"`glassformer train --help` has examples), or import one (glassformer import {wanted} --out {to})."
    )
