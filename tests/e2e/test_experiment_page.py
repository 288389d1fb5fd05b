"""The page of an experiment in a real browser: charts over lengths, and tables that use the width of their cells."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from browser import BROWSER, drawn, without_scripts

from glassformer.explain.page import render_report
from glassformer.explain.report import Report, ShownLines, ShownTable

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page was not drawn in a browser")

HOSTILE = "</script><b>x</b> & עברית"


def test_charts_and_tables_are_drawn(tmp_path: Path) -> None:
    lines = (("LSTM", ((5.0, 60.0), (35.0, 12.5))), (HOSTILE, ((5.0, 61.0), (35.0, 50.0))))
    short = ShownTable("short", "Short cells", "", ("", "all"), ((HOSTILE, "1.0 ± 0.2"),))
    long = ShownTable("long", "Long cells", "", ("claim", "verdict"), (("word " * 30, "depends"),))
    chart = ShownLines("BLEU", "a note", "source words", lines)
    dom = drawn(render_report(Report(title="t", about="an experiment", lines=[chart], tables=[short, long])), tmp_path)
    for name in ("lines", "short", "long"):
        assert re.search(rf'<section id="{name}"[^>]*data-drawn="yes"', dom), name
    shown = unescape(without_scripts(dom))
    assert "LSTM 60 to 12.5" in shown
    assert ">source words</text>" in shown
    assert ">step</text>" not in shown
    assert "<b>x</b>" not in without_scripts(dom)
    assert re.findall(r'<table class="(samples[^"]*)"', dom) == ["samples values", "samples"]
