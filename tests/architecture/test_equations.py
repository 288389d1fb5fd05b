"""docs/equations.md leads to the lines that compute."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EQUATIONS = runpy.run_path(str(ROOT / "docs" / "equations.py"))


def test_the_page_is_what_the_code_says() -> None:
    page = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    assert page == EQUATIONS["render"](), "run `python docs/equations.py`"


def test_every_link_leads_to_a_line_that_holds_its_marker() -> None:
    for rows in EQUATIONS["SECTIONS"].values():
        for row in rows:
            path, line = re.fullmatch(r"\[.*\]\(\.\./(.*)#L(\d+)\)", EQUATIONS["link"](row)).groups()
            text = (ROOT / path).read_text(encoding="utf-8").splitlines()[int(line) - 1]
            assert row.marker.rpartition(".")[2] in text or row.marker in text


def test_no_equation_breaks_its_table() -> None:
    for rows in EQUATIONS["SECTIONS"].values():
        for row in rows:
            assert "|" not in row.term + row.equation
            assert row.equation.count("$") % 2 == 0


SOURCE = "A = 1\n\n\ndef f():\n    x = 1\n\n\nclass C:\n    def g(self):\n        x = 1\n        return x\n"


@pytest.mark.parametrize(("marker", "line"), [("A", 1), ("f", 4), ("C", 8), ("C.g", 9), ("return x", 11)])
def test_a_marker_is_a_name_or_a_piece_of_one_line(marker: str, line: int) -> None:
    assert EQUATIONS["line_of"](SOURCE, marker) == line


@pytest.mark.parametrize("marker", ["x = 1", "nowhere", "C.h"])
def test_a_marker_that_is_lost_or_ambiguous_is_an_error(marker: str) -> None:
    with pytest.raises(EQUATIONS["MarkerError"], match="exactly one line"):
        EQUATIONS["line_of"](SOURCE, marker)
