"""Which held-out sentences are shown at every validation."""

from __future__ import annotations

from glassformer.tasks.translation.material import Held
from glassformer.tasks.translation.validation import WATCHED, watched_places


def held(*lengths: int) -> Held:
    return Held.of((f"{place} " + "word " * (words - 1), (f"ref {place}",)) for place, words in enumerate(lengths))


def test_few_sentences_are_all_shown() -> None:
    assert watched_places(held(3, 4, 5)) == [0, 1, 2]


def test_of_many_those_of_good_length_from_all_over() -> None:
    assert watched_places(held(*[2, 8] * 60)) == [1, 21, 41, 61, 81, 101]


def test_where_few_are_of_good_length_any_will_do() -> None:
    places = watched_places(held(*[1] * 30, 8))
    assert len(places) == len(set(places)) == WATCHED
    assert places == [0, 5, 10, 15, 20, 25]
