"""The report page in a real browser: everything is drawn, nothing fails, nothing is loaded, text stays text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path

import pytest
import torch
from browser import BROWSER, drawn, widths_on_a_phone, without_scripts
from torch import Tensor

from glassformer.evaluate.score import Score
from glassformer.evaluate.translation import translation_metrics
from glassformer.explain.charts import shown_metrics
from glassformer.explain.page import render_report
from glassformer.explain.progress import Version, Watched
from glassformer.explain.recording import record_writing, tokens_of
from glassformer.explain.report import Report, Sample, ShownAlignment, ShownStep, ShownTable, certain, shown_sentence
from glassformer.explain.verdict import verdict
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.nn.positions import sinusoidal

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page was not drawn in a browser")

HOSTILE = "</script><b>bold</b> \"double\" 'single' & <!-- עברית 🚉 <img src=x onerror=document.title='owned'>"
SECTIONS = ("verdict", "scores", "curves", "samples", "sentence", "steps", "attention", "positions", "facts")


@dataclass(frozen=True)
class Pair:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


def full_report() -> Report:
    """Every part present: a random model's real numbers, a made-up curve, hostile text in every field of text."""
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(size="nano", N=3, h=2), source_vocabulary=23, target_vocabulary=23)
    source, target = (5, 7, 11, 2), (13, 17, 19, 3, 2)
    pair = Pair(torch.tensor([source]), torch.tensor([4]), torch.tensor([(1, *target[:-1])]))
    explanation = record_writing(
        model,
        pair,
        kind="transformer",
        text=HOSTILE,
        answer=HOSTILE,
        source=tokens_of("source", source, "<p{}>".format),
        start=1,
        written=target,
        name="<p{}>".format,
    )
    curves = [{"step": 10 * s, "train_loss": 5 / s, "valid_loss": 5.5 / s, "lr": 0.001 * s} for s in range(1, 30)]
    curves[4] = {**curves[4], "train_loss": float("nan")}
    scores = [Score("BLEU", 41.5, 40.1, 42.9, "nrefs:1|tok:13a", 1000), Score("odd", float("nan"))]
    return Report(
        title=HOSTILE,
        subtitle=HOSTILE,
        facts={HOSTILE: [("Parameters", "12,345"), (HOSTILE, HOSTILE)]},
        verdict=[*verdict(curves[5:], scores[:1]), HOSTILE],
        scores=scores,
        curves=curves,
        samples=[Sample("good", ("gut",), "gut", True), Sample(HOSTILE, (HOSTILE, "zwei"), HOSTILE, False, -1.5)],
        sentence=shown_sentence(explanation, trace=[HOSTILE]),
        positions=sinusoidal(8, 6).tolist(),
        alignment=ShownAlignment(1, 0, valid_aer=0.25, test_aer=0.3, links=((0, 0), (1, 2))),
    )


@pytest.fixture(scope="module")
def dom(tmp_path_factory: pytest.TempPathFactory) -> str:
    return drawn(render_report(full_report()), tmp_path_factory.mktemp("page"))


def test_every_section_is_drawn_without_trouble(dom: str) -> None:
    for name in SECTIONS:
        assert re.search(rf'<section id="{name}"[^>]*data-drawn="yes"', dom), name
        assert f'href="#{name}"' in dom
    assert re.search(r'<html[^>]*data-drawn="yes"', dom)
    assert re.search(r'<p id="trouble"[^>]*hidden=""[^>]*></p>', dom)
    body = without_scripts(dom)
    assert not re.search(r"\[object |undefined|NaN|Infinity", body)


def test_what_is_drawn_is_what_was_given(dom: str) -> None:
    body = without_scripts(dom)
    assert len(re.findall(r'class="thumb"', body)) == 3 * 2
    assert len(re.findall(r'<div class="matrix-view', body)) == 2  # attention, positions
    assert "Outlined: linked in the gold alignment." in body
    assert len(re.findall(r'<path class="series', body)) == 3
    assert "41.5" in body
    assert "25.0% on validation, 30.0% on test" in body
    assert "✓ equal" in body
    assert "✗ differs" in body


def test_hostile_text_is_shown_as_text(dom: str) -> None:
    body = without_scripts(dom)
    assert "<b>bold" not in body
    assert "<img" not in body
    assert unescape(body).count(HOSTILE) >= 9
    assert "<title>owned" not in dom


def test_nothing_is_loaded_from_elsewhere(dom: str) -> None:
    page = render_report(replace(full_report(), title="plain"))
    assert not re.search(r"https?:|@import|url\(", page)
    assert not re.search(
        r"<(?:link|iframe|img|object|embed)\b|\bsrc=", without_scripts(dom).replace("src=x onerror", "")
    )


def test_absent_parts_have_no_section(tmp_path: Path) -> None:
    dom = drawn(render_report(Report(title="Just started", verdict=["No training steps are recorded yet."])), tmp_path)
    assert re.findall(r'<section id="(\w+)"', dom) == ["verdict"]
    assert "<nav" not in without_scripts(dom)


def test_a_run_with_one_point_and_one_token_is_drawn(tmp_path: Path) -> None:
    report = full_report()
    assert report.sentence is not None
    short = replace(
        report.sentence, source=("</s>",), source_ids=(2,), target=("</s>",), target_ids=(2,),
        cross_attention=[[[[1.0]]]], encoder_attention=[], steps=report.sentence.steps[:1],
    )  # fmt: skip
    small = replace(report, curves=[{"step": 1, "train_loss": 3.0}], sentence=short, alignment=None, positions=[[0.0]])
    dom = drawn(render_report(small), tmp_path)
    assert re.search(r'<p id="trouble"[^>]*hidden=""', dom)
    assert 'id="attention"' in dom
    assert "NaN" not in without_scripts(dom)


def said(report: Report, folder: Path, script: str) -> list[str]:
    """What a script collects in the page with `say(...)`; `key(node, name)` presses a key there."""
    helpers = """
      const say = (text) => { document.body.dataset.said = (document.body.dataset.said || "") + text + "|"; };
      const key = (node, name, more) =>
        node.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, ...more }));
      const find = (selector) => document.querySelector(selector);
      const all = (selector) => document.querySelectorAll(selector);
    """
    found = re.search(r'data-said="([^"]*)"', drawn(render_report(report), folder, script=helpers + script))
    assert found
    return unescape(found[1]).split("|")[:-1]


def test_heads_cells_and_charts_answer_to_keys_and_clicks(tmp_path: Path) -> None:
    script = """
      const title = () => find("#attention .large").parentElement.querySelector("h3").textContent;
      all(".thumb")[5].click(); say(title());
      key(all(".thumb")[5], "ArrowUp"); say(title());
      const matrix = find("#attention .matrix-view"), read = () => say(find("#attention .readout").textContent);
      key(matrix, "ArrowRight"); key(matrix, "ArrowRight"); read();
      key(matrix, "End", { ctrlKey: true }); key(matrix, "ArrowDown"); read();
      key(matrix, "Home"); read();
      find("#samples .controls button:nth-child(2)").click(); say(all("#samples tbody tr").length);
      key(find("#positions .matrix-view"), "ArrowDown"); say(find("#positions .readout").textContent);
      requestAnimationFrame(() => requestAnimationFrame(() => {
        key(find("#curves svg.chart"), "ArrowLeft");
        say(find("#curves .readout").textContent);
      }));
    """
    report = full_report()
    assert report.sentence is not None
    weights = report.sentence.cross_attention[1][1]
    third, second, first_row, corner, start, rows, position, chart = said(report, tmp_path, script)
    assert third.startswith("Layer 3, head 2")
    assert second.startswith("Layer 2, head 2")
    assert first_row == f"<p13> reads <p7> with weight {round(weights[0][1], 4)}"
    assert corner == f"<p2> reads <p2> with weight {round(weights[4][3], 4)}"
    assert start == f"<p2> reads <p5> with weight {round(weights[4][0], 4)}"
    assert rows == "1"
    assert position == "position 1, dimension 0: 0.8415"
    assert chart.startswith("step 280: training 0.179 · validation 0.196")


def test_a_head_is_shown_without_building_anything(tmp_path: Path) -> None:
    script = """
      const before = [...all("#attention canvas")], count = all("#attention *").length;
      all(".thumb")[1].click();
      const same = before.every((canvas, i) => canvas === all("#attention canvas")[i]);
      say(same && Math.abs(all("#attention *").length - count) < 5);
      say(all("#attention .matrix-view, #attention .matrix-view *").length);
      say([...all("#attention [tabindex='0']")].map((one) => one.className).join(" "));
    """
    same, nodes, stops = said(full_report(), tmp_path, script)
    assert same == "true"
    assert nodes == "3"  # the size of the matrix does not matter
    assert stops == "thumb matrix-view"  # one tab stop for all heads, one for the matrix


def test_the_matrix_is_also_a_table_of_the_selected_head(tmp_path: Path) -> None:
    script = """
      find("#attention .as-table").open = true;
      setTimeout(() => {
        all(".thumb")[3].click();
        say(all("#attention .as-table td.num").length); say(find("#attention .as-table td.num").textContent);
      }, 50);
    """
    report = full_report()
    assert report.sentence is not None
    cells, first = said(report, tmp_path, script)
    assert cells == "20"
    assert first == f"{100 * round(report.sentence.cross_attention[1][1][0][0], 4):.1f}%"


def test_the_colours_of_matrices_are_those_of_their_values(tmp_path: Path) -> None:
    """A pixel of a small picture has the share of its weight; zero is paper where values have signs."""
    script = """
      const canvas = find(".thumb canvas"), [red] = rgb(colour("--ramp"));
      const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const shown = [...bytes].filter((_, i) => i % 4 === 0);
      say([canvas.width, canvas.height]); say(shown.map((value) => ((255 - value) / (255 - red)).toFixed(3)));
      const look = lookOf({ signed: true, most: 2 }), at = (value) => String(look.colours()[look.level(value)]);
      say([at(0) === String(rgb(colour("--card"))), at(-2) === String(rgb(colour("--negative"))),
        at(2) === String(rgb(colour("--positive"))), at(null) === at(0)]);
    """
    report = full_report()
    assert report.sentence is not None
    size, shown, signed = said(report, tmp_path, script)
    weights = [value for row in report.sentence.cross_attention[0][0] for value in row]
    assert size == "4,5"
    assert list(map(float, shown.split(","))) == pytest.approx(weights, abs=0.006)
    assert signed == "true,true,true,true"


def with_steps(*steps: ShownStep, smoothing: float = 0.0) -> Report:
    report = full_report()
    assert report.sentence is not None
    return replace(report, sentence=replace(report.sentence, steps=steps, certain=certain(smoothing, 1000)))


def test_candidates_have_logarithmic_bars_and_label_smoothing_is_explained(tmp_path: Path) -> None:
    step = ShownStep("a", 0.9, (("a", 1.0), ("b", 0.01), ("c", 0.0002), ("d", 0.0)))
    script = """
      say([...all("#steps .candidates .bar i")].map((bar) => bar.style.width));
      say(find("#steps .decades").textContent);
      say([...all("#steps li .candidates .num")].map((one) => one.textContent));
      say(find("#steps").textContent); say(find("#steps line.certain").getAttribute("y1"));
    """
    widths, ends, numbers, text, line = said(with_steps(step, smoothing=0.1), tmp_path, script)
    assert widths == "100%,50%,7.5%,0%"  # from 0.01% to 100% are four powers of ten
    assert ends == "0.01%100%"
    assert numbers == "100%,1.0%,0.020%,0%"
    assert "label smoothing 0.1: it was taught to give the right token 90.0%" in text
    assert "all 1,000 tokens" in text
    top, base = 22, 150  # of the chart, STEP_CHART in steps.js
    assert float(line) == pytest.approx(base - 0.9001 * (base - top), abs=0.1)


def test_many_steps_are_shown_when_asked_for_and_spaces_are_pale(tmp_path: Path) -> None:
    report = with_steps(*[ShownStep(f"p{i}", 0.5, ((f"p{i}", 0.5),)) for i in range(150)])
    assert report.sentence is not None
    shown = replace(report.sentence, source=("␣a", "b"), source_ids=(1, 2), target=("‹end›",), target_ids=(3,))
    script = """
      say(all("#steps li").length); find("#steps .controls button").click(); say(all("#steps li").length);
      say(all("#steps .certain").length);
      say([...all("#sentence .chips bdi")].map((one) => one.innerHTML.replaceAll('"', "'")).join(" "));
    """
    few, many, lines, chips = said(
        replace(report, sentence=replace(shown, cross_attention=(), encoder_attention=(), decoder_attention=())),
        tmp_path, script,
    )  # fmt: skip
    assert (few, many, lines) == ("24", "150", "0")
    assert chips == "<span class='space' aria-hidden='true'>␣</span>a b ‹end›"


def test_long_and_right_to_left_texts_are_shaded_in_their_direction(tmp_path: Path) -> None:
    report, many = full_report(), 50
    assert report.sentence is not None
    even = [[[[1 / many] * many] * many]]
    shown = replace(
        report.sentence, source=("␣אבג",) * many, source_ids=(1,) * many, target=("␣x",) * many, target_ids=(1,) * many,
        cross_attention=even, encoder_attention=even, decoder_attention=[],
    )  # fmt: skip
    script = """
      say([...all(".flow")].map((one) => one.dir)); all(".flow .reader")[7].click();
      say(all(".flow .reading").length); say([...all(".flow")][1].querySelectorAll("[style]").length);
      say(find("#attention .readout").textContent); say(all("#attention .viewing .controls").length);
    """
    directions, reading, shaded, read, choices = said(replace(report, sentence=shown, alignment=None), tmp_path, script)
    assert directions == "ltr,rtl"
    assert (reading, shaded) == ("1", str(many))
    assert read == "␣x reads ␣אבג with weight 0.02"
    assert choices == "2"  # colours, and the size of the matrix


def test_a_phone_does_not_scroll_sideways(tmp_path: Path) -> None:
    report = full_report()
    assert report.sentence is not None
    long = replace(report.sentence, text="unbreakable" * 40, source=("w" * 60, *report.sentence.source[1:]))
    client, scroll, body = widths_on_a_phone(render_report(replace(report, sentence=long)), tmp_path)
    assert 370 <= client <= 390  # less a scroll bar
    assert scroll == client
    assert body <= client


def test_texts_that_improved_can_be_read_on_a_phone(tmp_path: Path) -> None:
    seen = Watched("a question", ("right",), (Version(1, 1, "wrong"), Version(2, 2, "right")))
    page = render_report(Report(title="t", watched=[seen]))
    client, _, narrowest = widths_on_a_phone(page, tmp_path, part=".watched td")
    assert narrowest > client / 2


def test_translations_can_be_read_on_a_phone(tmp_path: Path) -> None:
    samples = [Sample("a question", ("right",), "an answer", exact=False)]
    table = ShownTable("t", "T", "", ("", "n"), (("a" * 70, "1"), ("b", "2")))
    page = render_report(Report(title="t", samples=samples, tables=[table]))
    client, scroll, narrowest = widths_on_a_phone(page, tmp_path, part=".samples tbody td")
    assert narrowest > client / 2
    assert scroll <= client


def test_the_mark_of_a_translation_is_not_cut(tmp_path: Path) -> None:
    samples = [Sample("a question", ("right",) * 2, ".", exact=False)] * 3
    look = """
      const marks = [...document.querySelectorAll(".samples tbody td:first-child")];
      const cut = marks.filter((one) => one.scrollWidth > one.clientWidth + 1);
      document.body.dataset.cut = `${cut.length} of ${marks.length}`;
    """
    assert 'data-cut="0 of 3"' in drawn(render_report(Report(title="t", samples=samples)), tmp_path, script=look)


def test_scores_are_rounded_once_and_say_how_they_were_decoded(tmp_path: Path) -> None:
    scores = [Score("BLEU", 40.247, 39.047, 41.447, "", 1000, "beam 5")]
    notes = {"score": "Greedy translations of 110 validation sentences."}
    curves = [{"step": step, "valid_bleu": 38.7} for step in (1, 2)]
    metrics = shown_metrics(translation_metrics())
    report = Report("t", scores=scores, curves=curves, curve_notes=notes, held="sentences", metrics=metrics)
    body = without_scripts(drawn(render_report(report), tmp_path))
    assert "40.2" in body
    assert "40.3" not in body
    assert "1,000 sentences · beam 5" in body
    assert "Greedy translations of 110 validation sentences." in body


def test_an_endless_grapheme_stays_in_its_card(tmp_path: Path) -> None:
    endless = "क" + "ा" * 400
    seen = Watched(endless, (endless,), (Version(1, 1, endless), Version(2, 2, "kurz " + endless)))
    report = Report(title="t", watched=[seen], samples=[Sample(endless, (endless,), endless, True)])
    client, scroll, body = widths_on_a_phone(render_report(report), tmp_path)
    assert (scroll, body) == (client, client)
