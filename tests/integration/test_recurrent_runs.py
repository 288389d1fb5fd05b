"""Runs of recurrent models are used like all others: every verb works, or says what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glassformer as gf
from glassformer.errors import ModelError
from glassformer.models.registry import TRANSLATORS
from glassformer.store.run import RunFolder
from tiny_tasks import RECURRENT, changed, classify
from toy_corpus import toy_pairs

TEXT = "the dog eats bread."
SLOW = {"train": {"steps": 60, "valid_every": 30, "lr": 2e-2, "warmup": 4}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for name, make in RECURRENT.items():
        folder = tmp_path_factory.mktemp("runs")
        gf.train(changed(make(folder), SLOW if name.startswith("translate") else {}), out=folder / "run")
        found[name] = folder / "run"
    return found


@pytest.mark.parametrize("kind", TRANSLATORS[1:])
def test_a_translator_learns_and_translates(kind: str, runs: dict[str, Path], command: Callable[..., Any]) -> None:
    run = runs[f"translate by {kind}"]
    losses = [one["valid_loss"] for one in RunFolder(run).metrics() if "valid_loss" in one]
    assert losses[-1] < 2  # an untrained model: log 60
    assert (run / "report.html").is_file()
    model = gf.load(run)
    assert model.kind_name == kind
    texts = [source for source, _ in toy_pairs()[:5]]
    best = model.candidates(texts, beam=3, n_best=2)
    assert [len(one) for one in best] == [2] * 5
    assert model.translate(texts, beam=1) == [model.translate(text, beam=1) for text in texts]
    scored = model.score(texts[0], best[0][0].text)
    assert scored.log_prob == pytest.approx(best[0][0].log_prob, abs=1e-4)
    for options in (["--sample"], ["--say", "Brot"], ["--beam", "3", "--n-best", "2"]):
        outcome = command("translate", run, TEXT, *options)
        assert (outcome.code, bool(outcome.out.strip())) == (0, True), outcome.err
    assert "Brot" in command("translate", run, TEXT, "--say", "Brot").out


def test_the_picture_of_the_alignment(runs: dict[str, Path], command: Callable[..., Any]) -> None:
    run = runs["translate by rnn_attention"]
    found = json.loads(command("explain", run, TEXT, "--json").out)
    assert np.shape(found["attention"]["cross"]) == (1, 1, len(found["target"]), len(found["source"]))
    assert [(one["stack"], one["part"]) for one in found["gates"]] == [
        *(("encoder", "forwards"), ("encoder", "backwards")),
        ("decoder", "gru"),
    ]
    shown = command("explain", run, TEXT).out
    assert "Cross-attention, layer 1, head 1" in shown
    assert "Gates of decoder layer 1 gru" in shown
    links = gf.load(run).align(TEXT, "der Hund isst Brot.")
    assert {target for _, target in links} <= set(range(4))


def test_without_attention_the_gates_are_shown(runs: dict[str, Path], command: Callable[..., Any]) -> None:
    run = runs["translate by lstm"]
    found = json.loads(command("explain", run, TEXT, "--json").out)
    assert found["attention"] == {}
    assert [one["piece"] for one in found["source"]][::-1][-1] == "</s>"  # read from the end
    assert {len(one["columns"]["forget"]) for one in found["gates"] if one["stack"] == "encoder"} == {
        len(found["source"])
    }
    assert "Gates of encoder layer 2" in command("explain", run, TEXT).out
    outcome = command("explain", run, TEXT, "--layer", 1)
    assert (outcome.code, "no attention at all" in outcome.err) == (2, True)
    with pytest.raises(ModelError, match=r"An lstm model has no attention.*transformer, rnn_attention"):
        gf.load(run).align(TEXT, "der Hund isst Brot.")


@pytest.mark.parametrize("to", ["ctranslate2", "huggingface"])
def test_exports_are_refused(to: str, runs: dict[str, Path], tmp_path: Path, command: Callable[..., Any]) -> None:
    outcome = command("export", runs["translate by lstm"], "--to", to, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert outcome.err.startswith("glassformer: An lstm model cannot be exported")
    assert outcome.err.count("\n") == 1
    assert "has no such architecture" in outcome.err
    assert not (tmp_path / "out").exists()


def test_senses_refuse_a_model_without_vectors_before_the_work(
    runs: dict[str, Path], command: Callable[..., Any]
) -> None:
    outcome = command("vectors", "senses", "--model", runs["translate by lstm"])
    assert (outcome.code, outcome.out, "An lstm model cannot embed" in outcome.err) == (2, "", True)


def test_runs_are_evaluated_and_compared(runs: dict[str, Path], tmp_path: Path, command: Callable[..., Any]) -> None:
    files = [tmp_path / "held.en", tmp_path / "held.de"]
    for side, file in enumerate(files):
        file.write_text("".join(f"{pair[side]}\n" for pair in toy_pairs()[::7]))
    both = [runs[f"translate by {kind}"] for kind in TRANSLATORS[1:]]
    assert "BLEU" in command("evaluate", both[0], *files).out
    outcome = command("compare", *both, "--test", *files)
    assert (outcome.code, "BLEU" in outcome.out) == (0, True), outcome.err
    assert command("show", both[0]).out.count("LSTM") >= 2


def test_a_language_model_writes(runs: dict[str, Path], command: Callable[..., Any]) -> None:
    run = runs["generate by lstm_lm"]
    model = gf.load(run)
    texts = ["the dog", "a"]
    assert model.generate(texts, max_new=5) == [model.generate(text, max_new=5) for text in texts]
    assert model.score("the dog eats").perplexity > 1
    assert model.hidden_states("the dog eats").shape[::2] == (3, 16)
    assert "Gates of layer 2" in command("explain", run, "the dog eats").out
    long = " ".join(["the dog"] * 40)  # longer than any window: there are no positions that could run out
    assert model.generate(long, max_new=3)


def test_a_classifier_starts_from_the_language_model(tmp_path: Path) -> None:
    recipe, texts = classify(tmp_path), tmp_path / "texts.txt"
    lines = Path(recipe["data"]["files"]).read_text().splitlines()[1:]
    texts.write_text("".join(line.split("\t")[0] + "\n" for line in lines))
    sections = {"data": {"files": str(texts)}, "text": {"kind": "bpe", "vocab_size": 300}}
    read = changed(RECURRENT["generate by lstm_lm"](tmp_path), sections)
    gf.train(read, out=tmp_path / "read")
    recipe = changed(recipe, {"train": {"start_from": str(tmp_path / "read"), "auxiliary": 0.5}})
    del recipe["model"], recipe["text"]
    gf.train(recipe, out=tmp_path / "run")
    assert gf.load(tmp_path / "run").kind_name == "lstm_lm"


def test_encoders_label_texts_and_words(runs: dict[str, Path], command: Callable[..., Any]) -> None:
    for name, text in (("classify by bilstm", "a good day"), ("tag by bilstm", "Ada sees Bob")):
        run = runs[name]
        assert command(name.split()[0], run, text).code == 0
        assert "Gates of layer 2 backwards" in command("explain", run, text).out
    assert len(gf.load(runs["classify by bilstm"]).embed("a good day")) == 16
