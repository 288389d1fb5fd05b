"""The page's data: rounding, gaps, escaping; without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from glassformer.evaluate.score import Score
from glassformer.evaluate.translation import BLEU
from glassformer.explain.charts import shown_metrics
from glassformer.explain.explanation import Explanation
from glassformer.explain.page import decimals, page_data, render_report, significant, thinned
from glassformer.explain.report import Report, Sample, certain, shown_sentence
from glassformer.explain.verdict import score_sentence
from glassformer.printable import embedded

NAN, INF = float("nan"), float("inf")


def data_of(page: str) -> dict[str, object]:
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.S)
    assert len(found) == 1
    data: dict[str, object] = json.loads(found[0])
    return data


def test_absent_parts_are_left_out() -> None:
    words = {"held": "examples", "predictions": "predictions", "tokens": "tokens"}
    assert data_of(render_report(Report(title="Just started"))) == {"title": "Just started", **words}


def test_numbers_are_rounded_and_gaps_stay_gaps() -> None:
    curves = [
        {"step": 123456, "train_loss": 1.23456789, "valid_loss": NAN, "lr": INF, "unknown": 3.0, "valid_bleu": None}
    ]
    data = page_data(Report(title="t", curves=curves, scores=[Score("BLEU", NAN, 1.0, INF)]))
    assert data["curves"] == [{"step": 123456, "train_loss": 1.23456789}]
    assert data["scores"][0]["value"] is None
    assert data["scores"][0]["high"] is None


def test_rounding() -> None:
    assert significant(0.000123456) == 0.0001235
    assert isinstance(significant(3.0), int)
    assert decimals([[0.12346, 0.00001, 1.0, NAN]]) == [[0.1235, 0, 1, None]]


@pytest.mark.parametrize(
    "hostile", ["</script><b>x", "<!-- <script>", "a & b", "\u2028\u2029", "{{script}}", "\"\\'", "עברית 🚉"]
)
def test_hostile_text_goes_in_and_comes_out_whole(hostile: str) -> None:
    page = render_report(Report(title=hostile, samples=[Sample(hostile, (hostile,), hostile, False)]))
    data = data_of(page)
    assert data["title"] == hostile
    assert data["samples"][0]["hypothesis"] == hostile  # type: ignore[index]
    assert page.count("</script>") == 2
    assert "<b>x" not in page


def test_broken_text_can_still_be_written() -> None:
    page = render_report(Report(title="t", samples=[Sample("\udc80", (), "", False)]))
    page.encode("utf-8")
    assert "\\udc80" in page


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = render_report(Report(title="t"))
    assert not re.search(r"https?:|@import|url\(|\bsrc=|[\"'(]//", page)
    assert set(re.findall(r'href="([^"]*)"', page)) == {"#main"}


def test_a_long_run_is_thinned_but_keeps_every_validation() -> None:
    curves = [{"step": s, "train_loss": 1.0, **({"valid_loss": 2.0} if s % 97 == 0 else {})} for s in range(1, 10_001)]
    kept = thinned(curves)
    assert len(kept) < 800
    assert sum("valid_loss" in point for point in kept) == 103
    assert kept[-1]["step"] == 10_000
    assert thinned(curves[:50]) == curves[:50]


def test_an_explanation_becomes_plain_data(explanation: Explanation) -> None:
    data = page_data(Report(title="t", sentence=shown_sentence(explanation, trace=["a", "b"])))
    sentence = json.loads(embedded(data))["sentence"]
    assert sentence["source_ids"] == list(explanation.source_ids)
    assert sentence["trace"] == ["a", "b"]
    assert sentence["cross_attention"][1][0][3][2] == pytest.approx(
        float(explanation.cross_attention[1, 0, 3, 2]), abs=5e-5
    )
    assert sum(sentence["encoder_attention"][0][1][2]) == pytest.approx(1, abs=1e-3)
    assert sentence["decoder_attention"][0][0][0] == [1] + [0] * (len(explanation.target) - 1)  # causal
    assert len(sentence["steps"][0]["top"]) == 5


def test_pieces_are_as_pages_show_them(explanation: Explanation) -> None:
    pieces = iter(["▁the", "cat", "</s>"])
    source = replace(explanation.tokens["encoder"], pieces=tuple(next(pieces, "x") for _ in explanation.source))
    other = replace(explanation, tokens={**explanation.tokens, "encoder": source})
    sentence = shown_sentence(other, trace=["▁the", "▁t he"])
    assert sentence.source[:3] == ("␣the", "cat", "‹end›")
    assert sentence.trace == ("␣the", "␣t he")


def test_label_smoothing_leaves_less_than_certainty() -> None:
    assert certain(0.0, 1000) is None
    most = certain(0.1, 1000)
    assert most is not None
    assert most.probability == pytest.approx(0.9 + 0.1 / 1000)


def test_numbers_that_are_read_are_rounded_only_where_they_are_shown() -> None:
    """40.247 once was 40.2 in the sentence and 40.3 in its card, by way of 40.25 in the data."""
    score = Score("BLEU", 40.247, 39.047, 41.447, sentences=1000, decoding="beam 5")
    data = page_data(
        Report(
            title="t",
            scores=[score],
            curves=[{"step": 1, "valid_bleu": 40.247}],
            metrics=shown_metrics([BLEU]),
            positions=[[0.123456]],
        )
    )
    assert (data["scores"][0]["value"], data["scores"][0]["low"]) == (40.247, 39.047)
    assert data["curves"][0]["valid_bleu"] == 40.247
    assert data["positions"] == [[0.1235]]  # drawn, not read
    assert score_sentence(score, BLEU, "unseen sentences") == (
        "BLEU 40.2, 95% interval 39.0 to 41.4 on 1,000 unseen sentences (beam 5): good translations, with slips."
    )
