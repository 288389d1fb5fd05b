"""Translation as a task of the engine: which held-out sentences are shown, and what it refuses."""

from __future__ import annotations

from glassformer.tasks.translation.task import Question, Translation
from glassformer.training.validate import WATCHED


def held(*lengths: int) -> list[Question]:
    return [(f"{place} " + "word " * (words - 1), (f"ref {place}",)) for place, words in enumerate(lengths)]


def watched(*lengths: int) -> list[int]:
    return Translation().watched(held(*lengths), WATCHED)


def test_few_sentences_are_all_shown() -> None:
    assert watched(3, 4, 5) == [0, 1, 2]


def test_of_many_those_of_good_length_from_all_over() -> None:
    assert watched(*[2, 8] * 60) == [1, 21, 41, 61, 81, 101]


def test_where_few_are_of_good_length_any_will_do() -> None:
    places = watched(*[1] * 30, 8)
    assert len(places) == len(set(places)) == WATCHED
    assert places == [0, 5, 10, 15, 20, 25]
