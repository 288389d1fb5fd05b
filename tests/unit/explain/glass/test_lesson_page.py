"""A lesson as a page: readable without JavaScript, one script where there is a lab, hostile words stay words."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import numpy as np
import pytest

from glassformer.explain.glass.chunks import ArrayRef, array_at, unpacked
from glassformer.explain.glass.lesson_page import command, lesson_page
from glassformer.explain.glass.lesson_sections import MOST_ROWS, section_html
from glassformer.explain.lessons import LESSONS, compute
from glassformer.explain.lessons.lesson import Correction, Curves, Lines, Section, Table

LABS = ("mixing", "cat", "scaling", "positions", "waves", "mask", "norm")
QUICK = ("similarity", "average", "lookup", "grouped", "cost", *LABS)  # the others train
HOSTILE = "</script><img/src=x/onerror=alert(1)>{{data}}<!--\u202e&\"'</style>\ud800\u2028"


def markup_of(page: str) -> str:
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


def data_of(page: str) -> tuple[dict[str, Any], list[bytes]]:
    (header,) = re.findall(r'<script type="application/json" id="lesson">(.*?)</script>', page, flags=re.DOTALL)
    chunks = re.findall(r'<script type="text/plain" data-chunk="\d+">(.*?)</script>', page)
    return json.loads(header), [unpacked(one) for one in chunks]


def test_the_lessons_with_a_lab() -> None:
    assert {name for name, lesson in LESSONS.items() if lesson.lab is not None} == set(LABS)


@pytest.mark.parametrize("name", QUICK)
def test_a_page_has_everything_of_its_lesson(name: str) -> None:
    computed = compute(name)
    page = lesson_page(computed)
    assert page == lesson_page(computed)
    text = unescape(re.sub(r"<[^>]+>", "", markup_of(page)))
    lesson = computed.lesson
    for said in (lesson.title, lesson.summary, lesson.source, *lesson.files, f"lesson {computed.next}"):
        assert said in text
    for section in computed.sections:
        assert section.title in text
        assert section.text in text
    assert not re.search(r"<[^>]+\s(on\w+|style|src|href)\s*=", markup_of(page))
    assert page.count("<script>") == (1 if name in LABS else 0)
    assert len(re.findall("'sha256-", page)) == 2


@pytest.mark.parametrize("name", LABS)
def test_the_data_of_a_lab_are_the_lessons_numbers(name: str) -> None:
    computed = compute(name)
    lab = computed.lab()
    assert lab is not None
    header, chunks = data_of(lesson_page(computed))
    assert header["kind"] == lab.kind
    assert header["settings"] == json.loads(json.dumps(lab.settings))
    for part in ("arrays", "right"):
        expected = getattr(lab, part)
        assert set(header[part]) == set(expected)
        for key, ref in header[part].items():
            found = array_at(chunks, ArrayRef(ref["chunk"], ref["offset"], tuple(ref["shape"]), ref["dtype"]))
            np.testing.assert_allclose(found, expected[key].numpy(), rtol=1e-6)


def test_right_numbers_are_those_of_the_tables() -> None:
    """The lab's numbers are not others than those that the lesson prints."""
    computed = compute("mixing")
    lab = computed.lab()
    assert lab is not None
    printed = [row[1:-1] for row in computed.table("weights_money_bank_grows").rows]
    assert lab.right["weights 0"].tolist() == [list(row) for row in printed]


@pytest.mark.parametrize("name", ["mixing", "cat", "mask"])
def test_hostile_words_stay_words(name: str) -> None:
    page = lesson_page(compute(name, {"texts": (f"{HOSTILE} a b",)}))
    page.encode("utf-8")
    assert "<img" not in markup_of(page)
    assert "\u202e" not in page
    assert page.count("</script>") == page.count("<script")
    assert HOSTILE.split("\ud800")[0].replace("\u202e", "")[:20] in json.dumps(data_of(page)[0]["settings"])


def test_the_command_says_what_was_chosen() -> None:
    assert command(compute("mixing")) == "glassformer lesson mixing"
    chosen = {"texts": ("the bank", "it's"), "seed": 3}
    assert command(compute("mixing", chosen)) == "glassformer lesson mixing 'the bank' 'it'\"'\"'s' --seed 3"
    assert command(compute("lookup", {"queries": ("dog", "cat")})).endswith("--query dog --query cat")


# Sections


def html(*shown: Table | Lines | Curves) -> str:
    return "\n".join(section_html(Section("a < b", "text", shown, (Correction("x < y", "y > x"),))))


def test_cells_have_colours_by_their_size_and_sign() -> None:
    shares = Table("t", ("", "a", "b", "sum"), (("x", 0.25, 0.75, 1.0),), grid=True)
    assert re.findall(r'class="num ([a-z0-9]*)"', html(shares)) == ["s2", "s8"]
    signed = Table("t", ("", "a", "b", "c"), (("x", -2.0, 1.0, float("-inf")),), grid=True)
    assert re.findall(r'class="num ([a-z0-9]*)"', html(signed)) == ["m10", "p5", "hidden"]
    wild = Table("t", ("", "a", "b", "c"), (("x", 1.0, 1.0, 1e300),), grid=True)
    assert re.findall(r'class="num ([a-z0-9]+)"', html(wild)) == []


def test_long_tables_and_texts_are_cut_and_say_so() -> None:
    long = Table("t", ("n", "square"), tuple((n, n * n) for n in range(100)))
    found = html(long)
    assert found.count("<tr>") == MOST_ROWS + 1
    assert "64 of 100 rows are shown" in found
    assert "none here" in html(Table("t", ("a", "b"), ()))
    assert "different in each run" in html(Table("t", ("a", "b"), (("x", 1.0),), timed=True))


def test_curves_stay_within_their_drawing() -> None:
    found = html(Curves("c", "step", {"a": (0.0, 5.0, 2.0), "b": (1.0, float("inf")), "c <": (3.0,)}))
    places = [float(one) for points in re.findall(r'points="([^"]*)"', found) for one in re.split("[ ,]", points)]
    assert len(places) == 2 * 5
    assert min(places) >= 0
    assert max(places) <= 640
    assert "c &lt;" in found
    assert "polyline" in html(Curves("c", "step", {"flat": (1.0, 1.0)}))
    assert "polyline" not in html(Curves("c", "step", {"nothing": (float("nan"),)}))


def test_texts_are_escaped() -> None:
    found = html(Lines("l", ("if a < b:", "  <b>")))
    assert "a &lt; b" in found
    assert "x &lt; y" in found
    assert "<b>\n" not in found
