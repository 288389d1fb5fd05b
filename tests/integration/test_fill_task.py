"""Masked words are learnt from texts: by both kinds of models, from the start or from another model, and used."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModelForMaskedLM, AutoTokenizer

import encoder_models
import glassformer as gf
from glassformer.errors import ModelError
from glassformer.hub.huggingface.folders import write_folder
from glassformer.store.run import RunFolder
from glassformer.tasks.masked_language_modelling import MaskedLanguageModelling
from glassformer.training.reading import read_recipe, read_tokenizers
from glassformer.training.task import Setup
from toy_texts import arguments, sentences, settings, write_labelled, write_running

MODELS = {"bert": {"kind": "bert"}, "roformer": {"kind": "roformer", "d": 32}}
WINDOW = 24
MASKS = {"mask_rate": 0.3}
STEPS = {  # what each kind needs: rotary positions take longer, a sentence has few words to find its own place from
    "bert": {"steps": 60, "valid_every": 30},
    "roformer": {"steps": 120, "valid_every": 60, "optimiser": "muon", "lr": 2e-2},
}
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("masked")
    write_rows(folder / "train.jsonl", 120, seed=1)
    write_rows(folder / "valid.jsonl", 40, seed=2)
    return folder


def write_rows(path: Path, number: int, *, seed: int) -> Path:
    rows = [text for text, _ in sentences(number, seed, years=False)]
    path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    return path


def data(here: Path) -> dict[str, Any]:
    return {"files": str(here / "train.jsonl"), "valid": str(here / "valid.jsonl"), "max_tokens": WINDOW, **MASKS}


@pytest.fixture(scope="module")
def runs(here: Path) -> dict[str, Path]:
    """A finished run of each kind of model. Only to be read."""
    for kind, model in MODELS.items():
        gf.train(task="fill", data=data(here), out=here / kind, **settings(model, STEPS[kind]))
    return {kind: here / kind for kind in MODELS}


def validations(run: Path) -> list[dict[str, Any]]:
    return [record for record in RunFolder(run).metrics() if "valid_loss" in record]


def opened(run: Path) -> tuple[MaskedLanguageModelling, Setup, Any]:
    task, folder = MaskedLanguageModelling(), RunFolder(run)
    return task, Setup(read_recipe(task, folder), read_tokenizers(folder)), gf.load(run).model


def held(here: Path) -> list[tuple[str, bool, bool]]:
    return [(json.loads(line)["text"], True, True) for line in (here / "valid.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", MODELS)
def test_a_toy_language_is_learnt(runs: dict[str, Path], kind: str) -> None:
    found = validations(runs[kind])[-1]
    assert found["valid_masked_accuracy"] > 42  # half of the words of a sentence are certain; others are free
    assert found["valid_masked_perplexity"] == pytest.approx(math.exp(found["valid_loss"]))
    assert found["valid_masked_perplexity"] < 6


def test_words_in_random_order_are_not_learnt(here: Path, runs: dict[str, Path], tmp_path: Path) -> None:
    words = [word for text, _ in sentences(120, 1, years=False) for word in text.split()]
    Random(1).shuffle(words)
    rows = [" ".join(words[at : at + 6]) for at in range(0, len(words), 6)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    given = {**data(here), "files": str(tmp_path / "train.jsonl")}
    gf.train(task="fill", data=given, out=tmp_path / "run", **settings(MODELS["bert"], STEPS["bert"]))
    wrong, right = (validations(run)[-1]["valid_masked_accuracy"] for run in (tmp_path / "run", runs["bert"]))
    assert wrong < right - 15


@pytest.mark.parametrize("kind", MODELS)
def test_the_loss_is_the_cross_entropy_at_the_masked_places(runs: dict[str, Path], here: Path, kind: str) -> None:
    """In float64, against the logits of all places."""
    task, setup, model = opened(runs[kind])
    model = model.double()
    pool = task.pool(setup, task.encode(setup, held(here)).columns)
    batch = pool.batch(np.arange(5), np.random.default_rng(3))
    summed, weight = task.loss(setup, model, batch)
    with torch.no_grad():
        logits = model(batch).flatten(0, 1)[batch.places]  # (M, V)
        each = F.cross_entropy(logits, batch.labels, reduction="none")
        rows = task.losses(setup, model, batch)
    assert weight == len(batch.labels)
    assert summed.item() == pytest.approx(float(each.sum()), rel=1e-10)
    assert sum(row[0] for row in rows) == pytest.approx(float(each.sum()), rel=1e-10)
    assert sum(row[1] for row in rows) == weight
    assert sum(row[2] for row in rows) == int((logits.argmax(1) == batch.labels).sum())


@pytest.mark.parametrize("kind", MODELS)
def test_transformers_finds_the_same_words_with_the_exported_run(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command, kind: str
) -> None:
    made = command("export", runs[kind], "--to", "huggingface", "--out", tmp_path / "out")
    assert made.code == 0, made.err
    task, setup, model = opened(runs[kind])
    theirs = AutoModelForMaskedLM.from_pretrained(tmp_path / "out").eval()
    pool = task.pool(setup, task.encode_held(setup, held(here)).columns)
    batch = pool.batch(np.arange(4))
    labels = torch.full_like(batch.ids, -100).flatten()
    labels[batch.places] = batch.labels
    mask = (torch.arange(batch.ids.size(1)) < batch.lengths[:, None]).long()
    with torch.no_grad():
        found = theirs(batch.ids, attention_mask=mask, labels=labels.view(batch.ids.shape)).loss
        summed, weight = task.loss(setup, model, batch)
    assert float(summed) / weight == pytest.approx(float(found), rel=1e-5)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.mask_token_id == setup.tokenizer.mask_id
    assert tokenizer("the film was")["input_ids"] == pool_ids(setup, "the film was")


def pool_ids(setup: Setup, text: str) -> list[int]:
    tokenizer = setup.tokenizer
    return [tokenizer.bos_id or 0, *tokenizer.encode(text), tokenizer.eos_id or 0]


def test_the_words_are_filled_in_by_command_and_python(runs: dict[str, Path], command: Command) -> None:
    found = command("fill", runs["bert"], "the film [MASK] good in may", "--top", 2, "--json")
    assert found.code == 0, found.err
    (words,) = json.loads(found.out)["gaps"]
    assert words[0]["text"] == "was"
    assert words[0]["probability"] > 0.5
    lines = ["the film [MASK] good in may", "the [MASK] was bad [MASK] june in may", "[MASK] song"]
    piped = command("fill", runs["bert"], "--top", 2, "--json", stdin="".join(f"{line}\n" for line in lines).encode())
    assert [json.loads(line)["given"] for line in piped.lines] == lines
    assert [len(json.loads(line)["gaps"]) for line in piped.lines] == [1, 2, 1]
    alone = [command("fill", runs["bert"], line, "--top", 2, "--json").out for line in lines]
    for one, other in zip(piped.lines, alone, strict=True):
        for words, same in zip(json.loads(one)["gaps"], json.loads(other)["gaps"], strict=True):
            assert [word["id"] for word in words] == [word["id"] for word in same]
            both = [[word["probability"] for word in own] for own in (words, same)]
            assert both[0] == pytest.approx(both[1], rel=1e-4)
    model = gf.load(runs["bert"])
    assert isinstance(model, gf.TextEncoder)
    assert model.fill("the film [MASK] good in may", top=1).text == "the film was good in may"


@pytest.mark.parametrize("kind", MODELS)
def test_evaluate_measures_what_the_last_validation_did(
    runs: dict[str, Path], here: Path, command: Command, kind: str
) -> None:
    found = command("evaluate", runs[kind], here / "valid.jsonl", "--json")
    assert found.code == 0, found.err
    scores = {score["key"]: score["value"] for score in json.loads(found.out)}
    assert scores == pytest.approx(RunFolder(runs[kind]).metrics()[-1]["measured"])
    assert list(scores) == ["masked_accuracy", "masked_perplexity", "loss"]


def test_runs_are_compared_and_other_vocabularies_refused(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    found = command("compare", runs["bert"], runs["roformer"])
    assert found.code == 0, found.err
    assert "masked accuracy" in found.out
    given = {**settings(MODELS["bert"], {"steps": 2, "valid_every": 2}), "text": {"kind": "word", "vocab_size": 20}}
    gf.train(task="fill", data=data(here), out=tmp_path / "other", **given)
    refused = command("compare", runs["bert"], tmp_path / "other")
    assert (refused.code, "different vocabularies" in refused.err) == (2, True)


def test_windows_of_another_size_can_be_compared(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    shorter = {**data(here), "max_tokens": 12}
    gf.train(task="fill", data=shorter, out=tmp_path / "short", **settings(MODELS["bert"], {"steps": 5}))
    found = command("compare", tmp_path / "short", runs["bert"])
    assert found.code == 0, found.err


def test_the_report_shows_easy_and_hard_words_in_their_context(runs: dict[str, Path]) -> None:
    page = (runs["bert"] / "report.html").read_text()
    assert "The easiest masked words" in page
    assert "The hardest masked words" in page
    assert "[MASK] was" in page


def test_a_budget_chooses_and_ends(here: Path, tmp_path: Path) -> None:
    clock, train = partial(next, count(0.0, 2.0)), {"threads": 1, "device": "cpu"}
    done = gf.train(task="fill", data=data(here), out=tmp_path / "run", budget="2m", train=train, clock=clock)
    assert done.stopped == "the time is used"
    assert 'size = "tiny"' in (tmp_path / "run" / "config.toml").read_text()


def test_explain_shows_which_words_fit_a_mask(runs: dict[str, Path], command: Command) -> None:
    found = command("explain", runs["bert"], "the film [MASK] good in may")
    assert found.code == 0, found.err
    assert "Which words fit the masks" in found.out


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_rows_and_pieces_of_words(tmp_path: Path, kind: str) -> None:
    table = write_rows(tmp_path / "rows.jsonl", 150, seed=3)
    given = settings(MODELS["bert"], {"steps": 3, "valid_every": 3})
    given["text"] = {"kind": kind, "vocab_size": 300}
    masked = {"files": str(table), "columns": "text", "max_tokens": 32, "whole_words": True, "mask_rate": 0.3}
    gf.train(task="fill", data=masked, out=tmp_path / "run", **given)
    assert len(gf.load(tmp_path / "run").fill("the [MASK] was good").gaps) == 1


def test_doctor_examines_texts(here: Path, command: Command) -> None:
    found = command("doctor", "--task", "fill", here / "train.jsonl", "--valid", here / "valid.jsonl", "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)["task"] == "fill"
    assert json.loads(found.out)["units"] == 120


def test_a_diverged_batch_is_shown_in_words(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = MaskedLanguageModelling.loss

    def broken(self: Any, *given: Any) -> Any:
        summed, weight = real(self, *given)
        return summed * float("nan"), weight

    monkeypatch.setattr(MaskedLanguageModelling, "loss", broken)
    with pytest.raises(ModelError, match=r'Update 1: the loss is nan.* begins with ".*\[MASK\].*" → ".+"'):
        gf.train(task="fill", data=data(here), out=tmp_path / "run", **settings(MODELS["bert"]))


# Starting from other models, and being started from


def few(steps: int = 1) -> dict[str, Any]:
    return {"steps": steps, "threads": 1, "device": "cpu"}


def test_a_run_is_continued_with_its_head(runs: dict[str, Path], here: Path, tmp_path: Path) -> None:
    more = write_rows(tmp_path / "more.jsonl", 120, seed=5)
    given = {**data(here), "files": str(more)}
    gf.train(task="fill", data=given, out=tmp_path / "run", start_from=runs["bert"], train=few(4))
    first = validations(tmp_path / "run")[0]
    assert first["valid_masked_accuracy"] == validations(runs["bert"])[-1]["valid_masked_accuracy"]


@pytest.mark.parametrize("kind", MODELS)
def test_a_classifier_starts_from_the_body_of_a_run(
    runs: dict[str, Path], tmp_path: Path, command: Command, kind: str
) -> None:
    rows = [row.split("\t") for row in write_labelled(tmp_path / "all.tsv").read_text().splitlines()]
    table = tmp_path / "train.tsv"
    table.write_text("".join(f"{text.rpartition(' ')[0]}\t{label}\n" for text, label in rows))
    given = {"train": {**few(60), "lr": 3e-3, "valid_every": 20, "batch_tokens": 300}}
    begun = arguments("classify", table, tmp_path / "run", given, "--from", str(runs[kind]))
    done = command(*begun)
    assert done.code == 0, done.err
    new = next(line for line in done.err.splitlines() if "newly initialised" in line)
    assert "head." in new
    assert "blocks." not in new
    assert validations(tmp_path / "run")[-1]["valid_accuracy"] >= 90


def test_a_model_made_by_others_keeps_its_head_for_words(tmp_path: Path, command: Command) -> None:
    texts = tmp_path / "train.txt"
    texts.write_text("the dog runs. money grows, the river flows of france.\n" * 30)
    (tmp_path / "theirs").mkdir()
    write_folder(encoder_models.bert(pooler=False), tmp_path / "theirs")
    measured = command("evaluate", tmp_path / "theirs", texts, "--json")
    assert measured.code == 0, measured.err
    options = ["--task", "fill", "--data", texts, "--valid", "20%", "--from", tmp_path / "theirs"]
    done = command("train", *options, "--out", tmp_path / "run", "--set", "train.steps=1", "--set", "train.threads=1")
    assert done.code == 0, done.err
    assert validations(tmp_path / "run")[0]["step"] == 0  # the first weights are measured: they are whole
    assert "max_tokens = 23\n" in (tmp_path / "run" / "config.toml").read_text()  # its positions


def test_a_body_made_by_others_gets_a_new_head(tmp_path: Path, command: Command) -> None:
    texts = tmp_path / "train.txt"
    texts.write_text("the dog runs. money grows, the river flows of france.\n" * 30)
    (tmp_path / "theirs").mkdir()
    write_folder(encoder_models.bert(head="none"), tmp_path / "theirs")
    options = ["--task", "fill", "--data", texts, "--valid", "20%", "--from", tmp_path / "theirs"]
    done = command("train", *options, "--out", tmp_path / "run", "--set", "train.steps=1", "--set", "train.threads=1")
    assert done.code == 0, done.err
    assert "newly initialised: head." in done.err
    assert len(gf.load(tmp_path / "run").fill("the [MASK] runs").gaps[0]) == 5


def test_a_vocabulary_without_a_mask_is_refused(tmp_path: Path, command: Command) -> None:
    table = write_labelled(tmp_path / "train.tsv")
    given = settings(MODELS["bert"], {"steps": 1, "valid_every": 1})
    gf.train(task="classify", data=table, out=tmp_path / "classes", **given)
    text = write_running(tmp_path / "train.txt")
    refused = command(
        "train", "--task", "fill", "--data", text, "--from", tmp_path / "classes", "--out", tmp_path / "x"
    )
    assert (refused.code, "its vocabulary has no mask token" in refused.err) == (2, True), refused.err
    assert not (tmp_path / "x").exists()


def test_what_the_task_decides_cannot_be_set_differently(here: Path, tmp_path: Path, command: Command) -> None:
    given = {**settings(MODELS["bert"], {"steps": 1}), "data": {"max_tokens": WINDOW}}
    for option, words in (("model.head=tokens", "decide it: 'words'"), ("model.max_length=8", "reads at most 8")):
        refused = command(*arguments("fill", here / "train.jsonl", tmp_path / "run", given, "--set", option))
        assert (refused.code, words in refused.err) == (2, True), refused.err
