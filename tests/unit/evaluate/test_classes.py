"""Accuracy, macro F1 and Matthews' correlation against values computed by hand and by their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from glassformer.evaluate.classes import ACCURACY, MACRO_F1, MATTHEWS, class_metrics, class_table, confusion
from glassformer.evaluate.metric import Measured, Metric

TRUE = ["cat", "cat", "cat", "dog", "dog", "owl", "owl"]
FOUND = ["cat", "cat", "dog", "dog", "owl", "owl", "cat"]


def examples(labels: Sequence[object]) -> list[tuple[str, object]]:
    return [(f"text {i}", label) for i, label in enumerate(labels)]


def value(metric: Metric, found: Sequence[object], true: Sequence[object]) -> float:
    return Measured(metric, metric.counts(found, examples(true))).total


def defined_matthews(found: Sequence[object], true: Sequence[object]) -> float:
    """Gorodkin's definition with covariances of one-hot rows, in float64."""
    classes = sorted({*map(str, found), *map(str, true)})
    x, y = (np.array([[float(str(label) == name) for name in classes] for label in side]) for side in (found, true))
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    return float((x * y).sum() / math.sqrt((x * x).sum() * (y * y).sum()))


def test_accuracy_by_hand() -> None:
    assert value(ACCURACY, FOUND, TRUE) == pytest.approx(100 * 4 / 7, abs=1e-12)


def test_macro_f1_by_hand() -> None:
    # cat: right 2, predicted 3, true 3; dog: 1, 2, 2; owl: 1, 2, 2
    assert value(MACRO_F1, FOUND, TRUE) == pytest.approx(100 * (4 / 6 + 2 / 4 + 2 / 4) / 3, abs=1e-12)


def test_matthews_of_two_classes_by_hand() -> None:
    # TP 3, TN 2, FP 1, FN 1
    true, found = [1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0, 1]
    expected = (3 * 2 - 1 * 1) / math.sqrt((3 + 1) * (3 + 1) * (2 + 1) * (2 + 1))
    assert value(MATTHEWS, found, true) == pytest.approx(expected, abs=1e-12)


def test_matthews_is_the_correlation_of_one_hot_rows() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        true = random.integers(0, 5, 97).tolist()
        found = [label if random.random() < 0.5 else int(random.integers(0, 5)) for label in true]
        assert value(MATTHEWS, found, true) == pytest.approx(defined_matthews(found, true), abs=1e-12)


@pytest.mark.parametrize("metric", [ACCURACY, MACRO_F1])
def test_everything_right_is_100(metric: Metric) -> None:
    assert value(metric, TRUE, TRUE) == 100.0


def test_matthews_has_the_ends_of_a_correlation() -> None:
    assert value(MATTHEWS, TRUE, TRUE) == pytest.approx(1.0)
    assert value(MATTHEWS, [0, 0, 1, 1], [1, 1, 0, 0]) == pytest.approx(-1.0)
    assert value(MATTHEWS, ["cat"] * 7, TRUE) == 0.0  # always the same prediction knows nothing
    assert value(MATTHEWS, ["cat"] * 2, ["cat"] * 2) == 0.0


def test_a_prediction_that_is_no_class_of_the_examples_is_wrong() -> None:
    assert value(ACCURACY, ["fox", "dog"], ["cat", "dog"]) == 50.0
    assert value(MACRO_F1, ["fox", "dog"], ["cat", "dog"]) == 50.0
    assert value(MATTHEWS, ["fox", "dog"], ["cat", "dog"]) < 1


def test_counts_have_one_shape_whatever_is_predicted() -> None:
    """Validations are compared example by example."""
    given = examples(TRUE)
    assert MACRO_F1.counts(TRUE, given).shape == MACRO_F1.counts(["fox"] * 7, given).shape == (7, 10)


def test_classes_that_are_known_count_though_no_example_has_them() -> None:
    _, f1, matthews = class_metrics(("cat", "dog", "owl", "fox"))
    right = [*TRUE[:-1], "fox"]
    # cat 3/3/3, dog 2/2/2, owl 1/1/2, fox 0/1/0
    assert value(f1, right, TRUE) == pytest.approx(100 * (1 + 1 + 2 / 3 + 0) / 4)
    assert value(matthews, right, TRUE) == pytest.approx(defined_matthews(right, TRUE), abs=1e-12)


def test_classes_that_neither_occur_nor_are_predicted_do_not_count() -> None:
    """As scikit-learn averages."""
    _, f1, _ = class_metrics(("ant", "cat", "dog", "owl"))
    assert value(f1, FOUND, TRUE) == pytest.approx(value(MACRO_F1, FOUND, TRUE), abs=1e-12)


def test_the_table_sums_to_what_each_class_was() -> None:
    summed = class_table(FOUND, examples(TRUE)).sum(axis=0)
    assert summed.tolist() == [2, 1, 1, 3, 2, 2, 3, 2, 2, 7]  # right, predicted, true, all


def test_the_confusion_matrix_has_true_classes_in_rows() -> None:
    labels, table = confusion(FOUND, examples(TRUE))
    assert labels == ["cat", "dog", "owl"]
    assert table.tolist() == [[2, 1, 0], [0, 1, 1], [1, 0, 1]]
    labels, table = confusion(["fox"], examples(["cat"]), ("cat", "dog"))
    assert (labels, table.tolist()) == (["cat", "dog", "fox"], [[0, 0, 1], [0, 0, 0], [0, 0, 0]])
