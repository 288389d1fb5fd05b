"""Text of the user's in pages: whatever its direction and its marks, the text around it keeps its order."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import test_comparison_page
import test_data_page
import test_live_page
import test_report_page
from browser import BROWSER, drawn

from glassformer.explain.page import render_report
from glassformer.explain.report import Report
from glassformer.printable import DIRECTIONS

OURS = ("severity", "measure", "held", "predictions", "better", "unit")  # our own words, not the user's
MARK = "שלום"
PAGES = {
    "run": test_report_page.full_report,
    "live": lambda: test_live_page.live(refresh=0),  # so that it comes to rest
    "data": test_data_page.odd_report,
    "compared": test_comparison_page.report,
}
# Text nodes that hold the mark and are neither isolated by an element nor by the signs around it.
SEARCH = """
  const odd = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement;
    if (parent.closest("script, style, bdi") || parent.closest("title")) continue;
    if (getComputedStyle(parent).unicodeBidi === "plaintext") continue;
    const bare = node.data.replace(/\\u2068[^\\u2069]*\\u2069/g, "");
    if (bare.includes("MARK")) odd.push(parent.tagName + ": " + node.data);
  }
  document.documentElement.dataset.odd = JSON.stringify(odd);
""".replace("MARK", MARK)


def with_texts(value: Any, text: str) -> Any:
    """The same data with `text` before each of its texts."""
    if isinstance(value, str):
        return text + value
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.name not in OURS]
        return replace(value, **{name: with_texts(getattr(value, name), text) for name in names})
    if isinstance(value, Mapping):
        return {key: with_texts(item, text) for key, item in value.items()}
    return type(value)(with_texts(item, text) for item in value) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("mark", ["\u202e", "\u2067", "\u202c", "\u2069\u202a"])
def test_loose_marks_are_visible_in_every_text(name: str, mark: str) -> None:
    page = render_report(with_texts(PAGES[name](), f"{mark}a"))
    assert not DIRECTIONS.search(page)
    assert page.count(f"\\u{ord(mark[0]):04x}") > 5


def test_marks_of_well_written_texts_stay() -> None:
    good = "a \u2067שלום\u2069 b \u202b(שלום)\u202c\u200f\nc"
    assert json.dumps(good, ensure_ascii=False) in render_report(Report(title="t", subtitle=good))


@pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page was not drawn in a browser")
@pytest.mark.parametrize("name", PAGES)
def test_every_text_is_isolated(name: str, tmp_path: Path) -> None:
    dom = drawn(render_report(with_texts(PAGES[name](), MARK)), tmp_path, script=SEARCH)
    found = re.search(r'data-odd="(.*?)"', dom)
    assert found
    assert json.loads(unescape(found[1])) == []
    assert f"{MARK}</bdi>" in dom or f">{MARK}" in dom
