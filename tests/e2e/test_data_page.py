"""The page of the data: written by doctor and by a training, and drawn in a real browser."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser import BROWSER, drawn, widths_on_a_phone, without_scripts

from glassformer.data.checks.findings import Findings
from glassformer.data.checks.held import Held
from glassformer.data.checks.screen import screen
from glassformer.data.readers.records import Place, Problem, Record
from glassformer.explain.data_report import Learning, examination_report, shown_data
from glassformer.explain.page import render_report
from glassformer.explain.report import Report

if TYPE_CHECKING:
    from toy_corpus import Outcome, Toy

in_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page was not drawn in a browser")

HOSTILE = "</script><b>bold</b> <img src=x onerror=document.title='owned'> &"
HEBREW = "הכלב ישן, והחתול ישן גם הוא."
DOGS = [(f"The dog {'very ' * (i % 7)}{i} sleeps.", f"Der Hund {'sehr ' * (i % 5)}{i} schläft.") for i in range(300)]


def found_in(pairs: list[tuple[str, str]], *, held: Held | None = None) -> Findings:
    records = [Record(source, target, Place("a.en", number, 0)) for number, (source, target) in enumerate(pairs, 1)]
    records += [Record("x", "", Place("a.en", 0, 0), Problem(HOSTILE, HOSTILE, Place(HOSTILE, 0, 0)))]
    findings = Findings()
    list(screen(records, findings=findings, held=held, examine=math.inf))
    return findings


def odd_report() -> Report:
    """Findings of every severity, hostile and right-to-left text, a held-out part, a training."""
    pairs = [*DOGS, (f"{HOSTILE}\x07\u202e", HEBREW), ("y" * 1200, "z"), DOGS[0]]
    held = Held()
    held.add(HOSTILE, [Record(*DOGS[1], Place("v.en", 1, 0)), Record("n", "n", Place("v.en", 2, 0))])
    findings = found_in(pairs, held=held)
    findings.languages = (HOSTILE, "de")
    place = Place("a.en", 5, 50)
    findings.slips["slip"].add(Problem("slip", "out of step", place), Record("a", "b", place))
    learning = Learning(pairs=290, left_out=4, most=200, filters=("control",))
    return replace(examination_report(findings, [Path(HOSTILE)]), data=shown_data(findings, learning))


def quiet_report(pairs: list[tuple[str, str]]) -> Report:
    findings = Findings()
    list(screen([Record(*pair, Place("a", 1, 0)) for pair in pairs], findings=findings, examine=math.inf))
    return examination_report(findings, [Path("a.tsv")])


def text_of(dom: str) -> str:
    """What a reader sees, but for the layout."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", without_scripts(dom))))


def assert_drawn(dom: str) -> None:
    assert re.search(r'<section id="data"[^>]*data-drawn="yes"', dom)
    assert re.search(r'<p id="trouble"[^>]*hidden=""[^>]*></p>', dom)
    assert not re.search(r"\[object |undefined|NaN|Infinity|null", without_scripts(dom))


@pytest.fixture(scope="module")
def dom(tmp_path_factory: pytest.TempPathFactory) -> str:
    return drawn(render_report(odd_report()), tmp_path_factory.mktemp("page"))


@in_browser
def test_everything_is_drawn_without_trouble(dom: str) -> None:
    assert_drawn(dom)
    body = without_scripts(dom)
    assert len(re.findall(r'<svg class="chart"', body)) == 2
    assert len(re.findall(r'class="bars fill', body)) == 3
    assert len(re.findall(r'class="quantile', body)) == 4
    assert len(re.findall(r'class="limit"', body)) == 2
    said = text_of(dom)
    for heading in ("To fix before training", "Pairs better left out", "Worth knowing", "What each filter would drop"):
        assert heading in said
    assert "pairs learned from290" in said
    assert "control · in use" in said
    assert "Training left out 4 of 294 pairs (1.4%)" in said
    assert "The filter too-long allows 1,000 characters on a side; 1 pair has more." in said
    assert "1 (50.0%)" in said


@in_browser
def test_hostile_text_is_shown_as_text(dom: str) -> None:
    body = without_scripts(dom)
    assert "<b>bold" not in body
    assert "<img" not in body
    assert "<title>owned" not in dom
    said = unescape(body)
    assert said.count(HOSTILE) >= 5
    assert f"{HOSTILE}\\x07\\u202e" in said
    assert f'<bdi dir="auto">{HEBREW}</bdi>' in said
    assert "\u202e" not in body
    assert not re.search(r"<(?:link|iframe|img|object|embed)\b|\bsrc=", body.replace("src=x onerror", ""))


@in_browser
@pytest.mark.parametrize("pairs", [[("Yes.", "Ja.")], DOGS[:5], DOGS], ids=["one pair", "five pairs", "many"])
def test_nothing_found_is_said_so(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    dom = drawn(render_report(quiet_report(pairs)), tmp_path)
    assert_drawn(dom)
    assert "Nothing to report: every unit is a usable pair" in text_of(dom)
    assert "<details" not in without_scripts(dom)
    assert "<nav" not in without_scripts(dom)


@in_browser
def test_data_without_a_usable_pair_is_drawn(tmp_path: Path) -> None:
    dom = drawn(render_report(examination_report(found_in([]), [Path("a")])), tmp_path)
    assert_drawn(dom)
    assert "<svg class" not in without_scripts(dom)


@in_browser
def test_huge_counts_are_drawn(tmp_path: Path) -> None:
    report = odd_report()
    assert report.data is not None
    characters, words = report.data.lengths
    more = [
        replace(one, bars=tuple(tuple(n * 10**12 for n in side) for side in one.bars)) for one in (characters, words)
    ]
    dom = drawn(render_report(replace(report, data=replace(report.data, lengths=tuple(more)))), tmp_path)
    assert_drawn(dom)
    assert re.search(r">\d+T</text>", without_scripts(dom))


@in_browser
def test_charts_answer_to_keys_pointer_and_switch(tmp_path: Path) -> None:
    script = """
      const said = [], chart = (i) => document.querySelectorAll("#data svg.chart")[i];
      const readout = (i) => said.push(document.querySelectorAll("#data .readout")[i].textContent);
      const key = (node, name) => node.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
      readout(0);
      key(chart(0), "ArrowLeft"); readout(0);
      const box = chart(0).getBoundingClientRect();
      chart(0).dispatchEvent(new PointerEvent("pointermove", { clientX: box.right - 20, clientY: box.top + 50 }));
      readout(0);
      chart(0).dispatchEvent(new PointerEvent("pointerleave")); readout(0);
      key(chart(1), "ArrowLeft"); readout(1);
      document.querySelectorAll("#data .controls button")[1].click();
      key(chart(0), "ArrowRight"); readout(0);
      document.body.dataset.said = said.join("|");
    """
    pairs = [("a" * (10 + i % 21), "b b") for i in range(63)] + [("a" * 20, "b b")] * 236 + [("c" * 90, "b b")]
    dom = drawn(render_report(quiet_report(pairs)), tmp_path, script=script)
    found = re.search(r'data-said="([^"]*)"', dom)
    assert found
    resting, left, last, rested, ratio, after = unescape(found[1]).split("|")
    assert resting == "source: half up to 20, 95% up to 26 · target: half up to 3, 95% up to 3"
    assert rested == resting
    assert left == "19 characters: source 3 (1%) · target 0 (0%)"
    assert last == "31 or more characters: source 1 (0.33%) · target 0 (0%)"
    assert re.fullmatch(r"0\.94 to 0\.98 times the expected length: \d+ pairs \([\d.]+%\)", ratio)
    assert after == "2 words: source 0 (0%) · target 300 (100%)"


@in_browser
def test_a_phone_does_not_scroll_sideways(tmp_path: Path) -> None:
    client, scroll, body = widths_on_a_phone(render_report(odd_report()), tmp_path)
    assert scroll == client
    assert body <= client


# Written by the commands


def embedded_data(page: Path) -> dict[str, Any]:
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"), flags=re.S)
    data: dict[str, Any] = json.loads(found[0])
    return data


def test_doctor_writes_the_page_beside_what_it_tells(toy: Toy, command: Callable[..., Outcome], tmp_path: Path) -> None:
    page = tmp_path / "examined.html"
    before = set(tmp_path.iterdir())
    done = command("doctor", toy.source, toy.target, "--valid", toy.source, toy.target, "--report", page)
    assert done.code == 0
    assert "60 pairs" in done.out
    assert f"Written: {page}" in done.out
    assert set(tmp_path.iterdir()) == {*before, page}  # no temporary file is left
    data = embedded_data(page)
    assert data["title"] == "toy.en, toy.de"
    assert data["data"]["units"][-1]["count"] == 60
    assert data["data"]["held"] == [{"name": "valid", "pairs": 60, "sources_met": 60, "pairs_met": 60}]


def test_doctor_writes_the_page_of_stdin_and_prints_json(command: Callable[..., Outcome], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = command("doctor", "-", "--json", "--report", page, stdin=b"Yes.\tJa.\nNo.\tNein.\n")
    assert done.code == 0
    assert json.loads(done.out)["units"] == 2
    assert embedded_data(page)["title"] == "stdin"


@pytest.mark.parametrize(
    ("name", "told"),
    [("toy.en", "already exists"), ("nowhere/page.html", "there is no folder"), (".", "already exists")],
)
def test_doctor_overwrites_nothing_and_says_so_before_the_work(
    toy: Toy, command: Callable[..., Outcome], name: str, told: str
) -> None:
    before = toy.source.read_bytes()
    done = command("doctor", toy.source, toy.target, "--report", toy.folder / name)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert toy.source.read_bytes() == before


def test_the_report_of_a_training_shows_its_data(trained: Path) -> None:
    data = embedded_data(trained / "report.html")["data"]
    assert [(row["name"], row["count"]) for row in data["units"]] == [
        ("units read", 60),
        ("pairs used", 60),
        ("pairs learned from", 60),
    ]
    assert data["tokens"] == {"allowed": 200, "left_out": 0, "of": 60}
    assert data["held"][0]["pairs_met"] == 60  # the toy validates with what it learns from
    assert [one["measure"] for one in data["lengths"]] == ["characters", "words"]
