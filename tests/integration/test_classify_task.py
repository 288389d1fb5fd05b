"""Classes of texts get the whole training engine: they are learnt, resumed, shared, budgeted, started from a body."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.errors import GlassformerError, ModelError
from glassformer.store.run import RunFolder
from glassformer.tasks.sentence_classes import SentenceClasses
from killing import PLAN, READY, Moment, Training, outcome
from toy_texts import arguments, settings, write_labelled, write_running

MODELS = {"bert": {"kind": "bert"}, "roformer": {"kind": "roformer"}}
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    write_labelled(folder / "train.tsv")
    write_labelled(folder / "valid.tsv", count=60, seed=2)
    return folder


@pytest.fixture(scope="module")
def runs(here: Path) -> dict[str, Path]:
    """A finished run of each kind of model. Only to be read."""
    data = {"files": str(here / "train.tsv"), "valid": str(here / "valid.tsv")}
    for kind, model in MODELS.items():
        gf.train(task="classify", data=data, out=here / kind, **settings(model))
    return {kind: here / kind for kind in MODELS}


def validations(run: Path) -> list[dict[str, Any]]:
    return [record for record in RunFolder(run).metrics() if "valid_loss" in record]


def known_rows(table: Path) -> list[list[str]]:
    """Rows without the years, which the vocabulary does not have: too many unknown tokens are refused after --from."""
    rows = [row.split("\t") for row in table.read_text().splitlines()]
    return [[text.rpartition(" ")[0], label] for text, label in rows]


@pytest.mark.parametrize("kind", MODELS)
def test_a_separable_toy_is_learnt(runs: dict[str, Path], kind: str) -> None:
    found = validations(runs[kind])
    assert found[-1]["valid_accuracy"] >= 95
    assert found[-1]["valid_matthews"] >= 0.9
    assert found[-1]["valid_loss"] < 0.5 * 0.693


def test_shuffled_labels_are_not_learnt_on_held_out_texts(here: Path, tmp_path: Path) -> None:
    wrong = write_labelled(tmp_path / "wrong.tsv", shuffled=True)
    data = {"files": str(wrong), "valid": str(here / "valid.tsv")}
    gf.train(task="classify", data=data, out=tmp_path / "run", **settings(MODELS["bert"]))
    assert 20 <= validations(tmp_path / "run")[-1]["valid_accuracy"] <= 80


def test_killed_and_run_again_it_ends_with_the_same_bytes(here: Path, tmp_path: Path) -> None:
    given = settings(MODELS["bert"], {"steps": 30, "valid_every": 10, "save_minutes": 0.0001, "ema": 0.9})
    whole, killed = (
        Training(arguments("classify", here / "train.tsv", tmp_path / name, given), tmp_path / name)
        for name in ("whole", "killed")
    )
    seconds = whole.run_to_its_end()
    kills = [Moment(READY, 0.1), Moment(PLAN, 0.2 * seconds), Moment(PLAN, 0.3 * seconds)]
    assert any([killed.killed_at(moment) for moment in kills])
    killed.run_to_its_end()
    assert outcome(killed.out) == outcome(whole.out)


def test_a_budget_chooses_and_ends(here: Path, tmp_path: Path) -> None:
    clock = partial(next, count(0.0, 2.0))
    train = {"threads": 1, "device": "cpu"}
    done = gf.train(
        task="classify", data=here / "train.tsv", out=tmp_path / "run", budget="2m", train=train, clock=clock
    )
    assert done.stopped == "the time is used"
    chosen = (tmp_path / "run" / "config.toml").read_text()
    assert 'size = "tiny"' in chosen
    assert (tmp_path / "run" / "model.safetensors").is_file()


@pytest.mark.parametrize(("option", "words"), [("--forecast", "Training will take"), ("--profile", "matrix products")])
def test_forecast_and_profile_train_nothing(
    here: Path, tmp_path: Path, command: Command, option: str, words: str
) -> None:
    found = command(*arguments("classify", here / "train.tsv", tmp_path / "run", settings(MODELS["bert"]), option))
    assert found.code == 0, found.err
    assert words in found.out
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("best_by", ["loss", "accuracy", "f1", "matthews"])
def test_each_metric_can_choose_the_weights(here: Path, tmp_path: Path, best_by: str) -> None:
    train = {"steps": 12, "valid_every": 4, "best_by": best_by}
    data = {"files": str(here / "train.tsv"), "valid": str(here / "valid.tsv")}
    done = gf.train(task="classify", data=data, out=tmp_path / "run", **settings(MODELS["bert"], train))
    found = {record["step"]: record[f"valid_{best_by}"] for record in validations(tmp_path / "run")}
    best = min(found.values()) if best_by == "loss" else max(found.values())
    assert found[done.best_step] == best


def test_patience_ends_a_training_that_gets_worse(here: Path, tmp_path: Path) -> None:
    """Labels that cannot be learnt: the loss on held-out texts rises while the training texts are memorised."""
    train = {"steps": 400, "valid_every": 5, "patience": 2, "best_by": "loss", "schedule": "constant"}
    wrong = write_labelled(tmp_path / "wrong.tsv", shuffled=True)
    data = {"files": str(wrong), "valid": str(here / "valid.tsv")}
    done = gf.train(task="classify", data=data, out=tmp_path / "run", **settings(MODELS["bert"], train))
    assert done.stopped == "no better loss in 2 validations"
    assert done.best_step < done.step < 400


def test_a_run_of_the_same_task_is_continued_with_its_head(runs: dict[str, Path], here: Path, tmp_path: Path) -> None:
    train = {"steps": 4, "threads": 1, "device": "cpu"}
    more = tmp_path / "more.tsv"
    more.write_text("".join(f"{text}\t{label}\n" for text, label in known_rows(here / "train.tsv")))
    data = {"files": str(more), "valid": str(here / "valid.tsv")}
    gf.train(task="classify", data=data, out=tmp_path / "run", start_from=runs["bert"], train=train)
    first = validations(tmp_path / "run")[0]
    assert first["step"] == 0
    assert first["valid_accuracy"] == validations(runs["bert"])[-1]["valid_accuracy"]


def test_the_body_of_a_model_made_by_others_gets_a_new_head(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    """A run that is exported is such a model; three classes instead of two need another head."""
    made = command("export", runs["bert"], "--to", "huggingface", "--out", tmp_path / "bert")
    assert made.code == 0, made.err
    three = tmp_path / "three.tsv"
    rows = known_rows(here / "train.tsv")
    three.write_text("".join(f"{text}\t{label if i % 3 else 'other'}\n" for i, (text, label) in enumerate(rows)))
    train = {"train": {"steps": 3, "threads": 1, "device": "cpu"}}
    begun = arguments("classify", three, tmp_path / "run", train, "--from", str(tmp_path / "bert"))
    done = command(*begun)
    assert done.code == 0, done.err
    assert "newly initialised: head." in done.err
    assert "head.linear.weight" in done.err or "head." in done.err
    assert gf.load(tmp_path / "run").bundle.extras["labels"] == ["neg", "other", "pos"]


def test_a_vocabulary_that_does_not_fit_is_refused_in_one_line(
    runs: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    other = tmp_path / "other.tsv"
    other.write_text("".join(f"ganz andere wörter nummer {i}\t{'ja' if i % 2 else 'nein'}\n" for i in range(40)))
    refused = command("train", "--task", "classify", "--data", other, "--from", runs["bert"], "--out", tmp_path / "run")
    assert refused.code == 2
    assert refused.err.splitlines()[-1].startswith(f"glassformer: The vocabulary of {runs['bert']} does not fit your")
    assert not (tmp_path / "run").exists()


def test_a_model_of_another_kind_is_refused(trained: Path, here: Path, tmp_path: Path, command: Command) -> None:
    refused = command(
        "train", "--task", "classify", "--data", here / "train.tsv", "--from", trained, "--out", tmp_path / "run"
    )
    assert refused.code == 2
    assert "it is a transformer model; classify trains bert and roformer models" in refused.err


@pytest.mark.parametrize("kind", MODELS)
def test_evaluate_measures_what_the_last_validation_did(
    runs: dict[str, Path], here: Path, command: Command, kind: str
) -> None:
    found = command("evaluate", runs[kind], here / "valid.tsv", "--json")
    assert found.code == 0, found.err
    scores = {score["key"]: score["value"] for score in json.loads(found.out)}
    measured = RunFolder(runs[kind]).metrics()[-1]["measured"]
    assert scores == pytest.approx(measured)
    assert "60 examples" in command("evaluate", runs[kind], here / "valid.tsv").out


def test_classify_by_argument_stdin_json_and_python(runs: dict[str, Path], command: Command) -> None:
    texts = ["the film was great in may", "the song was awful in june"]
    lines = command("classify", runs["bert"], stdin="".join(f"{text}\n" for text in texts).encode())
    assert [line.split("\t")[1].split()[0] for line in lines.lines] == ["pos", "neg"]
    assert command("classify", runs["bert"], *texts).out == lines.out
    found = command("classify", runs["bert"], *texts, "--json")
    assert [json.loads(line)["classes"][0]["label"] for line in found.lines] == ["pos", "neg"]
    model = gf.load(runs["bert"])
    assert [guesses[0].label for guesses in model.classify(texts)] == ["pos", "neg"]  # type: ignore[union-attr]


def test_a_diverged_batch_is_shown_in_words(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = SentenceClasses.loss

    def broken(self: Any, *given: Any) -> Any:
        summed, weight = real(self, *given)
        return summed * float("nan"), weight

    monkeypatch.setattr(SentenceClasses, "loss", broken)
    with pytest.raises(ModelError, match=r'Update 1: the loss is nan.* begins with ".*the .* was .*" → "(pos|neg)"'):
        gf.train(task="classify", data=here / "train.tsv", out=tmp_path / "run", **settings(MODELS["bert"]))
    kept = json.loads(next((tmp_path / "run").glob("diverged*/diverged.json")).read_text())
    assert {"text", "label", "index"} == set(kept["batches"][0]["examples"][0])


def test_a_run_of_an_unknown_task_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    copy = shutil.copytree(runs["bert"], tmp_path / "copy")
    config = (copy / "config.toml").read_text()
    (copy / "config.toml").write_text(config.replace('task = "classify"', 'task = "juggle"'))
    with pytest.raises(GlassformerError):
        gf.load(copy)


def test_a_translator_without_a_task_in_its_config_still_loads(run_copy: Path) -> None:
    run = RunFolder(run_copy)
    config, weights, about = run.config_text(), run.weights()[0], run.about()
    assert 'task = "translate"' in config
    run.change(config=config.replace('task = "translate"\n', ""), about=about)
    run.finish(weights, about={})
    loaded = gf.load(run_copy)
    assert isinstance(loaded, gf.Translator)
    assert torch.isfinite(next(loaded.model.parameters())).all()


def test_columns_are_chosen_by_name_and_number(here: Path, tmp_path: Path, command: Command) -> None:
    rows = [row.split("\t") for row in (here / "train.tsv").read_text().splitlines()]
    cells = "".join(f"{label},{i},{text}\n" for i, (text, label) in enumerate(rows))
    given = settings(MODELS["bert"], {"steps": 1, "valid_every": 1})
    cases = [("mood,number,words\n", "words,mood"), ("label,number,words\n", "3,1"), ("", "3,1")]
    for number, (header, columns) in enumerate(cases):  # by number, only a header with a usual name is recognised
        table, out = tmp_path / f"{number}.csv", tmp_path / f"run{number}"
        table.write_text(header + cells)
        done = command(*arguments("classify", table, out, given, "--columns", columns))
        assert done.code == 0, done.err
        assert gf.load(out).bundle.extras["labels"] == ["neg", "pos"]


def test_running_text_is_refused_with_advice(tmp_path: Path, command: Command) -> None:
    text = write_running(tmp_path / "text.txt")
    refused = command("train", "--task", "classify", "--data", text, "--out", tmp_path / "run")
    assert refused.code == 2
    assert "a text file without tabs, so it has no label column" in refused.err


# Evaluating and comparing


def test_unknown_labels_are_refused_by_name(runs: dict[str, Path], tmp_path: Path, command: Command) -> None:
    table = tmp_path / "test.tsv"
    table.write_text("text\tlabel\nthe film was good\tpos\nthe film was red\tred\n")
    refused = command("evaluate", runs["bert"], table)
    assert refused.code == 2
    assert "1 held-out examples have labels that the model does not know, first 'red'" in refused.err


def test_options_of_translators_are_refused(runs: dict[str, Path], here: Path, command: Command) -> None:
    refused = command("evaluate", runs["bert"], here / "valid.tsv", "--beam", 5)
    assert (refused.code, "--beam is for translators" in refused.err) == (2, True)


def test_predictions_are_written_to_a_new_file(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "predicted.txt"
    assert command("evaluate", runs["bert"], here / "valid.tsv", "--output", out).code == 0
    assert set(out.read_text().split()) == {"pos", "neg"}
    assert command("evaluate", runs["bert"], here / "valid.tsv", "--output", out).code == 2


def test_runs_are_compared_on_given_files_and_on_what_they_held_out(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    wrong = write_labelled(tmp_path / "wrong.tsv", shuffled=True)
    data = {"files": str(wrong), "valid": str(here / "valid.tsv")}
    gf.train(task="classify", data=data, out=tmp_path / "wrong", **settings(MODELS["bert"], {"steps": 3}))
    found = command("compare", tmp_path / "wrong", runs["bert"])
    assert found.code == 0, found.err
    assert "on 60 validation examples" in found.out
    assert f"{runs['bert']} is better than {tmp_path / 'wrong'} by" in found.out
    assert "points of accuracy" in found.out
    again = command("compare", tmp_path / "wrong", runs["bert"], "--test", here / "valid.tsv", "--json")
    result = json.loads(again.out)
    assert result["part"] == "given examples"
    assert [score["key"] for score in result["runs"][0]["scores"]] == ["accuracy", "f1", "matthews"]
    row = result["most_different"][0]
    assert sorted(row["scores"]) == [0, 100]
    assert len(row["predictions"]) == 2
