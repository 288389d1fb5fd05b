"""The page of a comparison in a real browser."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from browser import BROWSER, drawn, widths_on_a_phone, without_scripts

from glassformer.evaluate.score import Score
from glassformer.evaluate.translation import BLEU, CHRF
from glassformer.explain.charts import compared_charts, shown_metrics
from glassformer.explain.comparison import ShownComparison, ShownDifference, ShownDifferent
from glassformer.explain.page import render_report
from glassformer.explain.report import Report

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page was not drawn in a browser")

HOSTILE = "</script><b>x</b> & עברית <img src=x onerror=document.title='owned'>"


def report() -> Report:
    names = ["runs/a", HOSTILE, "runs/" + "long" * 30]
    scores = [[Score("BLEU", 30.0 + i, 29.0 + i, 31.0 + i), Score("exact match", 1.0)] for i in range(3)]
    shown = [
        ShownDifference(names[1], "BLEU", 1.25, 0.4, 2.1, 0.004, "better"),
        ShownDifference(names[2], "BLEU", -0.2, -1.0, 0.6, 0.61, "no difference"),
    ]
    curves = [
        {"step": 10 * s, f"valid_bleu {i}": float(s + i), f"valid_loss {i}": 5 / s} for i in range(3) for s in (1, 2, 3)
    ]
    sentences = [
        ShownDifferent("a dog", ("ein Hund", HOSTILE), ("ein", "ein Hund", HOSTILE), (20.0, 100.0, float("nan")))
    ]
    metrics = shown_metrics([BLEU, CHRF])
    compared = ShownComparison(
        names,
        [("train.lr", ["1", "2", HOSTILE])],
        curves,
        scores,
        shown,
        sentences,
        ["a note"],
        metrics=metrics,
        charts=compared_charts(metrics, names),
        judged_by=metrics[1],
    )
    return Report(title="t", about="runs compared", verdict=["b is better."], compared=compared)


def page() -> str:
    return render_report(report())


def test_every_part_is_drawn_and_text_stays_text(tmp_path: Path) -> None:
    dom = drawn(page(), tmp_path)
    for name in ("verdict", "differences", "learned", "settings", "apart"):
        assert re.search(rf'<section id="{name}"[^>]*data-drawn="yes"', dom), name
    assert re.search(r'<p id="trouble"[^>]*hidden=""[^>]*></p>', dom)
    body = without_scripts(dom)
    assert not re.search(r"\[object |undefined|NaN|Infinity|<img|<b>x", body)
    text = unescape(re.sub(r"<[^>]*>", "", body))
    assert "+1.3" in text or "+1.2" in text
    assert "−0.2" in text
    assert re.search(r"p = 0\.004 · significant", text)
    assert re.search(r"p = 0\.61 · may be chance", text)
    assert "30.0 (29.0 to 31.0)" in text
    assert re.findall(r"<mark>(.*?)</mark>", body)[1] == "Hund"  # the first stands in the explanation


def test_a_phone_does_not_scroll_sideways(tmp_path: Path) -> None:
    client, scroll, _ = widths_on_a_phone(page(), tmp_path)
    assert scroll == client
