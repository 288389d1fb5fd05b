"""Inputs that cannot be used do not stop the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import typer

from glassformer.cli.skipping import MOST, Skipped
from glassformer.errors import DataError


def halves(number: int) -> Iterator[int]:
    yield number // 2
    if number % 2:
        raise DataError(f"{number} is odd")


def test_bad_ones_are_reported_and_the_end_has_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = Skipped("number")
    assert list(skipped.each([2, 3, 4], halves)) == [1, 1, 2]
    assert capsys.readouterr().err == "glassformer: 3 is odd\n"
    with pytest.raises(typer.Exit) as left:
        skipped.end()
    assert left.value.exit_code == 2


def test_of_many_errors_some_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = Skipped("number")
    assert len(list(skipped.each(range(1, 2 * (MOST + 3), 2), halves))) == MOST + 3
    with pytest.raises(typer.Exit):
        skipped.end()
    *shown, rest = capsys.readouterr().err.splitlines()
    assert len(shown) == MOST
    assert rest == "glassformer: 3 more numbers cannot be used"


def test_nothing_skipped_is_a_normal_end() -> None:
    Skipped("number").end()
