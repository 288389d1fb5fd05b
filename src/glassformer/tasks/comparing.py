"""Comparing runs of one task: what differs in their settings, how they learned, and which predicts better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.config import value_of, walk
from glassformer.data.columns import Pool
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.metric import Metric
from glassformer.evaluate.score import Score
from glassformer.evaluate.significance import Difference, difference, holm
from glassformer.explain.difference import decides_nothing, difference_sentence
from glassformer.store.run import FINISHED, RunFolder
from glassformer.store.weights import parameter_count
from glassformer.tasks.evaluating import Evaluation, Trained, evaluate_model, open_trained, read_examples
from glassformer.tasks.fine_tuned import KNOWN, NEW
from glassformer.training.prepare import REPORTED
from glassformer.training.task import Example, Listener, Task

MOST_DIFFERENT = 5
VALIDATION = "validation"
SEEDS = (
    "The p-values are about these weights and these {units}. Another seed of the same settings gives other weights: "
    "train a setting with a few seeds before you call it better."
)


@dataclass(frozen=True)
class Contestant:
    """A run that is compared."""

    trained: Trained

    @cached_property
    def run(self) -> RunFolder:
        return RunFolder(Path(self.trained.name))

    @property
    def name(self) -> str:
        """As it was given."""
        return self.trained.name

    @property
    def origin(self) -> str:
        """Which of its weights are used."""
        return str(self.trained.user.origin)

    @property
    def recipe(self) -> Any:
        return self.trained.setup.recipe

    @cached_property
    def about(self) -> dict[str, Any]:
        return self.run.about()

    @cached_property
    def parameters(self) -> int:
        return parameter_count(self.trained.user.model)

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        return self.run.metrics()

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The records of its steps."""
        return [record for record in self.metrics if "step" in record]

    @property
    def validations(self) -> list[dict[str, Any]]:
        return [record for record in self.records if "valid_loss" in record]

    @cached_property
    def closing(self) -> dict[str, Any]:
        """What was measured at the end of its training; empty before that."""
        return next((record for record in reversed(self.metrics) if "step" not in record), {})


@dataclass(frozen=True)
class Pairing:
    """The first run against another one; `p` is adjusted for the number of such pairings."""

    name: str
    differences: list[Difference]
    p: list[float]
    words: list[str]


@dataclass(frozen=True)
class Different:
    """An example that the runs predict differently well."""

    source: str
    references: tuple[str, ...]
    predictions: list[str]  # by run; none where only losses are measured
    scores: list[float]  # by run


@dataclass(frozen=True)
class Comparison:
    """All that is found, in the order of the runs given."""

    task: Task
    contestants: list[Contestant]
    settings: list[tuple[str, list[Any]]]  # those that differ, with each run's value
    part: str
    sentences: int  # how many examples
    metrics: tuple[Metric, ...]
    scores: list[list[Score]]
    pairings: list[Pairing]
    judged_by: Metric | None  # of `most_different`
    most_different: list[Different]
    notes: list[str]

    @property
    def decoding(self) -> str:
        """How the predictions were made: `beam 5`, or `beam 5 and greedy` if the runs differ in that."""
        return " and ".join(dict.fromkeys(scores[0].decoding for scores in self.scores if scores[0].decoding))

    @property
    def decides(self) -> bool:
        """Whether there are enough examples for intervals and p-values to mean anything."""
        return decisive(self.pairings)

    @property
    def shown_scores(self) -> list[list[Score]]:
        """The scores, without intervals if there are too few examples."""
        bare = [[replace(score, low=None, high=None) for score in row] for row in self.scores]
        return self.scores if self.decides else bare


def compare_runs(
    paths: Sequence[str],
    examples: Sequence[Example] | None = None,
    *,
    files: Sequence[str] = (),
    columns: str | None = None,
    part: str = "",
    beam: int | None = None,
    device: str = "cpu",
    listener: Listener,
) -> Comparison:
    """Measures each run on `examples`, on those of `files`, or else on what all of them have held out."""
    check_names(paths)
    contestants = [Contestant(open_trained(path, device=device)) for path in paths]
    first = contestants[0].trained
    task = same_task(contestants)
    if examples is None and files:
        examples = read_examples(first, files, listener, columns=columns)
    if examples is None:
        examples, part = common_held(contestants, listener)
    part = part or f"given {task.held_units}"
    metrics = task.compared_by({one.name: one.trained.setup for one in contestants}, examples)
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        listener.on_count(done, len(paths) * len(examples))

    listener.on_stage(f"Measuring on {part}")  # how many is known later, if they are windows of texts
    found = []
    for one in contestants:
        task.check_held(one.trained.setup, examples)
        setup, user = one.trained.setup, one.trained.user
        found.append(evaluate_model(task, setup, user, examples, metrics=metrics, beam=beam, progress=count))
    judge = next((metric for metric in metrics if metric.judges_one), None)
    against = pairings(paths, found, metrics, task)
    return Comparison(
        task=task,
        contestants=contestants,
        settings=differing(contestants),
        part=part,
        sentences=found[0].scores[0].sentences or len(examples),
        metrics=metrics,
        scores=[one.scores for one in found],
        pairings=against,
        judged_by=judge,
        most_different=[] if judge is None else most_different(first, found, metrics.index(judge)),
        notes=cautions(contestants, part, decides=decisive(against)),
    )


def check_names(paths: Sequence[str]) -> None:
    if len(paths) < 2:
        raise SettingsError(f"Got {len(paths)} run; give at least two: glassformer compare runs/a runs/b")
    places = [Path(path).resolve() for path in paths]
    for i, place in enumerate(places):
        if place in places[:i]:
            raise SettingsError(f"{paths[i]} is given twice; a run cannot be compared with itself.")


# Whether they can be compared


def same_task(contestants: Sequence[Contestant]) -> Task:
    first = contestants[0]
    for one in contestants[1:]:
        if one.trained.task.name != first.trained.task.name:
            raise DataError(
                f"{first.name} was trained to {first.trained.task.name} and {one.name} to {one.trained.task.name}: "
                "only runs of one task can be compared."
            )
    return first.trained.task


def common_held(contestants: Sequence[Contestant], listener: Listener) -> tuple[Sequence[Example], str]:
    """The examples that all runs have held out, read again, and what they are."""
    first = contestants[0]
    task, units = first.trained.task, first.trained.task.held_units
    marks = [one.about.get("data", {}).get("valid") for one in contestants]
    for one, mark in zip(contestants, marks, strict=True):
        if mark is None or mark != marks[0]:
            raise DataError(
                f"{first.name} and {one.name} have held out different {units}, so they need a common "
                f"test: give {units} that neither run has learned from, --test FILE... (Without --valid FILE, "
                "train.seed also chooses what is held out.)"
            )
    valid, mark, test = task.held_again(first.recipe, listener)
    if mark != marks[0]:
        raise DataError(
            f"The data of {first.name} has changed since it was trained, so what it held out is no longer there. "
            f"Give {units} that no run has learned from: --test FILE..."
        )
    if test is None:
        return valid[:REPORTED], f"{VALIDATION} {units}"
    corpus = getattr(first.recipe.data, "corpus", None)
    return test, f"test {units} of {corpus}" if corpus else f"test {units}"


def decisive(found: Sequence[Pairing]) -> bool:
    return all(row.decides for pairing in found for row in pairing.differences)


def cautions(contestants: Sequence[Contestant], part: str, *, decides: bool) -> list[str]:
    """What a reader should know before believing the numbers."""
    units = contestants[0].trained.task.held_units
    notes = [f"{one.name} is its {one.origin}." for one in contestants if one.origin not in ("", FINISHED)]
    if part.startswith(VALIDATION):
        notes.append(f"These {units} also chose the weights of each run: expect slightly worse scores on others.")
    if len({one.about.get("data", {}).get("train") for one in contestants}) > 1:
        notes.append(f"The runs learned from different data. It is not checked whether one has seen these {units}.")
    if not decides:
        return [decides_nothing(units), *notes]
    if len(contestants) > 2:
        notes.append(f"p-values are adjusted for {len(contestants) - 1} comparisons (Holm).")
    return [*notes, SEEDS.format(units=units)]


# What is found


def value_text(value: Any) -> str:
    """A setting as people write it; the terminal and the page show the same."""
    if value is None or value == ():
        return "not set"
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


def differing(contestants: Sequence[Contestant]) -> list[tuple[str, list[Any]]]:
    """Settings, and facts beside them, that are not the same in all runs."""
    names = dict.fromkeys(name for one in contestants for name, _ in walk(one.recipe) if name != "out")
    rows: list[tuple[str, list[Any]]] = [(name, [value_of(one.recipe, name) for one in contestants]) for name in names]
    made = [max((record["step"] for record in one.records), default=0) for one in contestants]
    rows.append(("steps made", made))  # train.steps is the plan; a run may stop earlier
    rows.append(("parameters", [one.parameters for one in contestants]))
    rows += [(name, [one.about.get(name) for one in contestants]) for name in ("glassformer", "torch")]
    learned = [one.about.get("data", {}).get("train", "")[:8] for one in contestants]
    rows.append(("fingerprint of the training data", learned))
    units = contestants[0].trained.task.held_units
    parts = {NEW: f"fine-tuning, new validation {units}", KNOWN: f"fine-tuning, the base run's validation {units}"}
    rows += [(words, [change_of(one, key) for one in contestants]) for key, words in parts.items()]
    return [(name, values) for name, values in rows if any(value != values[0] for value in values)]


def change_of(one: Contestant, key: str) -> str | None:
    """What fine-tuning changed by its own measurement; None for a run that started from no other."""
    row, metric = one.closing.get(key), one.trained.task.metrics_for(one.trained.setup.recipe)[0]
    return None if row is None else f"{metric.label} {metric.shown(row['before'])} to {metric.shown(row['after'])}"


def pairings(names: Sequence[str], found: Sequence[Evaluation], metrics: Sequence[Metric], task: Task) -> list[Pairing]:
    """The first run against each of the others."""
    rows: list[list[Difference]] = [[] for _ in found[1:]]
    for i, metric in enumerate(metrics):
        counts = task.paired_counts([one.counts[i] for one in found], [one.pool for one in found])
        about = metric.signature(found[0].examples) if metric.signature else ""
        for k, own in enumerate(counts[1:]):
            rows[k].append(difference(metric, counts[0], own, about=about, unit=task.held_units))
    by_metric = [holm([own[i].p for own in rows]) for i in range(len(metrics))]
    return [
        Pairing(
            name=name,
            differences=own,
            p=[values[k] for values in by_metric],
            words=[
                difference_sentence(row, names[0], name, p=by_metric[i][k], sign=metrics[i].unit)
                for i, row in enumerate(own)
            ],
        )
        for k, (name, own) in enumerate(zip(names[1:], rows, strict=True))
    ]


def most_different(
    first: Trained, found: Sequence[Evaluation], judge: int, *, most: int = MOST_DIFFERENT
) -> list[Different]:
    """The examples whose scores by one metric are farthest apart; none if the runs do not have the same rows."""
    metric = found[0].metrics[judge]
    if metric.from_losses and not all(same_rows(found[0].pool, one.pool) for one in found[1:]):
        return []
    scores = np.stack([metric.score(one.counts[judge]) for one in found])  # (runs, rows)
    gaps = scores.max(axis=0) - scores.min(axis=0)
    order = [int(i) for i in np.argsort(-gaps, kind="stable")[:most] if gaps[i] > 0]
    return [different(first, found, i, scores[:, i].tolist(), from_losses=metric.from_losses) for i in order]


def same_rows(first: Pool | None, other: Pool | None) -> bool:
    """Whether two runs have the same ids in the same rows."""
    if first is None or other is None:
        return first is other
    return all(
        np.array_equal(column.flat, other.columns[name].flat)
        and np.array_equal(column.lengths, other.columns[name].lengths)
        for name, column in first.columns.columns.items()
    )


def different(
    first: Trained, found: Sequence[Evaluation], i: int, scores: list[float], *, from_losses: bool
) -> Different:
    """Row i. Rows of losses are rows of ids, which are not always the examples that were read."""
    if from_losses and found[0].pool is not None:
        words = first.task.in_words(first.setup, found[0].pool.batch(np.array([i]), None))[0]
        return Different(" / ".join(words.values()), (), [], scores)
    example = found[0].examples[i]
    source, references = first.task.question(example)
    return Different(source, references, [first.task.shown(example, one.predictions[i]) for one in found], scores)
