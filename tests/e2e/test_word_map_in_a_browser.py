"""The map of words, drawn in a real browser: labels that do not overlap, zoom, search."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

import numpy as np
import pytest
from browser import BROWSER, drawn, widths_on_a_phone

from glassformer.vectors import WordVectors
from glassformer.vectors.map_page import render_map, word_map

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page was not drawn in a browser")
COUNT = 150
LOOK = """
  const labels = () => {
    const boxes = [], write = pen.fillText;
    pen.fillText = (text, x, y) => boxes.push([x, y, x + pen.measureText(text).width, y + 12, text]);
    draw();
    pen.fillText = write;
    return boxes;
  };
  const meet = boxes => boxes.filter((a, i) => boxes.some((b, j) =>
    i < j && a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1])).length;
  const all = labels();
  byId("word").value = "WORDBA";
  byId("find").requestSubmit();
  const found = [...byId("about").querySelectorAll("h2, button")].map(one => one.textContent);
  const near = labels();
  byId("about").querySelector("button").click();
  const next = byId("about").querySelector("h2").textContent;
  document.body.dataset.seen = JSON.stringify(
    { all: all.length, meet: meet(all) + meet(near), found, near: near.slice(0, 1).map(one => one[4]), next, scale });
"""


def page() -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [f"word{letters[i // 26]}{letters[i % 26]}" for i in range(COUNT)]
    return page_of(words, np.random.default_rng(6).standard_normal((COUNT, 5)).astype(np.float32))


def page_of(words: list[str], rows: np.ndarray) -> str:
    return render_map(word_map(WordVectors(words, rows), words=words, method="pca", title="Words"))


def test_labels_never_overlap_and_a_word_is_found(tmp_path: Path) -> None:
    dom = drawn(page(), tmp_path, script=LOOK)
    seen = json.loads(re.search(r'data-seen="([^"]*)"', dom)[1].replace("&quot;", '"'))  # type: ignore[index]
    assert 40 < seen["all"] <= COUNT
    assert seen["meet"] == 0
    assert seen["found"][0] == "wordba"
    assert len(seen["found"]) == 11
    assert seen["near"] == ["wordba"], "the chosen word is drawn first"
    assert seen["next"] == seen["found"][1]
    assert seen["scale"] >= 4
    assert f"{COUNT} words. PCA" in dom


def test_it_fits_a_phone(tmp_path: Path) -> None:
    client, scroll, _ = widths_on_a_phone(page(), tmp_path)
    assert scroll <= client


PHONE = """
  const view = frame.contentWindow, body = frame.contentDocument.body, boxes = [], at = code => view.eval(code);
  const pen = at("pen"), write = pen.fillText;
  pen.fillText = (text, x, y) => boxes.push([x, y, x + pen.measureText(text).width, y + 2]);
  at("draw()");
  pen.fillText = write;
  const [wide, high] = [at("canvas.clientWidth"), at("canvas.clientHeight")];
  const all = at("data.words.map((_, row) => place(row))"), of = axis => all.map(point => point[axis]);
  const spread = axis => Math.max(...of(axis)) - Math.min(...of(axis));
  at("choose(0); centre(0); draw()");
  const card = at("byId('about').getBoundingClientRect().top");
  const word = at("place(0)[1] + canvas.getBoundingClientRect().top");
  document.body.dataset.seen = JSON.stringify({
    labels: boxes.length,
    cut: boxes.filter(box => box[0] < 0 || box[1] < 10 || box[2] > wide || box[3] > high).length,
    spread: [spread(0) / wide, spread(1) / high],
    covered: word > card,
  });
"""


def test_a_phone_shows_whole_labels_on_its_whole_screen(tmp_path: Path) -> None:
    """A wide picture is turned upright; the card of a chosen word does not cover the word."""
    words = [f"longer-word-{i}" for i in range(60)]
    flat = np.random.default_rng(3).standard_normal((60, 2)).astype(np.float32) * [3, 1]
    wide = page_of(words, np.array(flat, dtype=np.float32))
    frame = f'<body><iframe width="390" height="800" style="border:0" srcdoc="{escape(wide)}"></iframe></body>'
    script = f'const frame = document.querySelector("iframe"); frame.onload = () => {{ {PHONE} }};'
    dom = drawn(frame, tmp_path, script=script)
    seen = json.loads(re.search(r'data-seen="([^"]*)"', dom)[1].replace("&quot;", '"'))  # type: ignore[index]
    assert seen["labels"] > 15
    assert seen["cut"] == 0
    assert max(seen["spread"]) == pytest.approx(0.88, abs=0.02)
    assert min(seen["spread"]) > 0.4
    assert not seen["covered"]
