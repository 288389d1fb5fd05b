"""Metrics of several tasks: each counts its own examples, the headline is the mean of the main ones."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.evaluate.metric import Measured
from glassformer.evaluate.several import same_in_keys, several_metrics, usual_measure
from glassformer.evaluate.translation import bleu_and_chrf

EXAMPLES = [
    ("ask", "q", ("the Cat",)),
    ("translate", "s", ("Der Hund isst zwei alte Eier gern.",)),
    ("ask", "q", ("two old eggs",)),
    ("translate", "s", ("Er hat den Apfel gegessen, weil er lecker war.",)),
]
PREDICTED = ["cat!", "Der Hund isst zwei alte Eier.", "eggs", "Er hat den Apfel gegessen, weil er rot war."]


def totals(indices: list[int]) -> dict[str, float]:
    metrics = several_metrics(["ask", "translate"], ["f1", "bleu"])
    predictions, examples = [PREDICTED[i] for i in indices], [EXAMPLES[i] for i in indices]
    return {one.key: Measured(one, one.counts(predictions, examples)).total for one in metrics}


def test_each_task_by_its_own_metric_and_the_mean_of_both() -> None:
    found = totals([0, 1, 2, 3])
    bleu, chrf = bleu_and_chrf([PREDICTED[1], PREDICTED[3]], [EXAMPLES[1][2], EXAMPLES[3][2]])
    assert found["f1_ask"] == pytest.approx(100 * (1 + 0.5) / 2)
    assert found["exact_ask"] == pytest.approx(50)
    assert found["bleu_translate"] == pytest.approx(bleu)
    assert found["chrf_translate"] == pytest.approx(chrf)
    assert found["mean_score"] == pytest.approx((75 + bleu) / 2)


def test_a_task_without_examples_does_not_count() -> None:
    assert totals([0, 2])["mean_score"] == pytest.approx(75)


def test_scores_of_many_samples_at_once() -> None:
    metric = several_metrics(["ask", "translate"], ["f1", "bleu"])[0]
    counts = metric.counts(PREDICTED, EXAMPLES)
    both = np.stack([counts.sum(axis=0), counts[[0, 2]].sum(axis=0)])
    assert metric.score(both).tolist() == pytest.approx([totals([0, 1, 2, 3])["mean_score"], 75])


@pytest.mark.parametrize(
    ("name", "words", "measure"),
    [("translate English to German", 9, "bleu"), ("summarize", 1, "rouge"), ("question", 9, "f1"), ("x", 2, "exact")],
)
def test_the_usual_metric_of_a_task(name: str, words: float, measure: str) -> None:
    assert usual_measure(name, words) == measure


def test_names_that_would_share_keys_are_found() -> None:
    assert same_in_keys(["a b", "c", "a-b"]) == ("a b", "a-b")
    assert same_in_keys(["a b", "a c"]) is None
    keys = [one.key for one in several_metrics(["a b", "a-b"], ["exact", "exact"])]
    assert len(set(keys)) < len(keys)


def test_a_task_without_examples_is_not_measured() -> None:
    mean, *own = several_metrics(("a", "b"), ("exact", "exact"))
    examples = [("a", "x", ("y",))]
    assert [one.label for one in own if one.applies is None or one.applies(examples)] == ["a: exact match", "a: F1"]
    assert mean.signature is not None
    assert mean.signature(examples) == "mean of a exact match"
