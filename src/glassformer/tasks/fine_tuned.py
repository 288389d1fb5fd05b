"""A fine-tuned model against the run it started from: on the new examples, and on what was known before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.errors import GlassformerError
from glassformer.evaluate.metric import Metric
from glassformer.evaluate.score import Score
from glassformer.store.run import RunFolder
from glassformer.tasks.evaluating import Trained, evaluate_model, open_trained
from glassformer.training.budget_rules import reported_in
from glassformer.training.prepare import MOST_KNOWN, Prepared
from glassformer.training.reading import is_of, read_recipe
from glassformer.training.task import Example, Task
from glassformer.training.watching import Silent, TrainingWatcher

NEW, KNOWN = "new", "known"  # keys in the last line of the metrics
Change = dict[str, Any]  # a score before and after


def known_before(task: Task, start: str, most: int) -> Sequence[Example] | None:
    """The examples that the other run validated with, as they were; None if they cannot be read again."""
    run = RunFolder(Path(start))
    try:
        valid, mark, _ = task.held_again(read_recipe(task, run), Silent())
        same = mark == run.about().get("data", {}).get("valid")
    except GlassformerError:
        return None
    return valid[:most] if same else None


def against_base(
    trained: Trained, prepared: Prepared, scores: Sequence[Score], watcher: TrainingWatcher
) -> dict[str, Change | None]:
    """The headline score before and after fine-tuning, on the new held-out examples and on the base run's.

    `scores` are those after it, on the new examples. A part that cannot be measured is None. The result is empty for a
    run that did not start from another one of the same task.
    """
    task, start = trained.task, prepared.recipe.train.start_from
    if start is None or not is_of(task, RunFolder(Path(start))):
        return {}
    try:
        base = open_trained(start, device=str(prepared.device))
        metrics = task.compared_by({start: base.setup, trained.name: trained.setup}, prepared.reported)[:1]
    except GlassformerError:
        return {NEW: None, KNOWN: None}
    after = next(score for score in scores if score.key == metrics[0].key)
    found: dict[str, Change | None] = {
        NEW: change(score_of(base, prepared.reported, metrics), after),
        KNOWN: None,
    }
    held = known_before(task, start, min(MOST_KNOWN, reported_in(prepared.recipe.train, task.rules)))
    if held is not None:
        found[KNOWN] = change(score_of(base, held, metrics), score_of(trained, held, metrics))
    else:
        watcher.on_stage(f"The validation {task.held_units} of {start} cannot be read again, so they are not measured")
    for name, row in found.items():
        if row is not None:
            part = f"New validation {task.held_units}" if name == NEW else f"Validation {task.held_units} of {start}"
            how = ", ".join(filter(None, (f"{row['sentences']:,} {task.held_units}", row["decoding"])))
            watcher.on_stage(f"{part}: {in_words(row, metrics[0])} ({how})")
    return found


def score_of(trained: Trained, examples: Sequence[Example], metrics: Sequence[Metric]) -> Score:
    return evaluate_model(trained.task, trained.setup, trained.user, examples, metrics=metrics).scores[0]


def change(before: Score, after: Score) -> Change:
    return {
        "metric": after.key,
        "before": before.value,
        "after": after.value,
        "decoding": after.decoding,
        "sentences": after.sentences,
    }


def in_words(row: Mapping[str, Any], metric: Metric) -> str:
    return f"{metric.label} {metric.shown(row['before'])} before, {metric.shown(row['after'])} after"


def start_facts(task: Task, recipe: Any, changes: Mapping[str, Change | None]) -> list[tuple[str, str]]:
    """For the report: what the run started from, what was mixed in, and both scores once they are measured."""
    train = recipe.train
    if train.start_from is None:
        return []
    mixed = f"{train.old_share:.0%} of the tokens" if train.old_share else "none"
    parts = ((NEW, f"New {task.held_units}"), (KNOWN, f"Its validation {task.held_units}"))
    return [
        ("Started from", train.start_from),
        (f"Its {task.units} mixed in", mixed),
        *(
            (name, in_words(row, task.metrics_for(recipe)[0]))
            for key, name in parts
            if (row := changes.get(key)) is not None
        ),
    ]
