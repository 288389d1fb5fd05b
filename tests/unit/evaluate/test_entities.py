"""Entity scores against seqeval: its default for any labels, its strict mode for labels that keep the rules."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from seqeval.metrics import accuracy_score, classification_report, f1_score, precision_score, recall_score
from seqeval.scheme import IOB2, IOBES

from glassformer.data.schemes import converted
from glassformer.evaluate.entities import SPAN_METRICS, WORD_ACCURACY, scores_by_type, type_confusion
from glassformer.evaluate.intervals import score_with_interval
from glassformer.evaluate.metric import measured

Labels = list[list[str]]


def generated(seed: int, letters: str, *, changed: float = 0.3) -> tuple[Labels, Labels]:
    """True labels and predictions of 30 sentences, both with sequences that break every rule."""
    random = Random(seed)
    names = ["O", *(f"{letter}-{kind}" for letter in letters for kind in ("PER", "LOC", "ORG"))]
    true = [[random.choice(names) for _ in range(random.randint(1, 12))] for _ in range(30)]
    found = [[random.choice(names) if random.random() < changed else label for label in labels] for labels in true]
    return true, found


def scores(true: Labels, found: Labels) -> dict[str, float]:
    return {key: one.total for key, one in measured(SPAN_METRICS, found, [(labels,) for labels in true]).items()}


def theirs(true: Labels, found: Labels, **strict: Any) -> dict[str, float]:
    given = {"average": "micro", "zero_division": 0, **strict}
    named = {"f1": f1_score, "entity_precision": precision_score, "entity_recall": recall_score}
    values = {key: 100 * float(score(true, found, **given)) for key, score in named.items()}
    return {**values, "accuracy": 100 * float(accuracy_score(true, found))}


@pytest.mark.parametrize("letters", ["I", "BI", "BIES"])
@pytest.mark.parametrize("seed", range(4))
def test_any_labels_score_as_in_seqeval_by_default(letters: str, seed: int) -> None:
    true, found = generated(seed, letters)
    assert scores(true, found) == pytest.approx(theirs(true, found), abs=1e-9)


@pytest.mark.parametrize(("scheme", "strict"), [("bio", IOB2), ("iobes", IOBES)])
@pytest.mark.parametrize("seed", range(4))
def test_valid_labels_score_the_same_in_its_strict_mode(scheme: str, strict: Any, seed: int) -> None:
    true, found = ([converted(one, scheme) for one in part] for part in generated(seed, "BI"))
    ours = scores(true, found)
    assert ours == pytest.approx(theirs(true, found, mode="strict", scheme=strict), abs=1e-9)
    assert ours == pytest.approx(theirs(true, found), abs=1e-9)


def test_where_labels_break_the_rules_the_modes_differ_and_ours_is_the_default() -> None:
    true, found = [["O", "B-PER"]], [["O", "I-PER"]]
    assert scores(true, found)["f1"] == 100
    assert f1_score(true, found, mode="strict", scheme=IOB2, zero_division=0) == 0


def test_scores_of_each_type_are_seqevals() -> None:
    true, found = generated(9, "BI")
    report = classification_report(true, found, output_dict=True, zero_division=0)
    rows = scores_by_type(found, [(labels,) for labels in true])
    assert [one.kind for one in rows] == ["LOC", "ORG", "PER"]
    for one in rows:
        values = [report[one.kind][name] for name in ("precision", "recall", "f1-score")]
        assert [one.precision, one.recall, one.f1] == pytest.approx([100 * value for value in values])
        assert one.true == report[one.kind]["support"]


def test_nothing_predicted_and_nothing_true_is_0_without_a_warning() -> None:
    assert scores([["O", "O"]], [["O", "O"]]) == {"f1": 0, "entity_precision": 0, "entity_recall": 0, "accuracy": 100}


def test_the_interval_is_by_sentences() -> None:
    true, found = generated(10, "BI")
    score = score_with_interval(SPAN_METRICS[0], found, [(labels,) for labels in true])
    assert score.low is not None
    assert score.high is not None
    assert score.low < score.value < score.high
    assert WORD_ACCURACY.counts(found, [(labels,) for labels in true]).shape == (30, 2)


def test_types_of_words_that_are_confused() -> None:
    true = [(["B-PER", "I-PER", "O", "B-LOC"],)]
    names, table = type_confusion([["B-PER", "B-LOC", "O", "O"]], true)
    assert names == ["LOC", "PER", ""]
    assert np.array_equal(table, [[0, 0, 1], [1, 1, 0], [0, 0, 1]])
