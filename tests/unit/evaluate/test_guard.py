"""What is noticed, and what is left alone."""

from __future__ import annotations

import pytest

from glassformer.evaluate.guard import what_is_wrong


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
