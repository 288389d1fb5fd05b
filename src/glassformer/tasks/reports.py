"""The page of a run of any task, during training and at its end. A task adds its own parts (`report_parts`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from glassformer.evaluate.score import Score
from glassformer.explain.architecture import short
from glassformer.explain.charts import shown_metrics
from glassformer.explain.page import render_report
from glassformer.explain.progress import ShownProgress, Watched, watched
from glassformer.explain.report import Report, certain
from glassformer.explain.verdict import Facts, verdict
from glassformer.printable import counted
from glassformer.store.run import RunFolder
from glassformer.store.weights import parameter_count
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.fine_tuned import Change, start_facts
from glassformer.training.prepare import Prepared
from glassformer.training.resume import noted_changes
from glassformer.training.task import Example, Setup, Task
from glassformer.training.validate import WATCHED


def make_report(
    user: Any,
    run: RunFolder,
    prepared: Prepared,
    found: Evaluation,
    sample: Sequence[Example],
    *,
    part: str,
    parts: Mapping[str, Any],
    changes: Mapping[str, Change | None],
) -> str:
    """The page of a finished run as HTML.

    `sample` are the examples that were predicted at each validation, `parts` the task's own fields of the report,
    `changes` what fine-tuning changed.
    """
    task, setup, curves = prepared.task, prepared.setup, course(run)
    report = Report(
        title=f"Run {run.path.name}",
        subtitle=f"{task.title}, from {user.origin}",
        facts=facts(task, setup, run, parameter_count(user.model), len(prepared.examples), changes),
        verdict=verdict(curves, found.scores, facts_of_verdict(task, setup, len(prepared.examples), part)),
        part=part,
        scores=found.scores,
        metrics=shown_metrics(found.metrics),
        held=task.held_units,
        predictions=task.predictions,
        tokens=task.tokens,
        curves=curves,
        curve_notes=curve_notes(task, setup.recipe, curves, found.scores),
        watched=watched_examples(task, sample, curves),
        **parts,
    )
    return render_report(report)


def make_live_report(
    task: Task, setup: Setup, run: RunFolder, progress: ShownProgress, sample: Sequence[Example], *, counts: Counted
) -> str:
    """The page during training. It shows what training measures anyway; nothing extra is computed."""
    curves, (parameters, examples) = course(run), counts
    report = Report(
        title=f"Run {run.path.name}",
        subtitle=task.title,
        facts=facts(task, setup, run, parameters, examples),
        progress=progress,
        metrics=shown_metrics(task.metrics_for(setup.recipe)),
        held=task.held_units,
        predictions=task.predictions,
        tokens=task.tokens,
        curves=curves,
        curve_notes=curve_notes(task, setup.recipe, curves),
        watched=watched_examples(task, sample, curves),
    )
    return render_report(report)


Counted = tuple[int, int]  # parameters of the model, training examples


def facts_of_verdict(task: Task, setup: Setup, examples: int | None, part: str) -> Facts:
    """What the verdict needs to know besides curves and scores."""
    recipe = setup.recipe
    return Facts(
        metrics=task.metrics_for(recipe),
        train_examples=examples,
        examples=task.units,
        held=task.held_units,
        part=part,
        vocabulary=task.vocabulary(setup),
        dropout=getattr(recipe.model, "dropout", None),
        budget=recipe.train.budget,
        fine_tuned=recipe.train.start_from is not None,
    )


def course(run: RunFolder) -> list[dict[str, Any]]:
    """The records that have a step; the final measurement has none."""
    return [record for record in run.metrics() if "step" in record]


def watched_examples(task: Task, sample: Sequence[Example], curves: Sequence[Mapping[str, Any]]) -> list[Watched]:
    """The few examples whose predictions each validation keeps, with these predictions."""
    return watched([task.question(sample[i]) for i in task.watched(sample, WATCHED)], curves)


def curve_notes(
    task: Task, recipe: Any, curves: Sequence[Mapping[str, Any]], scores: Sequence[Score] = ()
) -> dict[str, str]:
    """One line for each chart: what a reader must know to understand it."""
    smoothing, dropout = recipe.train.label_smoothing, getattr(recipe.model, "dropout", 0.0)
    harder = [f"label smoothing ({smoothing:g})"] if smoothing else []
    harder += [f"dropout ({dropout:g})"] if dropout else []
    notes = {"speed": "The mean since the start, without validations."}
    if harder:
        notes["loss"] = f"The training loss includes {' and '.join(harder)}, the validation loss does not."
    predicted = any(one.at_validations and not one.from_losses for one in task.metrics)
    count = next((row["valid_sentences"] for row in reversed(curves) if "valid_sentences" in row), None)
    if count is not None and predicted:
        made = f"{task.predicted_by} {task.predictions}".strip()
        notes["score"] = f"{made[:1].upper()}{made[1:]} of {count:,} validation {task.held_units}."
        if scores:
            notes["score"] += f" The scores above are on {scores[0].measured_on}."
    return notes


def facts(
    task: Task,
    setup: Setup,
    run: RunFolder,
    parameters: int,
    examples: int | None,
    changes: Mapping[str, Change | None] = MappingProxyType({}),
) -> dict[str, list[tuple[str, str]]]:
    """The main facts: the model's shape, its training, its data, and what a fine-tuned run started from."""
    about, train = run.about(), setup.recipe.train
    started = start_facts(task, setup.recipe, changes)
    return {
        "Model": task.model_facts(setup, parameters),
        "Training": [
            *ended_facts(about.get("training", {})),
            ("Machine", f"{train.device}, {counted(train.threads, 'thread')}" + in_words(train.ranks)),
            *smoothing_facts(train.label_smoothing, task.vocabulary(setup)),
            ("Learning rate", f"{train.lr:g}, {train.schedule} after {train.warmup} steps of warm-up"),
            *([(task.units.capitalize(), f"{examples:,}")] if examples else []),
            *((f"Changed at step {step:,}", changed) for step, changed in noted_changes(about)),
        ],
        **({"Fine-tuning": started} if started else {}),
    }


def smoothing_facts(smoothing: float, vocabulary: int | None) -> list[tuple[str, str]]:
    """Label smoothing, and the probability above which no model trained with it is taught to go."""
    most = certain(smoothing, vocabulary) if vocabulary else None
    taught = f", so the right token is taught {most.probability:.1%}, not 100%" if most else ""
    return [("Label smoothing", f"{smoothing:g}{taught}")] if smoothing else []


def ended_facts(training: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts that are known once training has ended."""
    if not training:
        return []
    seconds = training.get("elapsed_seconds", training["seconds"])
    return [
        ("Steps", f"{training['steps']:,}, best at {training['best_step']:,}"),
        *trained_facts(training),
        *([("FLOPs", flops_in_words(training["flops"]))] if training.get("flops") else []),
        ("Time", f"{seconds:,.0f} s, of which {training['seconds']:,.0f} s in steps"),
    ]


def trained_facts(training: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How much of the model was trained, if not all of it."""
    trained, weights = training.get("trained"), training.get("weights")
    return [("Trained", f"{trained:,} of {weights:,} weights")] if trained and trained != weights else []


def flops_in_words(flops: float) -> str:
    """`1.23 P (1.23e+15), forward and backward`."""
    return f"{short(round(flops)).strip()} ({flops:.3g}), forward and backward, without padding"


def in_words(ranks: int | None) -> str:
    return f" in each of {ranks} processes" if ranks and ranks > 1 else ""
