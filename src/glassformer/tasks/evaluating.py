"""Measuring a trained model of any task: predictions and losses of held-out examples, scores with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from glassformer.config import validate
from glassformer.data.columns import Pool
from glassformer.data.sources.files import have_columns
from glassformer.errors import RunError, SettingsError
from glassformer.evaluate.intervals import score_with_interval
from glassformer.evaluate.metric import LOSS, Counts, Measured, Metric
from glassformer.evaluate.score import Score
from glassformer.store.run import RunFolder
from glassformer.tasks.loading import load, task_of
from glassformer.tasks.model import LoadedModel
from glassformer.tasks.registry import TASKS, task_named
from glassformer.tasks.starting import tokenizers_of
from glassformer.training.reading import read_recipe, read_tokenizers
from glassformer.training.task import Example, Listener, Setup, Task
from glassformer.training.validate import held_losses

Progress = Callable[[int], None]  # how many more examples are done


@dataclass(frozen=True)
class Trained:
    """A model that does a task, with what the task's functions need."""

    name: str  # its folder, as it was given
    task: Task
    setup: Setup
    user: Any  # what `gf.load` returns


def open_trained(path: str | Path, *, device: str = "cpu") -> Trained:
    """A run of any task, or an imported model that does a task as it is."""
    named, user = task_of(Path(path)), load(path, device=device)
    if named is None:
        return imported(str(path), user)
    task, run = task_named(named), RunFolder(Path(path))
    return Trained(str(path), task, Setup(read_recipe(task, run), read_tokenizers(run)), user)


def imported(name: str, user: LoadedModel) -> Trained:
    for task in map(task_named, TASKS):
        recipe = task.recipe_of(user.bundle) if user.bundle.kind in task.kinds else None
        if recipe is not None:
            return Trained(name, task, Setup(recipe, tokenizers_of(task, user.bundle)), user)
    raise RunError(
        f"{name} is an imported {user.bundle.kind} model. Imported translators and runs of `glassformer train` can be "
        "measured; fine-tune this one first (glassformer train --from)."
    )


def read_examples(
    trained: Trained, files: Sequence[str], listener: Listener, *, columns: str | None = None
) -> Sequence[Example]:
    """Held-out examples from files; `columns` are those of these files, by default those of the training data."""
    task, setup = trained.task, trained.setup
    data = setup.recipe.data
    if columns is not None:
        if not (task.has_columns or have_columns(files)):
            raise SettingsError(f"--columns {columns}: {files[0]} has no columns. Leave it out, or give a table.")
        chosen = validate(type(data), {"columns": columns}, origin="--columns", section="data").columns
        data = data.model_copy(update={"columns": chosen})
    examples = task.read_held(files, setup.recipe.model_copy(update={"data": data}), listener)
    task.check_held(setup, examples)
    return examples


@dataclass(frozen=True)
class Evaluation:
    """What a model made of held-out examples."""

    scores: list[Score]
    examples: Sequence[Example]
    predictions: list[Any] = field(default_factory=list)  # one for each example; none where only losses are measured
    losses: Counts | None = None  # (rows, 2), of every row of ids
    pool: Pool | None = None  # the rows
    metrics: tuple[Metric, ...] = ()  # of the scores
    counts: list[Counts] = field(default_factory=list)  # of the scores, row by row
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)  # of simple methods, by name and metric


def evaluate_model(
    task: Task,
    setup: Setup,
    user: Any,
    examples: Sequence[Example],
    *,
    metrics: Sequence[Metric] | None = None,
    beam: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Every metric of the task on these examples, each with a 95% interval, then the loss; or only these `metrics`."""
    own = task.metrics_for(setup.recipe) if metrics is None else metrics
    chosen = tuple(metric for metric in own if metric.applies is None or metric.applies(examples))
    measured = (*chosen, LOSS) if task.reports_loss and metrics is None else chosen
    losses = pool = None
    if any(metric.from_losses for metric in measured):
        pool = task.pool_held(setup, task.encode_held(setup, examples).columns)
        losses = held_losses(task, setup, user.model, pool)
    predictions: list[Any] = []
    how = ""
    if not all(metric.from_losses for metric in measured):
        predictions, how = task.predict_best(user, examples, beam=beam, progress=progress)
    scores, counts = [], []
    for metric in measured:
        given, rows = (losses, pool) if metric.from_losses else (predictions, examples)
        score = score_with_interval(metric, given, rows, decoding="" if metric.from_losses else how)  # type: ignore[arg-type]
        scores.append(replace(score, unit=task.held_units))
        counts.append(metric.counts(given, rows))
    beside = baseline_scores(task, chosen, examples) if metrics is None else {}
    return Evaluation(scores, examples, predictions, losses, pool, measured, counts, beside)


def baseline_scores(task: Task, metrics: Sequence[Metric], examples: Sequence[Example]) -> dict[str, dict[str, float]]:
    """The scores of the task's simple methods."""
    return {
        name: {
            metric.key: Measured(metric, metric.counts(predictions, examples)).total
            for metric in metrics
            if not metric.from_losses
        }
        for name, predictions in task.baselines(examples).items()
    }
