"""Measures of source code: what parses, how lines are split, the interval of a share."""

from __future__ import annotations

import pytest

from glassformer.evaluate.code import finished_part, halves, lines_to_complete, parses_as_python
from glassformer.evaluate.intervals import wilson


def test_the_last_statement_is_cut_because_it_may_be_unfinished() -> None:
    assert finished_part("import a\n\ndef f():\n    return 1\n\ndef g(") == "import a\n\ndef f():\n    return 1\n\n"
    assert finished_part("x = [\n    1,\n]\ny") == "x = [\n    1,\n]\n"
    assert finished_part("only one line") == ""


@pytest.mark.parametrize(
    ("text", "parses"),
    [
        ("import os\nx = 1\ny", True),
        ("def f(:\n    pass\nx", False),
        ("def f():\nreturn\nx", False),
        ("if x:\n\ty = 1\n        z = 2\nw", False),  # tabs and spaces
        ("# only a comment\nx", False),  # no statement
        ("x = 1", False),  # nothing is finished
        ("x = '\\d'\ny = 2\nz", True),
        ("x = 1\0\ny\nz", False),
    ],
)
def test_what_parses(text: str, parses: bool) -> None:
    assert parses_as_python(text) is parses


def test_a_line_is_split_where_a_word_ends() -> None:
    assert halves("    return self.name_of(thing)") == ("    return self.name_of", "(thing)")
    assert halves("x = 1") is None
    assert halves("a_single_long_word") is None


def test_lines_are_given_with_all_that_is_before_them() -> None:
    text = "import sys\n\n\tprint(first, second)\nx\n"
    (line,) = lines_to_complete([text])
    assert (line.given(100), line.rest) == ("import sys\n\n\tprint(first", ", second)")
    assert line.given(11) == "print(first"


def test_lines_of_a_long_text_share_it() -> None:
    text = 500 * "print(first, second)\n"
    found = lines_to_complete([text])
    assert len(found) == 500
    assert all(line.text is text for line in found)


def test_the_interval_of_a_share() -> None:
    low, high = wilson(8, 10)
    assert (low, high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert wilson(0, 20)[0] == 0
    assert wilson(20, 20)[1] == 1
