"""Scores of pairs are learnt, evaluated, compared, exported and used; without training, a score is a cosine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import encoder_models
import glassformer as gf
from glassformer.errors import DataError, ModelError
from glassformer.store.bundle import save_bundle
from glassformer.store.run import RunFolder
from glassformer.tasks.sentence_scores import ScoreRecipe, SentenceScores
from glassformer.training.task import Material
from toy_texts import arguments, settings, write_scored

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scores")
    write_scored(folder / "train.tsv", count=200)
    write_scored(folder / "valid.tsv", count=60, seed=2)
    return folder


@pytest.fixture(scope="module")
def run(here: Path) -> Path:
    """A finished run. Only to be read."""
    data = {"files": str(here / "train.tsv"), "valid": str(here / "valid.tsv")}
    gf.train(task="similar", data=data, out=here / "run", **settings({"kind": "bert"}, {"steps": 200}))
    return here / "run"


def last(run: Path) -> dict[str, Any]:
    return [record for record in RunFolder(run).metrics() if "valid_loss" in record][-1]


def test_scores_are_learnt_on_their_own_scale(run: Path) -> None:
    found = last(run)
    assert found["valid_pearson"] >= 0.9
    assert found["valid_spearman"] >= 0.8
    assert found["valid_loss"] < 0.3  # 1.0 is the loss of the mean
    model = gf.load(run)
    high, low = model.scores(
        [
            ("the film was good in may", "the book was great in june"),
            ("the film was bad in may", "the play was dull in june"),
        ]
    )
    assert 4 < high < 6
    assert 0 < low < 2
    assert model.similarity("the film was good in may", "the book was great in june") == pytest.approx(high, abs=1e-5)


def test_shuffled_scores_are_not_learnt(here: Path, tmp_path: Path) -> None:
    wrong = write_scored(tmp_path / "wrong.tsv", count=200, shuffled=True)
    data = {"files": str(wrong), "valid": str(here / "valid.tsv")}
    gf.train(task="similar", data=data, out=tmp_path / "run", **settings({"kind": "bert"}))
    assert abs(last(tmp_path / "run")["valid_pearson"]) < 0.5


def test_evaluate_repeats_the_last_validation_with_intervals(run: Path, here: Path, command: Command) -> None:
    done = command("evaluate", run, here / "valid.tsv", "--json")
    assert done.code == 0, done.err
    scores = {one["key"]: one for one in json.loads(done.out)}
    assert scores["pearson"]["value"] == pytest.approx(last(run)["valid_pearson"], abs=1e-4)
    assert scores["spearman"]["low"] < scores["spearman"]["value"] <= scores["spearman"]["high"]


def test_the_verb_answers_arguments_and_lines(run: Path, command: Command) -> None:
    pair = ("the film was good in may", "the book was great in june")
    one = command("similar", run, *pair)
    assert one.code == 0, one.err
    score, *texts = one.out.rstrip("\n").split("\t")
    assert tuple(texts) == pair
    assert 4 < float(score) < 6
    piped = command("similar", run, "--json", stdin=("\t".join(pair) + "\n" + "\t".join(pair[::-1]) + "\n").encode())
    rows = [json.loads(line) for line in piped.out.splitlines()]
    assert [row["texts"] for row in rows] == [list(pair), list(reversed(pair))]
    assert rows[0]["score"] == pytest.approx(float(score), abs=1e-4)


def test_a_bad_line_does_not_lose_the_other_pairs(run: Path, command: Command) -> None:
    lines = "the film was good\tthe book was great\nno tab at all\n\nthe play was dull\tthe film was bad\n"
    done = command("similar", run, stdin=lines.encode())
    assert done.code == 2
    assert [line.split("\t")[1] for line in done.out.splitlines()] == ["the film was good", "the play was dull"]
    said = done.err.splitlines()
    assert "stdin, line 2: got 'no tab at all' with 0 tabs" in said[0]
    assert "stdin, line 3" in said[1]
    assert len(said) == 2


def test_the_report_shows_the_largest_mistakes(run: Path) -> None:
    assert "The largest mistakes" in (run / "report.html").read_text()


def test_other_programs_give_the_same_scores(run: Path, tmp_path: Path, command: Command) -> None:
    """The scale of the data is inside the exported head."""
    made = command("export", run, "--to", "huggingface", "--out", tmp_path / "theirs")
    assert made.code == 0, made.err
    theirs = AutoModelForSequenceClassification.from_pretrained(tmp_path / "theirs").eval()
    assert theirs.config.problem_type == "regression"
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "theirs")
    pair = ("the film was good in may", "the book was dull in june")
    with torch.inference_mode():
        score = theirs(**tokenizer(*pair, return_tensors="pt")).logits.item()
    assert score == pytest.approx(gf.load(run).similarity(*pair), abs=1e-4)
    assert gf.load(tmp_path / "theirs").scores([pair])[0] == pytest.approx(score, abs=1e-4)


def test_without_training_it_is_the_cosine_of_the_vectors(tmp_path: Path, command: Command) -> None:
    save_bundle(encoder_models.bert(head="none", extras={"pooling": "mean", "normalise": True}), tmp_path / "body")
    model = gf.load(tmp_path / "body")
    one, two = model.embed(["the dog runs", "a cat runs"])
    assert model.similarity("the dog runs", "a cat runs") == pytest.approx(float(np.dot(one, two)), abs=1e-5)
    assert model.similarity("the dog runs", "the dog runs") == pytest.approx(1.0, abs=1e-5)
    done = command("similar", tmp_path / "body", "the dog runs", "a cat runs")
    assert float(done.out.split("\t")[0]) == pytest.approx(float(np.dot(one, two)), abs=1e-4)


def test_a_classifier_has_no_scores(tmp_path: Path) -> None:
    save_bundle(encoder_models.bert(head="sentence"), tmp_path / "classes")
    with pytest.raises(ModelError, match="predicts classes, not scores"):
        gf.load(tmp_path / "classes").similarity("a dog", "a cat")


def test_rows_without_a_number_are_named(tmp_path: Path, command: Command) -> None:
    rows = "".join(f"the dog {i}\ta cat {i}\t{i % 5}.5\n" for i in range(300))
    (tmp_path / "train.tsv").write_text("sentence1\tsentence2\tscore\n" + rows + "a\tb\tmany\nc\td\tnan\n")
    done = command("doctor", "--task", "similar", tmp_path / "train.tsv")
    assert done.code == 0, done.err
    assert "300 examples with scores from 0.5 to 4.5" in done.out
    assert "not a number: 'many'" in done.out
    assert "line 302" in done.out.replace(",", "")
    as_json = json.loads(command("doctor", "--task", "similar", tmp_path / "train.tsv", "--json").out)
    assert as_json["scores"]["largest"] == 4.5
    assert as_json["dropped"] == {"header": 1, "score": 2}


def test_equal_scores_are_refused(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("".join(f"the dog {i}\ta cat\t3\n" for i in range(30)))
    with pytest.raises(DataError, match="all with the score 3"):
        gf.train(task="similar", data={"files": str(tmp_path / "train.tsv"), "columns": "1,2,3"}, out=tmp_path / "run")


def test_single_texts_have_scores_too(tmp_path: Path, command: Command) -> None:
    rows = [
        (f"the film was {w} in {m} {i}", s)
        for i in range(30)
        for m in ("may", "june")
        for w, s in (("good", 80), ("bad", 20))
    ]
    (tmp_path / "train.csv").write_text("review,rating\n" + "".join(f"{a},{b}\n" for a, b in rows))
    done = command(*arguments("similar", tmp_path / "train.csv", tmp_path / "run", settings({"kind": "bert"})))
    assert done.code == 0, done.err
    good, bad = gf.load(tmp_path / "run").scores(["the film was good in may", "the film was bad in may"])
    assert good > 60 > 40 > bad


def recipe_with(**more: Any) -> ScoreRecipe:
    return ScoreRecipe.model_validate({"model": {"kind": "bert"}, "train": {"start_from": "base"}, **more})


def test_a_scale_that_the_user_sets_comes_before_that_of_the_start() -> None:
    task, base = SentenceScores(), recipe_with(centre=2.5, spread=1.5)
    same = task.inherited(recipe_with(), base)
    assert (same.centre, same.spread) == (2.5, 1.5)
    assert task.keeps_heads(same, base)
    own = task.inherited(recipe_with(centre=50), base)
    assert (own.centre, own.spread) == (50, 1.5)
    assert not task.keeps_heads(own, base)


def test_what_is_neither_set_nor_inherited_comes_from_the_data() -> None:
    facts = {"columns": ("a", "b", "score"), "centre": 3.0, "spread": 2.0}
    material = Material(lambda: iter(()), 0, [], {}, facts=facts)
    task = SentenceScores()
    with_spread = task.decided(recipe_with(spread=7.0), material)  # the body of another task's model
    assert (with_spread.centre, with_spread.spread) == (3.0, 7.0)
    inherited = task.decided(task.inherited(recipe_with(), recipe_with(centre=2.5, spread=1.0)), material)
    assert (inherited.centre, inherited.spread) == (2.5, 1.0)
