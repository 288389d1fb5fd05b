"""Learners type anything: every lesson answers or says in one line what it wants."""

from __future__ import annotations

import importlib
import io
import json
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from glassformer.errors import SettingsError
from glassformer.explain.lessons import (
    LESSONS,
    STORY,
    compute,
    from_scratch,
    gradient,
    leak,
    learning,
    longer,
    residuals,
    waves,
)
from glassformer.explain.lessons.inputs import named_values, numbered, vector_of, word_vectors, words_of
from glassformer.explain.lessons.lesson import Computed, Curves, Table, asked_for, number
from glassformer.explain.lessons.view import curve_lines, label, lesson_view, list_view, usage

ONE_TEXT = ("cat", "mask", "heads", "positions")
TWO_TEXTS = ("cross", "teacher", "gradient")
MANY_TEXTS = ("mixing", "words", "tokenizers", "learning")
ODD = {
    "one word": "cake",
    "200 words": " ".join(f"word{i % 60}" for i in range(200)),
    "emoji": "👩‍👩‍👧 likes 🍰",
    "Hindi": "मुझे आइसक्रीम खाना पसंद है",
    "marks": "[bold] \x1b[31m \u202e <b>",
}


SMALL: dict[str, dict[str, Any]] = {"scaling": {"width": 16}}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (learning, leak, longer, residuals, from_scratch, gradient):
        monkeypatch.setattr(module, "UPDATES", 2)
    monkeypatch.setattr(waves, "UPDATES", 100)
    monkeypatch.setattr(residuals, "DEPTHS", (1, 2))


def shown(computed: Computed, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as captured:
        console.print(lesson_view(computed))
    return captured.get()


def data_of(computed: Computed) -> dict[str, Any]:
    """As JSON would give it back."""
    found = json.loads(json.dumps(computed.to_dict(), allow_nan=False))
    assert isinstance(found, dict)
    return found


def texts_for(name: str, text: str) -> tuple[str, ...]:
    if name in TWO_TEXTS:
        return (text, text)
    return (text, text) if name == "mixing" else (text,)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", [*ONE_TEXT, *TWO_TEXTS, *MANY_TEXTS])
def test_odd_texts(name: str, text: str) -> None:
    given: dict[str, Any] = {"texts": texts_for(name, text)}
    if "width" in LESSONS[name].takes:
        given["width"] = 16
    computed = compute(name, given)
    data_of(computed)
    page = shown(computed)
    assert "\x1b" not in page
    assert max(map(cell_len, page.splitlines())) <= 80


@pytest.mark.parametrize("name", [*ONE_TEXT, *TWO_TEXTS, *MANY_TEXTS])
@pytest.mark.parametrize("text", ["", "   "])
def test_empty_texts_are_refused(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match="empty"):
        compute(name, {"texts": texts_for(name, text)})


def test_too_many_words_are_refused() -> None:
    with pytest.raises(SettingsError, match="at most 512"):
        words_of("a " * 513)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("norm", {"seed": 1}, "does not take --seed. It takes: nothing"),
        ("cat", {"texts": ("a", "b")}, "takes one text, got 2"),
        ("cross", {"texts": ("a",)}, "takes two texts, got 1"),
        ("mask", {"mask": "wall"}, "Masks: causal, none, window, padding"),
        ("similarity", {"texts": ("1,2", "1,2,3")}, "different lengths"),
        ("similarity", {"texts": ("1,2",)}, "got 1 vectors"),
        ("similarity", {"texts": ("one", "two")}, "is not a vector"),
        ("similarity", {"texts": ("nan,1", "inf,2")}, "ordinary numbers"),
        ("average", {"texts": ("fruit",)}, "Write name=value"),
        ("average", {"texts": ("fruit=many", "phone=2")}, "whole number"),
        ("average", {"texts": ("fruit=3",)}, "Senses given: 1"),
        ("lookup", {"texts": ("a",)}, "Write name=value"),
        ("lookup", {"queries": ("",)}, "not empty"),
        ("lookup", {"texts": ("a=1", "a=2")}, "given twice"),
        ("scaling", {"heads": 3}, "does not divide 512"),
        ("beam", {"texts": ("hello",)}, "--model"),
        ("from-scratch", {"texts": ("hello",)}, "Write name=value"),
        ("from-scratch", {"step": 11}, "there are 10 steps"),
        ("grouped", {"width": 10, "heads": 3}, "Heads that fit"),
        ("algebra", {}, "There is no lesson 'algebra'"),
        ("mixin", {}, "Did you mean mixing?"),
    ],
)
def test_what_a_lesson_cannot_use_is_named(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as error:
        compute(name, given)
    assert said in str(error.value)


@pytest.mark.parametrize("name", LESSONS)
def test_the_same_seed_gives_the_same_data(name: str) -> None:
    def untimed(computed: Computed) -> list[Any]:
        return [one for part in data_of(computed)["sections"] for one in part["shown"] if not one.get("timed")]

    given = {**({"length": 20} if "length" in LESSONS[name].takes else {}), **SMALL.get(name, {})}
    first, again = compute(name, given), compute(name, given)
    assert untimed(first) == untimed(again)
    if "seed" in LESSONS[name].takes and name not in ("cost", "cache", "grouped"):
        other = compute(name, {**given, "seed": 12})
        assert untimed(other) != untimed(first)


@pytest.mark.parametrize("name", LESSONS)
def test_every_lesson_fits_the_terminal_and_names_its_sources(name: str) -> None:
    lesson = LESSONS[name]
    computed = compute(name, {**({"length": 20} if "length" in lesson.takes else {}), **SMALL.get(name, {})})
    page = shown(computed)
    assert max(map(cell_len, page.splitlines())) <= 80
    assert f"Source: {lesson.source[:30]}" in page
    assert all(len({one.key for one in part.shown}) == len(part.shown) for part in computed.sections)
    for place in lesson.files:
        path, _, attribute = place.partition(":")
        module = importlib.import_module("glassformer." + path.removesuffix(".py").replace("/", "."))
        assert hasattr(module, attribute), place


def test_the_story_is_in_order_and_fits_a_line() -> None:
    assert [module.LESSON.name for module in STORY] == list(LESSONS)
    assert all(cell_len(line.plain) <= 80 for line in list_view(list(LESSONS.values())))
    names = list(LESSONS)
    assert compute("similarity").next == names[names.index("similarity") + 1]
    assert compute("from-scratch", {"step": 1}).next == ""


@pytest.mark.parametrize("name", LESSONS)
def test_the_help_of_a_lesson_names_all_that_it_takes(name: str) -> None:
    said = usage(LESSONS[name])
    assert f"glassformer lesson {name} --json" in said
    for option in LESSONS[name].takes:
        assert {"texts": "TEXT", "queries": "--query"}.get(option, f"--{option}") in said
    asked_for(LESSONS[name], LESSONS[name].takes)


def test_large_tables_are_cut_on_the_terminal_only() -> None:
    computed = compute("cat", {"texts": (ODD["200 words"],), "width": 8})
    page = shown(computed)
    assert "16 of 200 rows are shown; --json has all." in page
    assert "16 of 200 columns are shown; --json has all." in page
    assert "sum" in page, "the sums are of all 200 columns, so they are shown although columns are left out"
    assert page.count("1.000") >= 16
    assert len(computed.table("pattern").rows) == 200


def test_numbers_are_written_for_people() -> None:
    assert number(float("-inf")) == "−∞"
    assert number(-0.00001) == "0.000"
    assert number(-0.25, ".2f") == "-0.25"
    assert number(1234567) == "1,234,567"
    assert number(-2e-9, ".1e") == "-2.0e-09"


def test_json_has_no_infinity() -> None:
    table = Table("x", ("", "a"), (("row", float("-inf")),))
    assert json.dumps(table.to_dict(), allow_nan=False).count("-inf") == 1


def test_a_curve_is_drawn_with_its_ends() -> None:
    first, last = curve_lines(Curves("loss", "update", {"loss": (2.0, 1.0, 0.0)}))
    assert first == "loss  █▅▁  2.000 → 0.000"
    assert "update 0 to 2" in last
    (flat, _) = curve_lines(Curves("loss", "update", {"loss": (1.0, 1.0)}))
    assert "▁▁" in flat


def test_inputs() -> None:
    assert vector_of("[1, -2.5]") == (1, -2.5)
    assert named_values(("a=1", "b = x=y"), "") == {"a": "1", "b": "x=y"}
    assert numbered(["a", "b", "a"]) == ["a 1", "b", "a 3"]
    assert cell_len(label("आ" * 80)) <= 20
    assert cell_len(label("語" * 80)) <= 20
    one, other = word_vectors(["a", "b"], 4, seed=1), word_vectors(["b", "a"], 4, seed=1)
    assert one.flip(0).equal(other)


def test_the_roles_of_a_lookup_are_those_of_the_learners_words() -> None:
    roles = compute("lookup", {"texts": ("dog=Hund", "cat=Katze"), "queries": ("dog",)}).sections[0].shown[0]
    assert isinstance(roles, Table)
    assert [row[-1] for row in roles.rows] == ["dog", "dog, cat", "Hund"]


@pytest.mark.parametrize(("text", "said"), [("the exam was cake", False), ("the zebra was cake", True)])
def test_words_that_training_never_saw_are_named(text: str, said: bool) -> None:
    told = " ".join(section.text for section in compute("learning", {"texts": (text,)}).sections)
    assert ("“zebra”. What it makes of such words is chance." in told) == said


def test_the_last_lesson_leads_on() -> None:
    assert "Next: glassformer demo" in shown(compute("from-scratch", {"step": 1}))
