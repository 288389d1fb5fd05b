"""Classes of texts get the whole training engine: they are learnt, resumed, shared, budgeted, started from a body."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import encoder_models
import glassformer as gf
from glassformer.errors import GlassformerError, ModelError
from glassformer.store.bundle import save_bundle
from glassformer.store.run import RunFolder
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.exporting import export_to_huggingface
from glassformer.tasks.loading import load_bundle
from glassformer.tasks.sentence_classes import SentenceClasses
from glassformer.text.framing import Frame, with_frame
from killing import check_killed_run
from toy_texts import arguments, settings, write_labelled, write_running

WORDS = ("good", "bad", "great", "awful", "fine", "poor")
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
    check_killed_run(lambda out: arguments("classify", here / "train.tsv", out, given), tmp_path)


def test_a_budget_chooses_and_ends(here: Path, tmp_path: Path) -> None:
    clock = partial(next, count(0.0, 2.0))
    train = {"threads": 1, "device": "cpu"}
    done = gf.train(
        task="classify", data=here / "train.tsv", out=tmp_path / "run", budget="2m", train=train, clock=clock
    )
    assert done.stopped in ("the time is used", "all steps done")  # a fast machine makes all passes that help before
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


def test_an_encoder_of_sentences_is_read_by_its_mean(tmp_path: Path, command: Command) -> None:
    """Nobody has trained the pooler of such a model. It may be chosen, and only then can the run be exported."""
    save_bundle(encoder_models.bert(head="none", extras={"pooling": "mean", "normalise": True}), tmp_path / "body")
    rows = [(text, label) for _ in range(10) for text, label in (("the dog runs", "a"), ("money of france", "b"))]
    (tmp_path / "train.tsv").write_text(
        "".join(f"{text} {'the ' * (i % 7)}\t{y}\n" for i, (text, y) in enumerate(rows))
    )
    train = {"train": {"steps": 2, "threads": 1, "device": "cpu"}}
    for pooling, more in (("mean", ()), ("first", ("--set", "model.pooling=first"))):
        out = tmp_path / pooling
        given = ("--from", str(tmp_path / "body"), *more)
        done = command(*arguments("classify", tmp_path / "train.tsv", out, train, *given))
        assert done.code == 0, done.err
        assert gf.load(out).model.config.pooling == pooling
        exported = command("export", out, "--to", "huggingface", "--out", tmp_path / f"{pooling}-exported")
        assert (exported.code == 0) == (pooling == "first"), exported.err


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
    assert "it is a transformer model; classify trains bert, roformer, bilstm, gpt, llama" in refused.err


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


# Settings that decide what ids mean


def digest(run: Path) -> str:
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize("other", [{"labels": ["pos", "neg"]}, {"model": {"max_length": 4}}])
def test_the_tokens_of_another_setting_are_not_used(
    here: Path, tmp_path: Path, other: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of the labels and the length of the texts are part of what is stored."""
    given = settings(MODELS["bert"], {"steps": 3, "valid_every": 3})
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "first"))
    gf.train(task="classify", data=here / "train.tsv", out=tmp_path / "alone", **given)
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "second"))
    changed = {**given, **other, "model": {**given["model"], **other.get("model", {})}}
    gf.train({"task": "classify", "data": {"files": str(here / "train.tsv")}, **changed}, out=tmp_path / "other")
    gf.train(task="classify", data=here / "train.tsv", out=tmp_path / "after", **given)
    assert digest(tmp_path / "after") == digest(tmp_path / "alone")


def renamed_labels(here: Path, path: Path, names: dict[str, str]) -> Path:
    path.write_text("".join(f"{text}\t{names[label]}\n" for text, label in known_rows(here / "train.tsv")))
    return path


def test_a_run_with_other_classes_gives_its_body_only(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    """The outputs of the old head belong to the old classes, even if there are as many new ones."""
    table = renamed_labels(here, tmp_path / "renamed.tsv", {"pos": "a-good", "neg": "z-bad"})
    given = settings(MODELS["bert"], {"steps": 60, "lr": 1e-2, "valid_every": 20})["train"]
    begun = arguments("classify", table, tmp_path / "run", {"train": given}, "--from", str(runs["bert"]))
    done = command(*begun)
    assert done.code == 0, done.err
    assert "only its body is used, with new heads" in done.err
    assert "newly initialised: head." in done.err
    assert "old examples" not in done.err
    assert validations(tmp_path / "run")[-1]["valid_accuracy"] >= 90
    assert command(*begun).code == 0  # finished: the same command finds nothing changed


@pytest.mark.parametrize(("times", "fewest", "most"), [(1, 100, 400), (40, 400, 1200)])
def test_a_new_head_learns_for_three_epochs_or_250_updates(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command, times: int, fewest: int, most: int
) -> None:
    table = renamed_labels(here, tmp_path / "renamed.tsv", {"pos": "good", "neg": "bad"})
    table.write_text(table.read_text() * times)
    options = ["--set", "train.threads=1", "--set", "train.batch_tokens=128", "--forecast", "--json"]
    done = command("train", "--data", table, "--from", runs["bert"], "--out", tmp_path / "run", *options)
    assert done.code == 0, done.err
    assert fewest <= json.loads(done.out)["steps"] <= most


def test_a_first_row_that_looks_like_a_header_is_pointed_out(here: Path, tmp_path: Path, command: Command) -> None:
    table = tmp_path / "odd.tsv"
    table.write_text("Satz\tUrteil\n" + (here / "train.tsv").read_text())
    done = command(*arguments("classify", table, tmp_path / "run", settings(MODELS["bert"], {"steps": 1})))
    assert done.code == 0, done.err
    assert "the label 'Urteil' of the first row occurs only once" in done.err
    assert "--columns Satz,Urteil" in done.err


def test_classes_keep_the_order_of_the_run_to_start_from(here: Path, tmp_path: Path) -> None:
    more = renamed_labels(here, tmp_path / "more.tsv", {"pos": "pos", "neg": "neg"})
    given = settings(MODELS["bert"], {"steps": 60})
    gf.train(
        {"task": "classify", "labels": ["pos", "neg"], "data": {"files": str(more)}, **given}, out=tmp_path / "base"
    )
    train = {"steps": 1, "threads": 1, "device": "cpu"}
    data = {"files": str(more), "valid": "20%"}
    gf.train(task="classify", data=data, out=tmp_path / "run", start_from=tmp_path / "base", train=train)
    assert gf.load(tmp_path / "run").bundle.extras["labels"] == ["pos", "neg"]
    assert validations(tmp_path / "run")[0]["valid_accuracy"] >= 90  # the first weights, heads included


def test_without_a_task_it_is_that_of_the_run_to_start_from(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    more = renamed_labels(here, tmp_path / "more.tsv", {"pos": "pos", "neg": "neg"})
    options = ["--set", "train.steps=1", "--set", "train.threads=1"]
    done = command("train", "--data", more, "--from", runs["bert"], "--out", tmp_path / "run", *options)
    assert done.code == 0, done.err
    assert 'task = "classify"' in (tmp_path / "run" / "config.toml").read_text()


def test_two_texts_in_a_model_with_one_segment(tmp_path: Path) -> None:
    table = tmp_path / "pairs.tsv"
    rows = [(f"the film was {word}", f"it was {other}", str(word == other)) for word in WORDS for other in WORDS]
    table.write_text("a\tb\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows))
    given = settings({"kind": "bert", "segments": 1}, {"steps": 2, "valid_every": 2})
    data = {"files": str(table), "columns": "a,b,label", "valid": "20%"}
    gf.train(task="classify", data=data, out=tmp_path / "run", **given)
    (guesses,) = gf.load(tmp_path / "run").classify([("the film was good", "it was bad")])
    assert {guess.label for guess in guesses} == {"True", "False"}


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ('labels=["pos","pos","neg"]', "'pos' is given twice"),
        ("model.classes=7", "model.classes = 7, but data and task decide it: 2"),
        ("model.vocabulary=50", "model.vocabulary = 50, but data and task decide it"),
    ],
)
def test_what_the_data_decides_cannot_be_set_differently(
    here: Path, tmp_path: Path, command: Command, option: str, words: str
) -> None:
    begun = arguments("classify", here / "train.tsv", tmp_path / "run", settings(MODELS["bert"]), "--set", option)
    refused = command(*begun)
    assert (refused.code, words in refused.err) == (2, True), refused.err


# Evaluating and comparing


def test_unknown_labels_are_refused_by_name(runs: dict[str, Path], tmp_path: Path, command: Command) -> None:
    table = tmp_path / "test.tsv"
    table.write_text("text\tlabel\nthe film was good\tpos\nthe film was red\tred\n")
    refused = command("evaluate", runs["bert"], table)
    assert refused.code == 2
    assert "Labels of held-out examples that the model does not know: 1, first 'red'" in refused.err


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
    assert "Measuring on validation examples" in found.err  # no number: for windows of texts it is known later
    assert f"{runs['bert']} is better than {tmp_path / 'wrong'} by" in found.out
    assert "points of accuracy" in found.out
    again = command("compare", tmp_path / "wrong", runs["bert"], "--test", here / "valid.tsv", "--json")
    result = json.loads(again.out)
    assert result["part"] == "given examples"
    assert [score["key"] for score in result["runs"][0]["scores"]] == ["accuracy", "f1", "matthews"]
    row = result["most_different"][0]
    assert sorted(row["scores"]) == [0, 100]
    assert len(row["predictions"]) == 2


# Pairs of texts


@pytest.fixture(scope="module")
def pairs(here: Path) -> Path:
    """A run that has learnt whether the second text praises. Only to be read."""
    rows = [row.split("\t") for row in (here / "train.tsv").read_text().splitlines()]
    table = here / "pairs.tsv"
    table.write_text("".join(f"in {1900 + i}\t{text}\t{label}\n" for i, (text, label) in enumerate(rows)))
    data = {"files": str(table), "columns": "1,2,3", "valid": "20%"}
    gf.train(task="classify", data=data, out=here / "pairs", **settings(MODELS["bert"]))
    return here / "pairs"


PAIRS = [("in 1900", "the film was great in may"), ("in 1901", "the song was awful in june")]


def test_a_classifier_of_pairs_reads_pairs(pairs: Path, command: Command) -> None:
    model: Any = gf.load(pairs)
    both = model.classify(PAIRS, top=1)
    assert [guesses[0].label for guesses in both] == ["pos", "neg"]
    one = model.classify(PAIRS[0], top=1)
    assert (one[0].label, one[0].probability) == ("pos", pytest.approx(both[0][0].probability, abs=1e-6))
    tabbed = ["\t".join(pair) for pair in PAIRS]
    lines = command("classify", pairs, *tabbed, "--top", 1)
    assert [line.split("\t")[:2] for line in lines.lines] == [list(pair) for pair in PAIRS]
    assert [line.split("\t")[2].split()[0] for line in lines.lines] == ["pos", "neg"]
    piped = command("classify", pairs, "--top", 1, stdin="\n".join(tabbed).encode())
    assert piped.out == lines.out
    assert command("classify", pairs, *PAIRS[0], "--top", 1).lines == lines.lines[:1]
    found = json.loads(command("classify", pairs, *PAIRS[0], "--top", 1, "--json").out)
    assert (found["texts"], found["classes"][0]["label"]) == (list(PAIRS[0]), "pos")


@pytest.mark.parametrize("given", [["one text"], ["a", "b", "c"], ["a\tb\tc"], ["a\tb", "c"]])
def test_a_classifier_of_pairs_refuses_anything_else(pairs: Path, command: Command, given: list[str]) -> None:
    refused = command("classify", pairs, *given)
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert "this model was trained on pairs of texts. Give first<TAB>second" in refused.err
    piped = command("classify", pairs, stdin=b"a\tb\nno tab\nc\td\n")
    assert (piped.code, [line.split("\t")[:2] for line in piped.lines]) == (2, [["a", "b"], ["c", "d"]])
    assert "stdin, line 2: got 'no tab' with 0 tabs" in piped.err
    for wrong in ("text", ["a", "b"], [("a", "b", "c")], [("a", "b"), "c"]):
        with pytest.raises(GlassformerError, match=r"\(first, second\)"):
            gf.load(pairs).classify(wrong)


def test_a_classifier_of_texts_refuses_pairs(runs: dict[str, Path], command: Command) -> None:
    with pytest.raises(GlassformerError, match="trained on single texts: give a text"):
        gf.load(runs["bert"]).classify([("a", "b")])
    refused = command("classify", runs["bert"], "a\tb")
    assert (refused.code, "argument 1: got 'a b' with a tab" in refused.err) == (2, True)


def test_a_pair_is_explained(pairs: Path, command: Command) -> None:
    model: Any = gf.load(pairs)
    found = model.explain(PAIRS[0])
    assert found.predictions[0].top[0].piece == "pos"
    assert found.predictions[0].top[0].probability == pytest.approx(model.classify(PAIRS[0])[0].probability, abs=1e-5)
    assert command("explain", pairs, "\t".join(PAIRS[0])).code == 0
    refused = command("explain", pairs, "one text")
    assert (refused.code, "first<TAB>second" in refused.err) == (2, True)
    with pytest.raises(GlassformerError, match=r"\(first, second\)"):
        model.explain("one text")


def test_after_training_on_pairs_the_advice_works(pairs: Path, tmp_path: Path, command: Command) -> None:
    given = settings(MODELS["bert"], {"steps": 1, "valid_every": 1})
    table = pairs.with_suffix(".tsv")
    done = command(*arguments("classify", table, tmp_path / "run", given, "--columns", "1,2,3"))
    assert done.err.splitlines()[-1] == f'Try:  glassformer classify {tmp_path / "run"} "..." "..."'
    assert command("classify", tmp_path / "run", "...", "...").code == 0


# Exports

LONG = "the film was great in may " + "the song was awful in june " * 60


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("old", [False, True])
def test_transformers_reads_an_export_as_we_do(runs: dict[str, Path], tmp_path: Path, kind: str, old: bool) -> None:
    """Tokenizers of older runs do not put the begin and end marks around texts."""
    bundle = load_bundle(runs[kind])
    if old:
        assert bundle.tokenizer is not None
        bundle = replace(bundle, tokenizer=with_frame(bundle.tokenizer, Frame()))
    ours: Any = TextEncoder(bundle)
    export_to_huggingface(bundle, tmp_path / "exported")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "exported")
    theirs = AutoModelForSequenceClassification.from_pretrained(tmp_path / "exported").eval()
    again: Any = gf.load(tmp_path / "exported")
    for text in ("the film was great in may", LONG):
        with torch.no_grad():
            logits = theirs(**tokenizer(text, truncation=True, return_tensors="pt")).logits[0]
        named = dict(zip(theirs.config.id2label.values(), logits.softmax(-1).tolist(), strict=True))
        for found in (ours.classify(text), again.classify(text)):
            assert {guess.label: guess.probability for guess in found} == pytest.approx(named, abs=1e-5)


# Files of another format than the training data's, and models that were not trained here


def test_evaluate_reads_one_file_per_class_after_training_on_columns(
    here: Path, tmp_path: Path, command: Command
) -> None:
    rows = [row.split("\t") for row in (here / "valid.tsv").read_text().splitlines()]
    table = tmp_path / "train.csv"
    table.write_text("words,mood\n" + "".join(f"{text},{label}\n" for text, label in rows))
    given = settings(MODELS["bert"], {"steps": 2, "valid_every": 2})
    files = [tmp_path / "reviews.pos", tmp_path / "reviews.neg"]
    for path in files:
        path.write_text("".join(f"{text}\n" for text, label in rows if label == path.suffix[1:]))
    done = command(*arguments("classify", table, tmp_path / "run", given, "--columns", "words,mood"))
    assert done.code == 0, done.err
    found = command("evaluate", tmp_path / "run", *files)
    assert found.code == 0, found.err
    assert found.out == command("evaluate", tmp_path / "run", table).out
    refused = command("evaluate", tmp_path / "run", *files, "--columns", "words,mood")
    assert (refused.code, "has no columns. Leave it out" in refused.err) == (2, True)


def test_imported_models_that_are_not_translators_are_not_taken_for_translators(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    save_bundle(encoder_models.bert(), tmp_path / "words")
    export_to_huggingface(encoder_models.gpt(), tmp_path / "gpt")
    for name, kind in (("words", "bert"), ("gpt", "gpt")):
        words = f"{tmp_path / name} is an imported {kind} model. Imported translators and runs"
        for line in (
            ["evaluate", tmp_path / name, here / "valid.tsv"],
            ["evaluate", tmp_path / name, here / "valid.tsv", "--beam", 3],
            ["compare", tmp_path / name, runs["bert"], "--test", here / "valid.tsv"],
            ["compare", runs["bert"], tmp_path / name, "--test", here / "valid.tsv"],
        ):
            refused = command(*line)
            assert (refused.code, words in refused.err) == (2, True), refused.err


def test_a_table_of_words_is_kept_counted_again_or_left_out(here: Path, tmp_path: Path) -> None:
    """By a run that continues, one with other labels, and one of another task."""
    known = tmp_path / "known.tsv"
    known.write_text("".join(f"{text}\t{label}\n" for text, label in known_rows(here / "train.tsv")))
    train = {"steps": 2, "threads": 1, "device": "cpu", "old_share": 0.0}

    def table(name: str) -> torch.Tensor:
        return RunFolder(tmp_path / name).weights()[0]["word_odds.table"]

    def run(name: str, files: Path, **more: Any) -> None:
        gf.train(task=more.pop("task", "classify"), data=str(files), out=tmp_path / name, train=train, **more)

    gf.train(task="classify", data=str(known), out=tmp_path / "base", **settings({"kind": "bert", "word_odds": 64}))
    assert table("base").any()
    run("continued", known, start_from=tmp_path / "base")
    assert torch.equal(table("continued"), table("base"))
    others = renamed_labels(here, tmp_path / "others.tsv", {"pos": "a", "neg": "x"})
    run("others", others, start_from=tmp_path / "base")
    assert not torch.equal(table("others"), table("base"))
    scores = tmp_path / "scores.tsv"
    scores.write_text(known.read_text().replace("\tpos", "\t1.0").replace("\tneg", "\t0.0"))
    run("scores", scores, start_from=tmp_path / "base", task="similar")
    assert "word_odds.table" not in RunFolder(tmp_path / "scores").weights()[0]
    with pytest.raises(GlassformerError, match="which is kept"):
        run("refused", known, start_from=tmp_path / "base", model={"word_odds": 0})
