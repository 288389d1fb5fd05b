"""The page of every kind of model: its file has what the page needs to run it, and says what it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_explaining_the_family import CONFIGS, LABELS, SENTENCE, TEXTS, make

import glassformer as gf
from glassformer.errors import DataError, ModelError, SettingsError
from glassformer.explain.explanation import Explanation
from glassformer.explain.glass.chunks import TextRef, text_at, unpacked
from glassformer.explain.glass.contents import Contents
from glassformer.explain.glass.tiers import plan_of
from glassformer.models.registry import build
from glassformer.tasks.glass.pages import ModelPages, rounded, tier_in_words
from glassformer.tasks.glass.subjects import subject_of
from glassformer.tasks.loading import used_as
from glassformer.text import Tokenizer

VERBS = {
    "bert": "fill", "bert-sentence": "classify", "bert-tokens": "tag", "bert-span": "answer", "bert-none": "embed",
    "roformer": "fill", "gpt": "generate", "llama": "generate", "t5": "generate", "vit": "classify",
    "captioner": "caption",
}  # fmt: skip


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("image") / "image.npy"
    np.save(file, np.random.default_rng(1).integers(0, 256, (4, 4), dtype=np.uint8).repeat(7, 0).repeat(7, 1))
    return str(file)


def explained(name: str, image: str) -> Explanation:
    model: Any = used_as(make(name), None)
    found: Explanation = model.explain(image if name in ("vit", "captioner") else SENTENCE)
    return found


def contents(found: Explanation, **more: Any) -> Contents:
    assert isinstance(found.pages, ModelPages)
    return found.pages.contents(found, **{"also": (), "max_mb": 24, **more})


@pytest.mark.parametrize("name", CONFIGS)
def test_the_file_has_the_model_and_what_it_computed(name: str, image: str) -> None:
    found = explained(name, image)
    made = contents(found)
    header = json.loads(json.dumps(made.header, allow_nan=False))
    assert (header["tier"], header["left_out"], header["task"]["verb"]) == ("live", [], VERBS[name])
    (trace,) = header["traces"]
    names = {step["name"] for step in header["program"]["steps"]}
    assert names == set(trace["proof"]) > set(trace["values"]) == set(found.values)
    for sequence, what in header["program"]["sequences"].items():
        assert (sequence in trace["ids"]) == (what != "image")
        if sequence in trace["pieces"]:
            assert len(trace["pieces"][sequence]) == len(trace["words"][sequence])
    assert ("image" in trace) == (name in ("vit", "captioner"))
    assert ("decoding" in header) == ("search" in trace) == (VERBS[name] in ("generate", "caption"))
    if name in ("bert-sentence", "bert-tokens"):
        assert header["task"]["classes"] == LABELS


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_can_show_that_its_tokenizer_is_the_same(name: str, image: str) -> None:
    made = contents(explained(name, image))
    blocks = [unpacked(one) for one in made.chunks]
    for part in made.header["tokenizers"].values():
        tokenizer = Tokenizer.from_json(text_at(blocks, TextRef(**part["file"])), origin="the page")
        assert len(part["probes"]) >= 29
        assert all(tokenizer.encode(text) == ids for text, ids in part["probes"])
        shown = json.loads(text_at(blocks, TextRef(**part["shown"])))
        trace = made.header["traces"][0]
        for sequence, ids in trace["ids"].items():
            if made.header["tokenizers"].get(sequence) is part:
                assert [shown[i] for i in ids] == trace["pieces"][sequence]


@pytest.mark.parametrize(
    ("name", "why"), [("bert-span", "two texts"), ("bert-tokens", "into words"), ("bert-none", ""), ("gpt", "")]
)
def test_it_says_why_a_text_cannot_be_typed(name: str, why: str, image: str) -> None:
    part = contents(explained(name, image)).header["tokenizers"]["text"]
    assert part["typed"] == (not why)
    assert why in part.get("why", "")


def test_a_model_that_continues_a_text_shows_what_it_writes(image: str) -> None:
    found = explained("gpt", image)
    trace = contents(found).header["traces"][0]
    assert trace["ids"]["text"] == list(found.tokens[""].ids)
    assert trace["answer"] == found.pages.model.generate(SENTENCE, max_new=20)  # type: ignore[union-attr]
    assert trace["search"]["widened"] is True
    assert len(trace["written"]["ids"]) <= 20


# Rounded, recorded, refused


def test_a_rounded_model_is_recorded_with_its_rounded_weights(image: str) -> None:
    found = explained("gpt", image)
    pages = found.pages
    assert isinstance(pages, ModelPages)
    exact = contents(found)
    subject = subject_of(pages.model)
    plan = plan_of(
        subject.program, subject.weights, pages.watched(pages.model, subject, [found], [SENTENCE]), space=10**7
    )
    half = pages.in_half([found], [SENTENCE], replace(plan, precision="float16"))
    assert half.size < exact.size
    assert {ref["dtype"] for ref in half.header["weights"].values()} == {"f16"}
    (note,) = half.header["left_out"]
    assert "rounded to 16" in note
    assert "of 1 texts" in note
    weight = pages.model.model.blocks[0].attention.out.linear.weight
    ours = rounded(pages.model).model.blocks[0].attention.out.linear.weight  # type: ignore[attr-defined]
    assert torch.equal(ours, weight.half().float())
    assert half.header["traces"][0]["proof"] != exact.header["traces"][0]["proof"]


def test_a_model_that_does_not_fit_is_recorded() -> None:
    bundle = make("bert-none")
    torch.manual_seed(0)
    model = build("bert", {**CONFIGS["bert-none"], "d": 240, "d_ff": 640, "vocabulary": 60})
    found = used_as(replace(bundle, model=model.eval()), None).explain(SENTENCE)  # type: ignore[attr-defined]
    made = contents(found, max_mb=1.5)
    assert made.header["tier"] == "recorded"
    assert "weights" in made.header["left_out"][0]
    assert made.size < 1_500_000
    (trace,) = made.header["traces"]
    for step in made.header["program"]["steps"]:
        assert step["name"] in trace["values"] or {*step["weights"]} <= {*made.header["weights"]}


def test_numbers_that_are_not_the_models_make_no_page(image: str) -> None:
    found = explained("gpt", image)
    wrong = replace(found, values={**found.values, "logits": found.values["logits"] + 1})
    with pytest.raises(ModelError, match="at logits the program of this gpt model differs"):
        contents(wrong)


@pytest.mark.parametrize("damaged", [float("nan"), float("inf")])
def test_a_damaged_model_makes_no_page(damaged: float) -> None:
    bundle = make("bert-sentence")
    with torch.no_grad():
        next(iter(bundle.model.parameters())).fill_(damaged)
    found = used_as(bundle, None).explain(SENTENCE)  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match=r"No page: .* is not a number \(NaN\)"):
        contents(found)


def test_one_further_text_is_one_text_and_a_blank_one_is_named(image: str) -> None:
    found = explained("gpt", image)
    assert [one["text"] for one in contents(found, also=SENTENCE).header["traces"]] == [SENTENCE, SENTENCE]
    with pytest.raises(DataError, match="text 2 of 2 is blank"):
        contents(found, also=[SENTENCE, " "])


def test_which_tier_a_page_has_is_said(image: str) -> None:
    found = explained("gpt", image)
    model, live = found.pages.model, contents(found)  # type: ignore[union-attr]
    assert tier_in_words(live, model, max_mb=24).startswith("Live: it has all weights")
    recorded = replace(live, header={**live.header, "tier": "recorded"})
    assert "only the texts that you gave. Allow a larger page" in tier_in_words(recorded, model, max_mb=24)
    assert tier_in_words(recorded, model, max_mb=64).endswith("only the texts that you gave.")
    half = replace(live, header={**live.header, "precision": "float16"})
    assert tier_in_words(half, model, max_mb=2.5).startswith("Live, rounded: with 32 bits")


def test_a_number_is_shown_as_one() -> None:
    bundle = make("bert-sentence")
    bundle.extras.update({"problem_type": "regression", "centre": 2.0, "spread": 3.0, "labels": ["score"]})
    model: Any = used_as(bundle, None)
    found = model.explain(SENTENCE)
    (score,) = model.scores([SENTENCE])
    assert found.to_dict()["number"] == pytest.approx(score, abs=1e-4)
    assert f"The score: {score:.3f}" in str(found)
    task = contents(found).header["task"]
    assert task == {"verb": "similar", "head": "number", "scale": [2.0, 3.0]}


def test_a_size_that_no_page_can_have(image: str) -> None:
    with pytest.raises(SettingsError, match="1 to 64"):
        contents(explained("gpt", image), max_mb=65)


# Translators, from the command line and from Python

TEXT = "a dog sees the boy."


def test_a_translator(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    outcome = command("explain", trained, TEXT, "--html", tmp_path / "glass.html", "--also", "the dog")
    assert outcome.code == 0
    assert "glass.html: " in outcome.out
    page = (tmp_path / "glass.html").read_text(encoding="utf-8")
    assert f"<h2>{TEXT}</h2>" in page
    assert "<h2>the dog</h2>" in page
    model = gf.load(trained)
    model.explain(TEXT).save(tmp_path / "again.html", also=["the dog"])
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_how_it_searches(trained: Path) -> None:
    model = gf.load(trained)
    header = contents(model.explain(TEXT)).header
    decoding, settings = header["decoding"], model.recipe.decode
    assert decoding["limit"] == {"times": settings.max_ratio, "plus": settings.max_extra}
    assert (decoding["start"], decoding["end"]) == (model.target_marks.bos, model.target_marks.eos)
    search = header["traces"][0]["search"]
    best = model.search_ids([model.source.encode(TEXT)], beam=decoding["search_beam"])[0][0]
    assert search["hypotheses"][0]["ids"] == list(best.ids)
    assert search["hypotheses"][0]["score"] == pytest.approx(best.score)
    assert header["tokenizers"]["source"]["stripped"] is True
    merges = header["traces"][0]["merges"]["source"]
    assert [number for word in merges for number in word["ids"]] == header["traces"][0]["ids"]["source"][:-1]


def test_a_page_on_stdout(trained: Path, command: Callable[..., Any]) -> None:
    outcome = command("explain", trained, TEXT, "--html", "-")
    assert outcome.code == 0
    assert outcome.out.startswith("<!doctype html>")
    assert "MB. Live: " in outcome.err


def test_texts_that_translate_splits_can_be_typed(trained: Path) -> None:
    model = gf.load(trained)
    source = contents(model.explain(TEXT)).header["tokenizers"]["source"]
    assert source["longest"] == model.recipe.model.max_length - 1
    assert source["whole"] == model.split_limit(model.recipe.decode)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--open",), "add --html FILE"),
        (("--html", "glass.html", "--tree"), "--html writes a page; --tree prints"),
        (("--html", "glass.html", "--json"), "--html writes a page; --json prints"),
        (("--html", "-", "--open"), "--open cannot open it"),
        (("--html", "-", "--also", TEXT, "--also", ""), "--also: text 2 of 2 is blank"),
        (("--html", "-", "--max-mb", "0.1"), "Give a number from 1 to 64"),
    ],
)
def test_options_that_do_not_fit(
    trained: Path, options: tuple[str, ...], why: str, command: Callable[..., Any]
) -> None:
    outcome = command("explain", trained, TEXT, *options)
    assert outcome.code == 2
    assert why in outcome.err


def test_another_file_is_not_replaced(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    (tmp_path / "thesis.html").write_text("years of work")
    outcome = command("explain", trained, TEXT, "--html", tmp_path / "thesis.html")
    assert (outcome.code, (tmp_path / "thesis.html").read_text()) == (2, "years of work")
    assert command("explain", trained, TEXT, "--html", tmp_path / "thesis.html", "--force").code == 0


def test_a_notebook_shows_the_page(trained: Path) -> None:
    found = gf.load(trained).explain(TEXT)
    assert 'sandbox="allow-scripts allow-downloads"' in (found._repr_html_() or "")
    assert replace(found, pages=None)._repr_html_() is None
    with pytest.raises(ModelError, match="no model beside it"):
        replace(found, pages=None).page()
