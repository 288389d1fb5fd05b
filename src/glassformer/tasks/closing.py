"""The end of a run: the chosen weights are measured, and the report is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassformer.evaluate.metric import by_key
from glassformer.store.run import RunFolder
from glassformer.tasks.evaluating import Evaluation, Trained, evaluate_model
from glassformer.tasks.fine_tuned import against_base
from glassformer.tasks.loading import load
from glassformer.tasks.reports import make_report
from glassformer.training.prepare import Prepared, Rehearsal
from glassformer.training.watching import TrainingWatcher


def close_run(run: RunFolder, prepared: Prepared, rehearsal: Rehearsal, watcher: TrainingWatcher) -> None:
    """Measures the finished run, and writes its report and the last line of its metrics."""
    user: Any = load(run.path, device=str(prepared.device))
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        watcher.on_count(done, len(prepared.reported))

    task, part = prepared.task, part_of(prepared)
    found = evaluate_model(task, prepared.setup, user, prepared.reported, progress=count)
    watcher.on_stage(in_words(found, prepared))
    changes = against_base(Trained(str(run.path), task, prepared.setup, user), prepared, found.scores, watcher)
    parts = task.report_parts(user, found, prepared)
    page = make_report(user, run, prepared, found, rehearsal.held.sample, part=part, parts=parts.page, changes=changes)
    run.write_report(page)
    work = {"flops": run.about()["training"]["flops"]}
    run.append_metrics({**measured_record(found, part), **work, **changes, **parts.record})


def part_of(prepared: Prepared) -> str:
    return f"{'unseen' if prepared.material.test is not None else 'validation'} {prepared.task.held_units}"


def in_words(found: Evaluation, prepared: Prepared) -> str:
    """`accuracy 91.2%, macro F1 90.8% (1,000 validation examples)`: the metrics that each validation also measures."""
    metrics = by_key(prepared.task.metrics_for(prepared.recipe))
    shown = [(metrics[one.key], one) for one in found.scores if one.key in metrics]
    parts = [f"{one.name} {metric.shown(one.value)}" for metric, one in shown if metric.at_validations]
    first = found.scores[0]
    how = ", ".join(filter(None, (first.decoding, f"{first.sentences:,} {part_of(prepared)}")))
    return f"{', '.join(parts)} ({how})"


def measured_record(found: Evaluation, part: str) -> Mapping[str, Any]:
    """The last line of the metrics. It has no step: it belongs to the chosen weights, and is repeated on resume."""
    first = found.scores[0]
    values = {score.key: score.value for score in found.scores}
    return {"measured": values, "decoding": first.decoding, "sentences": first.sentences, "part": part}
