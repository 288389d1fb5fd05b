"""The HTML of a page: its policy, its data, hostile texts in it, and what it never overwrites."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from glass_toys import PROGRAM, subject, watched

from glassformer.errors import DataError
from glassformer.explain.glass.chunks import ArrayRef, array_at, unpacked
from glassformer.explain.glass.contents import Contents, contents_of
from glassformer.explain.glass.page import check_target, framed, inline, render, save
from glassformer.explain.glass.tiers import plan_of

HOSTILE = "</script><img src=x onerror=alert(1)> {{script}} <!-- \u202e & \" ' </style> \ud800 \u2028"


def contents(text: str = "a b", answer: str = "b") -> Contents:
    made = subject()
    traces = [watched(made, text=text, answer=answer)]
    return contents_of(made, traces, plan_of(PROGRAM, made.weights, traces, space=10**6))


def data_of(page: str) -> dict[str, object]:
    (found,) = re.findall(r'<script type="application/json" id="glass">(.*?)</script>', page, flags=re.DOTALL)
    return json.loads(found)


def test_only_its_own_script_and_style_can_run() -> None:
    page = render(contents())
    policy = unescape(re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[0])
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe-inline" not in policy


def test_it_names_no_address_and_has_no_handler() -> None:
    page = render(contents(HOSTILE, HOSTILE))
    markup = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"<[^>]+\s(on\w+|style|src|href)\s*=", markup)
    assert "http" not in markup.replace("http-equiv", "")


def test_hostile_texts_stay_texts() -> None:
    page = render(contents(HOSTILE, HOSTILE))
    page.encode("utf-8")
    markup = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert "<img" not in markup
    assert "\u202e" not in page
    assert page.count("</script>") == page.count("<script")
    (trace,) = data_of(page)["traces"]  # type: ignore[misc]
    assert trace["text"] == HOSTILE


def test_numbers_and_weights_come_back() -> None:
    made, found = subject(), contents()
    header, blocks = data_of(render(found)), [unpacked(one) for one in found.chunks]

    def at(ref: dict[str, object]) -> np.ndarray:
        return array_at(blocks, ArrayRef(**ref))  # type: ignore[arg-type]

    np.testing.assert_array_equal(at(header["weights"]["W"]), made.weights["W"])  # type: ignore[index]
    (trace,) = header["traces"]  # type: ignore[misc]
    np.testing.assert_array_equal(at(trace["values"]["bent"]), watched(made).values["bent"])
    assert set(trace["proof"]) == {step.name for step in PROGRAM.steps}
    proof, value = trace["proof"]["up"], watched(made).values["up"].ravel()
    np.testing.assert_allclose(proof["values"], value[proof["at"]], rtol=1e-8)
    assert proof["max"] == pytest.approx(abs(value).max())
    assert header["tokenizers"]["text"]["typed"] is True  # type: ignore[index]


def test_the_summary_can_be_read_without_javascript() -> None:
    page = render(contents("a b", "b c"))
    (summary,) = re.findall(r'<main id="summary">(.*?)</main>', page, flags=re.DOTALL)
    for shown in ("<h2>a b</h2>", "<strong>b c</strong>", "<code>a</code>", "0.750"):
        assert shown in summary


def test_the_same_model_and_text_give_the_same_bytes() -> None:
    assert render(contents()) == render(contents())


def test_the_script_cannot_end_its_element() -> None:
    assert inline("a = '</script>' + '</SCRIPT'\r\n", "script") == "a = '<\\/script>' + '<\\/SCRIPT'\n"
    page = render(contents())
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert "<!--" not in script


# Files


def test_only_a_page_is_replaced(tmp_path: Path) -> None:
    page = render(contents())
    save(page, tmp_path / "deep" / "glass.html")
    save(page + "\n", tmp_path / "deep" / "glass.html")
    other = tmp_path / "thesis.html"
    other.write_text("years of work")
    with pytest.raises(DataError, match="is no page"):
        save(page, other)
    assert other.read_text() == "years of work"
    save(page, other, force=True)
    assert other.read_text(encoding="utf-8") == page
    with pytest.raises(DataError, match="is a folder"):
        check_target(tmp_path, force=True)
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["deep", "glass.html", "thesis.html"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_is_neither_read_nor_replaced(tmp_path: Path, *, force: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="no regular file"):
        save("page", tmp_path / "pipe", force=force)
    assert (tmp_path / "pipe").is_fifo()


def test_a_notebook_shows_it_in_a_frame_that_reaches_nothing() -> None:
    frame = framed('<p title="x">&</p>')
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert "allow-same-origin" not in frame
    assert unescape(re.findall(r'srcdoc="([^"]*)"', frame)[0]) == '<p title="x">&</p>'
