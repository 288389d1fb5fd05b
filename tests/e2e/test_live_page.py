"""The page of a run in training, in a real browser: it reloads, keeps the scroll position, and stops at the end."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from browser import BROWSER, drawn, widths_on_a_phone, without_scripts

from glassformer.explain.page import render_report
from glassformer.explain.progress import ShownProgress, Version, Watched
from glassformer.explain.report import Report

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page was not drawn in a browser")

VERSIONS = tuple(Version(10 * i, 10 * i, f"ein Hund {i} sieht <b>{i % 3}</b>") for i in range(1, 9))
# Counts its loads; the first one scrolls down, each tells where it stands; the second is the last.
LOADS = """
  sessionStorage.loads = Number(sessionStorage.loads || 0) + 1;
  document.body.dataset.loads = sessionStorage.loads;
  if (sessionStorage.loads === "1") window.scrollTo({ top: 400, behavior: "instant" });
  if (sessionStorage.loads === "2") document.querySelector("#progress button").click();
  document.body.dataset.scroll = Math.round(window.scrollY);
"""


def live(**changed: object) -> Report:
    progress = ShownProgress(
        step=1234, steps=4000, epoch=3, elapsed=100.0, left=200.0, best="best BLEU 31.2 at step 1,000",
        written=int(time.time()), refresh=1, silence=600,
    )  # fmt: skip
    curves = [{"step": 10 * s, "train_loss": 5 / s, "valid_bleu": float(s)} for s in range(1, 30)]
    watched = [Watched("a dog", ("ein Hund",), (*VERSIONS, Version(90, 120, "ein Hund")))] * 6
    return Report(title="t", progress=replace(progress, **changed), curves=curves, watched=watched)  # type: ignore[arg-type]


def loads_and_scroll(dom: str) -> tuple[int, int]:
    found = re.search(r'data-loads="(\d+)"', dom), re.search(r'data-scroll="(\d+)"', dom)
    assert found[0]
    assert found[1]
    return int(found[0][1]), int(found[1][1])


def test_it_shows_its_progress_and_reloads_at_the_same_scroll_position(tmp_path: Path) -> None:
    dom = drawn(render_report(live()), tmp_path, script=LOADS)
    body = unescape(without_scripts(dom))
    assert "Training, step 1,234 of 4,000, about 3 min left." in body
    assert "epoch 3 · 2 min so far, validations included · best BLEU 31.2 at step 1,000" in body
    assert "<title>30% · t" in dom
    assert re.search(r'<p id="trouble"[^>]*hidden=""', dom)
    loads, scroll = loads_and_scroll(dom)
    assert loads == 2
    assert scroll == 400


def test_a_paused_page_does_not_reload(tmp_path: Path) -> None:
    dom = drawn(render_report(live()), tmp_path, script=LOADS + "document.querySelector('#progress button').click();")
    assert loads_and_scroll(dom)[0] == 1


@pytest.mark.parametrize(("changed", "words"), [
    ({"refresh": 0}, "Stopped at step 1,234 of 4,000. The same command resumes it"),
    ({"written": 1_700_000_000, "refresh": 60}, "the run has probably been stopped"),
])  # fmt: skip
def test_a_stopped_run_says_so(tmp_path: Path, changed: dict[str, object], words: str) -> None:
    dom = drawn(render_report(live(**changed)), tmp_path, script=LOADS)
    assert words in unescape(without_scripts(dom))
    assert loads_and_scroll(dom)[0] == 1


def test_a_finished_run_does_not_reload(tmp_path: Path) -> None:
    dom = drawn(render_report(replace(live(), progress=None)), tmp_path, script=LOADS)
    assert loads_and_scroll(dom)[0] == 1
    assert 'id="progress"' not in dom


def test_new_words_are_marked_and_every_version_can_be_seen(tmp_path: Path) -> None:
    script = """
      const rows = () => document.querySelectorAll("#watched .card:first-child tr").length;
      const said = [rows()];
      document.querySelector("#watched .controls button").click();
      said.push(rows());
      document.body.dataset.said = said;
    """
    dom = drawn(render_report(live(refresh=60)), tmp_path, script=script)
    assert 'data-said="6,10"' in dom  # with the reference
    card = re.search(r'<div class="card"><h3>.*?</table>', without_scripts(dom), re.DOTALL)
    assert card
    assert "&lt;b&gt;" in card[0]  # text, never markup
    assert re.findall(r"<mark>(.*?)</mark>", card[0])[:2] == ["2", "2"]
    assert "step 90 – 120" in card[0]
    assert "✓" in card[0]
    assert 'class="gone"' not in card[0]  # removed words were replaced, or were at the end


def test_a_phone_does_not_scroll_sideways(tmp_path: Path) -> None:
    long = Watched("w" * 200, ("r" * 200,), (Version(10, 10, "v" * 150), Version(20, 20, "u" * 150)))
    client, scroll, _ = widths_on_a_phone(render_report(replace(live(refresh=60), watched=[long])), tmp_path)
    assert scroll == client
