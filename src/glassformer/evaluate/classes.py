"""Scores of classes: accuracy, macro F1 and Matthews' correlation, and the confusion matrix.

An example's last element is its true label; a prediction is a label. Labels are strings or whole numbers.
`class_metrics(labels)` knows all classes. Without labels, the classes are those of the examples; a prediction of any
other class is wrong, but does not add a class.

Macro F1 and Matthews' correlation do not need the whole confusion matrix: it is enough to count how often each class
was right, predicted and true (3 columns per class). So the counts of many examples fit in memory even with a thousand
classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.evaluate.metric import Counts, Metric, Scale, check_alike, percent_of

Label = Hashable

PERCENT = Scale(excellent=99.0, gain=0.5, noise=50.0)  # a share of N examples has an error of at most 50 / root of N
CORRELATION = Scale(low=-1.0, high=1.0, excellent=0.98, gain=0.01, noise=1.0)


def class_metrics(labels: Sequence[Label] | None = None) -> tuple[Metric, ...]:
    """Accuracy, macro F1 and Matthews' correlation; `labels` are all classes."""
    table = partial(class_table, labels=None if labels is None else tuple(labels))
    return (
        Metric("accuracy", "accuracy", percent_of, right_counts, unit="%", judges_one=True, scale=PERCENT),
        Metric("f1", "macro F1", macro_f1, table, unit="%", scale=PERCENT, exceptions=class_exceptions),
        Metric(
            "matthews",
            "Matthews correlation",
            matthews,
            table,
            digits=3,
            scale=CORRELATION,
            exceptions=class_exceptions,
        ),
    )


def with_positive(metrics: tuple[Metric, ...], positive: Label) -> tuple[Metric, ...]:
    """The metrics, with F1 of one class after accuracy: what GLUE reports for MRPC and QQP."""
    counts = partial(positive_counts, positive=positive)
    one = Metric(
        "f1_positive", f"F1 of {positive}", positive_f1, counts, unit="%", scale=PERCENT, exceptions=f1_exceptions
    )
    return (*metrics[:1], one, *metrics[1:])


def positive_counts(predictions: Sequence[Label], examples: Sequence[Any], *, positive: Label) -> Counts:
    """[1 if both are the class, 1 if it is predicted, 1 if it is true]"""
    found = np.array([one == positive for one in predictions], dtype=np.float64)
    true = np.array([one == positive for one in true_labels(examples)], dtype=np.float64)
    return np.stack([found * true, found, true], axis=1)


def positive_f1(summed: Counts) -> NDArray[np.float64]:
    """[right, predicted, true] -> 2 right / (predicted + true) in percent; 0 if the class never occurs."""
    return 200 * summed[:, 0] / np.maximum(summed[:, 1] + summed[:, 2], 1)


def f1_exceptions(values: Counts) -> Counts | None:
    """After examples that are all right, [right, predicted, true]: the class is missed, or predicted wrongly."""
    if np.any(values[:, 0] != values[:, 1]) or np.any(values[:, 0] != values[:, 2]) or not values.any():
        return None
    return np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def class_exceptions(values: Counts) -> Counts | None:
    """(ways, 3 K + 1) After examples that are all right: one of a class that is taken for another; or the reverse.

    Scores change most between the rarest classes (macro F1) or the most frequent (Matthews), so there are few ways.
    """
    right, _, true = by_class(values)
    hits, count, frequency = int(right.sum()), right.shape[1], true.sum(axis=0)
    order = [int(place) for place in np.argsort(frequency, kind="stable") if frequency[place]]
    ends = sorted({*order[:2], *order[-2:]})
    ways: list[tuple[int, ...]] = [(one, count + one, 2 * count + one) for one in ends]
    if hits == len(values):
        ways = [(count + other, 2 * count + one) for one in ends for other in ends if one != other]
        ways = ways or [(2 * count + one,) for one in ends]  # a single class: taken for one that is not there
    elif hits or not ways:
        return None
    added = np.zeros((len(ways), values.shape[1]))
    added[:, -1] = 1
    for row, places in zip(added, ways, strict=True):
        row[list(places)] = 1
    return added


def true_labels(examples: Sequence[Sequence[Any]]) -> list[Label]:
    """The last element of each example."""
    return [example[-1] for example in examples]


def right_counts(predictions: Sequence[Label], examples: Sequence[Any]) -> Counts:
    """[1 if right, 1]"""
    pairs = zip(predictions, true_labels(examples), strict=True)
    return np.array([[float(found == true), 1.0] for found, true in pairs])


def class_table(
    predictions: Sequence[Label], examples: Sequence[Any], *, labels: Sequence[Label] | None = None
) -> Counts:
    """(N, 3 K + 1) Three one-hot rows over the classes (right, predicted, true) of each example, and a 1."""
    true = true_labels(examples)
    known = places_of(in_order(true) if labels is None else labels)
    count, table = len(known), np.zeros((len(true), 3 * len(known) + 1))
    table[:, -1] = 1
    for row, found, label in zip(table, predictions, true, strict=True):
        if found == label and label in known:
            row[known[label]] = 1
        if found in known:
            row[count + known[found]] = 1
        if label in known:
            row[2 * count + known[label]] = 1
    return table


def in_order(labels: Iterable[Label]) -> list[Label]:
    """Each class once, sorted; numbers before texts."""
    return sorted(set(labels), key=lambda label: (isinstance(label, str), label))


def places_of(labels: Iterable[Label]) -> dict[Label, int]:
    return {label: place for place, label in enumerate(dict.fromkeys(labels))}


def macro_f1(summed: Counts) -> NDArray[np.float64]:
    """The mean of F1 = 2 right / (predicted + true) in percent, over the classes that are true or predicted."""
    right, predicted, true = by_class(summed)
    f1: NDArray[np.float64] = 200 * right / np.maximum(predicted + true, 1)
    occurring: NDArray[np.int64] = np.count_nonzero(predicted + true, axis=1)
    return f1.sum(axis=1) / np.maximum(occurring, 1)


def matthews(summed: Counts) -> NDArray[np.float64]:
    """Matthews' correlation for any number of classes (Gorodkin 2004): 1 is perfect, 0 is chance.

    (right n - sum_k p_k t_k) / sqrt((n^2 - sum_k p_k^2) (n^2 - sum_k t_k^2)); 0 where either side is constant.
    """
    (right, predicted, true), total = by_class(summed), summed[:, -1]
    covariance = right.sum(axis=1) * total - (predicted * true).sum(axis=1)
    spread = (total**2 - (predicted**2).sum(axis=1)) * (total**2 - (true**2).sum(axis=1))
    return np.where(spread > 0, covariance / np.sqrt(np.where(spread > 0, spread, 1)), 0.0)


def by_class(summed: Counts) -> tuple[Counts, Counts, Counts]:
    """(trials, 3 K + 1) -> three times (trials, K): right, predicted, true."""
    count = (summed.shape[1] - 1) // 3
    return summed[:, :count], summed[:, count : 2 * count], summed[:, 2 * count : 3 * count]


def confusion(
    predictions: Sequence[Label], examples: Sequence[Any], labels: Sequence[Label] | None = None
) -> tuple[list[Label], NDArray[np.int64]]:
    """The classes, and how often each true class (row) was predicted as each class (column).

    Classes that are not among the `labels` come after them.
    """
    check_alike(predictions, examples)
    true = true_labels(examples)
    known = places_of([*(labels or ()), *in_order([*true, *predictions])])
    table = np.zeros((len(known), len(known)), dtype=np.int64)
    np.add.at(table, ([known[label] for label in true], [known[found] for found in predictions]), 1)
    return list(known), table


ACCURACY, MACRO_F1, MATTHEWS = class_metrics()
