"""How the translations of the same sentences change from validation to validation."""

from __future__ import annotations

from glassformer.explain.page import page_data
from glassformer.explain.progress import ShownProgress, Version, versions, watched
from glassformer.explain.report import Report

QUESTIONS = [("a dog", ("ein Hund",)), ("a cat", ("eine Katze", "die Katze"))]


def test_equal_versions_are_merged() -> None:
    readings = [(10, "x"), (20, "x"), (30, "y"), (40, "x")]
    assert versions(readings) == [Version(10, 20, "x"), Version(30, 30, "y"), Version(40, 40, "x")]


def test_each_sentence_has_its_own_course() -> None:
    records = [
        {"step": 5, "train_loss": 3.0},
        {"step": 10, "valid_loss": 2.0, "valid_samples": ["ein", "die"]},
        {"step": 20, "valid_loss": 1.0, "valid_samples": ["ein Hund", "die"]},
    ]
    dog, cat = watched(QUESTIONS, records)
    assert [version.text for version in dog.versions] == ["ein", "ein Hund"]
    assert cat.versions == (Version(10, 20, "die"),)
    assert cat.references == ("eine Katze", "die Katze")


def test_validations_of_other_sentences_are_left_out() -> None:
    assert watched(QUESTIONS, [{"step": 10, "valid_samples": ["only one"]}, {"step": 20, "valid_loss": 1.0}]) == []


def test_the_time_a_page_was_written_is_not_rounded() -> None:
    progress = ShownProgress(3, 9, 1, 12.345678, 20.0, "", written=1_789_123_457, refresh=10, silence=60)
    shown = page_data(Report(title="t", progress=progress))["progress"]
    assert (shown["written"], shown["elapsed"]) == (1_789_123_457, 12.35)
