"""Loads a run of any task as an object with methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glassformer.errors import RunError
from glassformer.models.registry import SkipInit
from glassformer.store.run import RunFolder
from glassformer.store.weights import NoLargerThan, load_weights
from glassformer.tasks.folders import describe_missing
from glassformer.training.finish import SETTLED
from glassformer.training.machine import choose_device
from glassformer.training.reading import read_recipe, read_tokenizers
from glassformer.training.task import Setup, Task


def load_run(task: Task, folder: Path, *, device: str = "cpu") -> Any:
    """The model of a run, ready to use. During training it has the weights of the latest checkpoint."""
    run = RunFolder(folder)
    if not run.exists:
        raise RunError(describe_missing(folder))
    setup = Setup(read_recipe(task, run), read_tokenizers(run))
    weights, origin = run.weights()
    with NoLargerThan(weights, origin=str(folder)), SkipInit():
        model = task.build(setup)
    load_weights(model, weights, origin=str(folder))
    user = task.user(setup, model.to(choose_device(device)).eval(), origin=origin)
    user.bundle.extras.update(run.about().get(SETTLED, {}))
    user.folder = str(folder)
    return user
