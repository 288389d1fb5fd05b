"""What a report shows of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

import glassformer as gf
from glassformer.store.run import RunFolder
from glassformer.store.weights import parameter_count
from glassformer.tasks import reports
from glassformer.tasks.evaluating import Evaluation, open_trained
from glassformer.tasks.translation import Translator, report


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return gf.load(trained)


@pytest.mark.parametrize(
    ("sources", "shown"),
    [
        (["one two three", "one two three four", "a b c d e"], "one two three four"),
        (["x " * 50, "shortest"], "shortest"),
        ([" ".join("abcdefghi"), "a b c d"], " ".join("abcdefghi")),
    ],
)
def test_the_sentence_opened_up_is_the_first_of_a_good_length_or_the_shortest(sources: list[str], shown: str) -> None:
    assert report.shown_by_default(sources) == shown


def test_samples_are_the_first_ones_right_or_wrong() -> None:
    found = Evaluation([], [("a", ("A", "AA")), ("b", ("B",))], ["AA", "x"])
    assert [(one.source, one.exact) for one in report.samples(found)] == [("a", True), ("b", False)]
    many = Evaluation([], [("a", ("A",))] * 99, ["A"] * 99)
    assert len(report.samples(many)) == report.SAMPLES


def test_the_facts_are_those_of_the_run(translator: Translator, trained: Path) -> None:
    opened = open_trained(trained)
    facts = reports.facts(opened.task, opened.setup, RunFolder(trained), parameter_count(translator.model), 60)
    assert ("Kind", "transformer, pre-norm") in facts["Model"]
    assert ("Shape", "1+1 layers, d 16, 2 heads, d_ff 24") in facts["Model"]
    assert ("Pairs", "60") in facts["Training"]
    parameters = sum(parameter.numel() for parameter in translator.model.parameters())
    assert ("Parameters", f"{parameters:,}") in facts["Model"]


def test_the_facts_say_what_label_smoothing_teaches() -> None:
    assert reports.smoothing_facts(0.0, 100) == []
    [(name, value)] = reports.smoothing_facts(0.1, 100)
    assert (name, value) == ("Label smoothing", "0.1, so the right token is taught 90.1%, not 100%")
    assert reports.smoothing_facts(0.1, None) == [("Label smoothing", "0.1")]  # images: no tokens


def test_the_positions_shown_are_the_models_own(translator: Translator) -> None:
    table = report.position_table(translator)
    assert (len(table), len(table[0])) == (report.POSITIONS, 16)
    assert table[0][:4] == [0.0, 1.0, 0.0, 1.0]  # sin 0, cos 0
