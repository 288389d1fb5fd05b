"""What is noticed, and what is left alone."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from glassformer.evaluate.guard import CUT, guarded, joined_verdict, still_wrong, what_is_wrong, with_second_search


@pytest.mark.parametrize(
    ("source", "text", "ids", "finished", "wrong"),
    [
        ("a b c", "d e f", (4, 5, 6), True, ""),
        ("a b c", "", (), True, "empty"),
        ("a b c", " ", (9,), True, "empty"),
        ("  ", "", (), True, ""),
        ("a b c", "x x x x", (7, 7, 7, 7), True, "loops"),
        ("ha ha ha ha", "x x x x", (7, 7, 7, 7), True, ""),
        ("a b c", "x x x", (7, 7, 7), True, ""),
        ("a b c", "x y x y x y x y", (1, 7, 8, 7, 8, 7, 8, 7, 8), False, "loops"),
        ("a b c", "x y x y x y", (7, 8, 7, 8, 7, 8), True, ""),
        ("one two three four", "One two three four", (1, 2, 3, 4), True, "copied"),
        ("Hotel Berlin 2024", "Hotel Berlin 2024", (1, 2, 3), True, ""),
        ("a b c", "d e f", (4, 5, 6), False, "cut"),
    ],
)
def test_what_is_wrong(source: str, text: str, ids: tuple[int, ...], finished: bool, wrong: str) -> None:
    assert what_is_wrong(source, source.split(), text, ids, finished=finished) == wrong


# The second search


@dataclass(frozen=True)
class Found:
    text: str
    score: float
    wrong: str = ""
    repaired: bool = False

    @property
    def tokens(self) -> tuple[str, ...]:
        return tuple(self.text.split())


def judge(_: int, one: Found) -> str:
    return "loops" if "again again" in one.text else (CUT if one.text.endswith("...") else "")


def test_only_wrong_ones_are_searched_again_and_sound_ones_come_first() -> None:
    searched: list[list[int]] = []

    def search_again(places: list[int]) -> list[list[Found]]:
        searched.append(places)
        return [[Found("better", -3.0), Found("again again", -0.5), Found("also", -2.0)] for _ in places]

    first = [[Found("fine", -1.0)], [Found("again again", -0.5), Found("second", -2.5)]]
    fine, repaired = guarded(first, [[1, 2], [3, 4]], judge, search_again, n_best=2)
    assert searched == [[1]]
    assert fine == [Found("fine", -1.0)]
    assert repaired == [Found("also", -2.0, "loops", repaired=True), Found("second", -2.5)]


def test_nothing_wrong_is_searched_once() -> None:
    def never(places: list[int]) -> list[list[Found]]:
        raise AssertionError(places)

    assert guarded([[Found("fine", -1.0)]], [[1]], judge, never, n_best=1) == [[Found("fine", -1.0)]]
    wrong = [[Found("again again", -1.0)]]
    assert guarded(wrong, [[1]], judge, None, n_best=1) == [[Found("again again", -1.0, "loops")]], "samples stay"
    assert guarded(wrong, [[]], judge, never, n_best=1)[0][0].wrong == "loops", "an empty source is not searched"


def test_a_source_that_repeats_itself_for_ever_is_not_searched_again() -> None:
    def never(places: list[int]) -> list[list[Found]]:
        raise AssertionError(places)

    (found,) = guarded([[Found("and so on ...", -1.0)]], [[5] * 40], judge, never, n_best=1)
    assert still_wrong(found[0]) == CUT


def test_the_same_translation_of_both_searches_is_kept_once() -> None:
    kept = with_second_search([Found("a", -1.0, "loops"), Found("b", -2.0)], [Found("b", -2.0), Found("c", -1.5)])
    assert [one.text for one in kept] == ["c", "b", "a"]


def test_a_text_is_as_wrong_as_its_worst_part() -> None:
    sound, fixed, bad = Found("a", 0.0), Found("b", 0.0, "loops", repaired=True), Found("c", 0.0, "cut")
    assert joined_verdict([sound]) == ("", False)
    assert joined_verdict([sound, fixed]) == ("loops", True)
    assert joined_verdict([fixed, bad]) == ("cut", False)
