"""Metrics of a model with several tasks: each task by its own, and the mean of their main metrics.

An example is (task, input, references). A metric of one task counts only that task's examples; the others have counts
of zero, so that sums, intervals and paired tests are those of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.evaluate.answers import EXACT, F1
from glassformer.evaluate.metric import Counts, Metric, Scale, mean_of
from glassformer.evaluate.rouge import rouge_metrics
from glassformer.evaluate.translation import translation_metrics

Example = Any
KEY = "mean_score"


def metrics_of(measure: str) -> tuple[Metric, ...]:
    """The metrics of one task; the first one is its main metric."""
    found: dict[str, Callable[[], tuple[Metric, ...]]] = {
        "bleu": lambda: tuple(replace(one, own_interval=None) for one in translation_metrics()[:2]),
        "rouge": lambda: rouge_metrics()[:3],
        "exact": lambda: (EXACT, F1),
        "f1": lambda: (F1, EXACT),
    }
    return found[measure]()


def of_task(metric: Metric, name: str) -> Metric:
    """The metric of the examples of one task only."""

    def counts(predictions: Sequence[Any], examples: Sequence[Example]) -> Counts:
        return counts_in(metric, name, predictions, examples)

    def signature(examples: Sequence[Example]) -> str:
        own = [example for example in examples if example[0] == name]
        return metric.signature(own) if metric.signature is not None and own else ""

    label = f"{name}: {metric.label}" if name else metric.label
    named = replace(metric, key=key_of(metric, name), label=label, judges_one=False)
    return replace(named, counts=counts, signature=signature, applies=partial(has_examples, name))


def has_examples(name: str, examples: Sequence[Example]) -> bool:
    return any(example[0] == name for example in examples)


def plain(name: str) -> str:
    """The name of a task in the keys of metrics."""
    return "".join(letter if letter.isalnum() else "_" for letter in name.casefold()).strip("_")


def same_in_keys(names: Sequence[str]) -> tuple[str, str] | None:
    """The first two tasks whose metrics would have the same keys."""
    first: dict[str, str] = {}
    for name in names:
        if first.setdefault(plain(name), name) != name:
            return first[plain(name)], name
    return None


def key_of(metric: Metric, name: str) -> str:
    """`rouge1_summarize`: also a name in records and settings."""
    return f"{metric.key}_{plain(name)}" if plain(name) else metric.key


def counts_in(metric: Metric, name: str, predictions: Sequence[Any], examples: Sequence[Example]) -> Counts:
    """(N, counts): of one task's examples, and zeros for the others."""
    own = [i for i, example in enumerate(examples) if example[0] == name]
    if not own:
        return np.zeros((len(examples), metric.counts(["a"], [(name, "a", ("a",))]).shape[1]))
    found = metric.counts([predictions[i] for i in own], [examples[i] for i in own])
    rows = np.zeros((len(examples), found.shape[1]))
    rows[own] = found
    return rows


def mean_metric(mains: Sequence[tuple[str, Metric]]) -> Metric:
    """The mean of the main metrics of all tasks that have examples."""

    def counts(predictions: Sequence[Any], examples: Sequence[Example]) -> Counts:
        parts = []
        for name, metric in mains:
            there = np.array([[float(example[0] == name)] for example in examples])
            parts += [counts_in(metric, name, predictions, examples), there]
        return np.concatenate(parts, axis=1)

    widths = [metric.counts(["a"], [("", "a", ("a",))]).shape[1] for _, metric in mains]
    score = partial(mean_of_tasks, [metric for _, metric in mains], widths)
    return replace(MEAN, counts=counts, score=score, signature=partial(words_for, mains))


def mean_of_tasks(metrics: Sequence[Metric], widths: Sequence[int], summed: Counts) -> NDArray[np.float64]:
    at, total, tasks = 0, np.zeros(len(summed)), np.zeros(len(summed))
    for metric, width in zip(metrics, widths, strict=True):
        there = summed[:, at + width] > 0
        total += np.where(there, metric.score(summed[:, at : at + width]), 0.0)
        tasks += there
        at += width + 1
    return total / np.maximum(tasks, 1)


def words_for(mains: Sequence[tuple[str, Metric]], examples: Sequence[Example]) -> str:
    there = [(name, metric) for name, metric in mains if has_examples(name, examples)]
    return "mean of " + ", ".join(f"{name or 'the task'} {metric.label}" for name, metric in there)


def no_counts(predictions: Sequence[Any], examples: Sequence[Example]) -> Counts:  # noqa: ARG001
    return np.zeros((len(examples), 2))


# Its name, direction and scale; a recipe says which tasks it is the mean of.
MEAN = Metric(KEY, "mean score", mean_of, no_counts, scale=Scale(fair=40.0, weak=15.0, gain=0.5, noise=20.0))


def several_metrics(names: Sequence[str], measures: Sequence[str]) -> tuple[Metric, ...]:
    """The mean first, then the metrics of each task."""
    own = [(name, metrics_of(measure)) for name, measure in zip(names, measures, strict=True)]
    mains = [(name, metrics[0]) for name, metrics in own]
    return mean_metric(mains), *(of_task(metric, name) for name, metrics in own for metric in metrics)


def usual_measure(name: str, mean_words: float) -> str:
    """The main metric of a task, by its name, or by how long its outputs are."""
    first = name.casefold()
    for start, measure in (("translat", "bleu"), ("summar", "rouge"), ("question", "f1"), ("answ", "f1")):
        if first.startswith(start):
            return measure
    return "exact" if mean_words <= SHORT else "rouge"


SHORT = 4  # words of an output: exact match says more than shared words
