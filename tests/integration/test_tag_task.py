"""Labels of words get the whole training engine, and are used from the command line, Python and other programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

import glassformer as gf
from glassformer.data.schemes import spans_of
from glassformer.data.tagged_windows import IGNORED
from glassformer.errors import GlassformerError
from glassformer.store.run import RunFolder
from glassformer.tasks.evaluating import open_trained
from glassformer.tasks.registry import task_named
from glassformer.tasks.starting import open_start
from glassformer.tasks.token_labels import TokenLabels
from glassformer.training.task import Setup
from toy_texts import arguments, settings, write_tagged

MODELS: dict[str, dict[str, Any]] = {
    "bert": {"kind": "bert", "casing": False},
    "roformer": {"kind": "roformer", "casing": True},
}
TEXT = "Ann flew to New York ."
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tags")
    write_tagged(folder / "train.conll", count=90)
    write_tagged(folder / "valid.conll", count=30, seed=2)
    return folder


def trained_on(here: Path, out: Path, model: dict[str, Any], *, file: str = "train.conll", **recipe: Any) -> Path:
    data = {"files": str(here / file), "valid": str(here / "valid.conll"), "max_tokens": 24, "group": "sentence"}
    train = {"steps": 60, "valid_every": 30}
    gf.train(task="tag", data=data, out=out, **settings(model, train), **recipe)
    return out


@pytest.fixture(scope="module")
def runs(here: Path) -> dict[str, Path]:
    """A finished run of each kind of model, with different schemes. Only to be read."""
    schemes = {"bert": "bio", "roformer": "bilou"}
    return {kind: trained_on(here, here / kind, model, scheme=schemes[kind]) for kind, model in MODELS.items()}


def measured(run: Path) -> dict[str, float]:
    return RunFolder(run).metrics()[-1]["measured"]


@pytest.fixture(autouse=True)
def _held_out_sentences_may_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy has few different sentences; without this, those of the validation file would not be trained on."""
    monkeypatch.setattr("glassformer.data.sources.tagged.SHORT", 1000)


@pytest.fixture(scope="module", autouse=True)
def _the_same_for_the_shared_runs() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glassformer.data.sources.tagged.SHORT", 1000)
        yield


@pytest.mark.parametrize("kind", MODELS)
def test_a_toy_is_learnt(runs: dict[str, Path], kind: str) -> None:
    assert measured(runs[kind])["f1"] >= 95


def test_shuffled_labels_are_not_learnt(here: Path, tmp_path: Path) -> None:
    write_tagged(here / "wrong.conll", count=90, shuffled=True)
    run = trained_on(here, tmp_path / "run", MODELS["bert"], file="wrong.conll")
    assert measured(run)["f1"] < 40


def test_the_loss_is_summed_over_first_pieces_alone(runs: dict[str, Path]) -> None:
    """Against log-softmax in float64, by hand."""
    trained = open_trained(runs["bert"])
    setup = Setup(trained.setup.recipe.model_copy(), trained.setup.tokenizers)
    examples = [(0, ("Ann", "went", "to", "Rome"), ("B-PER", "O", "O", "B-LOC")), (-1, ("Bob",), ("B-PER",))]
    task = TokenLabels()
    pool = task.pool(setup, task.encode_held(setup, examples).columns)
    batch = pool.batch(torch.arange(2).numpy())
    assert batch.weight == 5
    with torch.no_grad():
        summed, weight = task.loss(setup, trained.user.model, batch)
        logits = trained.user.model(batch).double().log_softmax(-1)
        rows = task.losses(setup, trained.user.model, batch)
    places = (batch.targets != IGNORED).nonzero().tolist()
    assert len(places) == weight == 5
    by_hand = -sum(logits[row, place, batch.targets[row, place]] for row, place in places)
    assert float(summed) == pytest.approx(float(by_hand), rel=1e-5)
    assert sum(loss for loss, _ in rows) == pytest.approx(float(by_hand), rel=1e-5)
    assert [count for _, count in rows] == [4, 1]


def test_evaluate_measures_what_the_last_validation_did(runs: dict[str, Path], here: Path, command: Command) -> None:
    found = command("evaluate", runs["bert"], here / "valid.conll", "--json", "--output", here / "predicted.txt")
    assert found.code == 0, found.err
    scores = {score["key"]: score["value"] for score in json.loads(found.out)}
    assert scores == pytest.approx(measured(runs["bert"]))
    assert (here / "predicted.txt").read_text().splitlines()[0].split()[0] == "B-PER"
    shown = command("evaluate", runs["bert"], here / "valid.conll", "--columns", "1,2").out
    assert "30 sentences" in shown


def test_the_verb_by_arguments_stdin_json_columns_and_python(runs: dict[str, Path], command: Command) -> None:
    run = runs["bert"]
    shown = command("tag", run, TEXT)
    assert shown.lines[0] == TEXT
    assert [line.split()[0] for line in shown.lines[1:]] == ["PER", "LOC"]
    assert "12-20" in shown.lines[2]
    assert shown.lines[2].endswith("New York")
    assert command("tag", run, stdin=f"{TEXT}\n".encode()).out == shown.out
    assert command("tag", run, "--words", TEXT).out == shown.out
    found = json.loads(command("tag", run, TEXT, "--json").out)
    assert [(one["type"], found["text"][one["start"] : one["end"]]) for one in found["entities"]] == [
        ("PER", "Ann"),
        ("LOC", "New York"),
    ]
    assert all(0 < one["confidence"] <= 1 for one in found["entities"])
    lines = command("tag", run, TEXT, "--conll").out
    assert lines == "Ann\tB-PER\nflew\tO\nto\tO\nNew\tB-LOC\nYork\tI-LOC\n.\tO\n\n"
    model = gf.load(run)
    assert [one.type for one in model.tag(TEXT).entities] == ["PER", "LOC"]
    assert model.tag([TEXT.split()])[0].labels == model.tag([TEXT])[0].labels
    assert model.tag([]) == []
    assert model.tag("").entities == ()
    assert command("tag", run, "--json", "--conll", "a").code == 2


def test_a_text_longer_than_a_window_loses_no_word(runs: dict[str, Path]) -> None:
    model = gf.load(runs["roformer"])
    found = model.tag(" ".join([TEXT] * 20))
    assert len(found.labels) == 120
    assert [one.type for one in found.entities] == ["PER", "LOC"] * 20


def test_predictions_keep_the_rules_of_the_scheme(runs: dict[str, Path]) -> None:
    tagger = gf.load(runs["roformer"]).tagger
    scores = tagger.scores([["York", "Hill", "Hill", "York", "Moon"]], [-1])
    free = [tagger.labels[i] for i in scores[0].argmax(axis=1)]
    assert tagger.scheme == "bilou"
    assert len(free) == 5
    for labels in tagger.predicted([["Hill", "to", "Moon", "York"]] * 3, [-1, 4, 4]):
        assert spans_of(labels) == spans_of(labels_again(labels))


def labels_again(labels: list[str]) -> list[str]:
    from glassformer.data.schemes import converted

    return converted(converted(labels, "bilou"), "bio")


def test_an_exported_run_gives_the_same_labels_in_transformers_and_comes_back(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    made = command("export", runs["bert"], "--to", "huggingface", "--out", tmp_path / "theirs")
    assert made.code == 0, made.err
    model = AutoModelForTokenClassification.from_pretrained(tmp_path / "theirs")
    given = AutoTokenizer.from_pretrained(tmp_path / "theirs")(TEXT, return_tensors="pt")
    with torch.no_grad():
        theirs = model(given["input_ids"]).logits[0].log_softmax(-1)
    tagger = gf.load(runs["bert"]).tagger
    ours = torch.from_numpy(tagger.scores([TEXT.split()], [-1])[0])
    torch.testing.assert_close(theirs[1:-1], ours, rtol=0, atol=1e-4)
    assert [model.config.id2label[i] for i in range(model.config.num_labels)] == tagger.labels
    for command_line in (("tag", tmp_path / "theirs", TEXT, "--conll"),):
        assert command(*command_line).out == command("tag", runs["bert"], TEXT, "--conll").out
    found = command("evaluate", tmp_path / "theirs", here / "valid.conll", "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)[0]["value"] >= 95


def test_a_model_that_reads_capitals_is_not_exported(runs: dict[str, Path], tmp_path: Path, command: Command) -> None:
    refused = command("export", runs["roformer"], "--to", "huggingface", "--out", tmp_path / "theirs")
    assert refused.code == 2
    assert "model.casing = true" in refused.err
    assert "--set model.casing=false" in refused.err
    assert not (tmp_path / "theirs").exists()


def test_capitals_reach_a_model_in_lower_case(tmp_path: Path) -> None:
    """Names that only their capitals show: one word is a place or not."""
    names = [("Rome B-LOC", "rome O")[i % 2] for i in range(60)]
    rows = [f"{name}\nis O\nno{i // 4} O\n\n" for i, name in enumerate(names)]
    path = tmp_path / "a.conll"
    path.write_text("".join(rows))
    scores = {}
    for casing in (True, False):
        sections = settings({"kind": "bert", "casing": casing}, {"steps": 40})
        sections["text"]["lowercase"] = True
        data = {"files": str(path), "valid": "20%", "group": "sentence", "hidden_words": 0.0}
        gf.train(task="tag", data=data, out=tmp_path / str(casing), **sections)
        labels = [one.labels[0] for one in gf.load(tmp_path / str(casing)).tag(["Rome is no1", "rome is no1"])]
        scores[casing] = labels
    assert scores[True] == ["B-LOC", "O"]
    assert len(set(scores[False])) == 1


def test_files_in_io_are_learnt_in_io_and_others_in_bio(here: Path, tmp_path: Path) -> None:
    text = (here / "train.conll").read_text()
    for name, given, labels in (("io", text.replace(" B-", " I-"), 3), ("bio", text, 5)):
        (tmp_path / f"{name}.conll").write_text(given)
        data = {"files": str(tmp_path / f"{name}.conll"), "valid": "20%"}
        gf.train(task="tag", data=data, out=tmp_path / name, **settings({"kind": "bert"}, {"steps": 1}))
        tagger = gf.load(tmp_path / name).tagger
        assert (tagger.scheme, len(tagger.labels)) == (name, labels)


def test_the_fast_pass_reads_capitals_too(here: Path, tmp_path: Path) -> None:
    run = trained_on(here, tmp_path / "run", {"kind": "bert", "casing": True})
    tagger = gf.load(run).tagger
    windows = [tagger.first_window(text)[0] for text in (TEXT, "bob went to rome .")]
    batch = tagger.batch(windows)
    with torch.inference_mode():
        plain = tagger.encoder.model.hidden(batch)
        real = torch.arange(batch.ids.size(1)) < batch.lengths[:, None]
        torch.testing.assert_close(tagger.encoder.rows(batch), plain[real], rtol=0, atol=1e-5)


def test_a_run_is_continued_with_its_head_and_another_body_gets_a_new_one(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    train = {"steps": 3, "threads": 1, "device": "cpu"}
    data = {"files": str(here / "train.conll"), "valid": str(here / "valid.conll"), "max_tokens": 24}
    gf.train(task="tag", data=data, out=tmp_path / "more", start_from=runs["bert"], train=train)
    first = next(one for one in RunFolder(tmp_path / "more").metrics() if "valid_f1" in one)
    assert first["step"] == 0
    assert first["valid_f1"] >= 95
    command("export", runs["bert"], "--to", "huggingface", "--out", tmp_path / "body")
    begun = arguments("tag", here / "train.conll", tmp_path / "new", {"train": train}, "--from", str(tmp_path / "body"))
    done = command(*begun, "--set", "scheme=bilou", "--set", "model.casing=true")
    assert done.code == 0, done.err
    assert "newly initialised: inputs.casing.weight, head.linear.weight" in done.err
    assert "U-LOC" in gf.load(tmp_path / "new").bundle.extras["labels"]


@pytest.mark.parametrize("task", ["classify", "similar", "fill", "tag"])
def test_other_tasks_start_without_the_vectors_of_capitals(runs: dict[str, Path], task: str) -> None:
    start = open_start(task_named(task), str(runs["roformer"]))
    assert bool(start.model.casing) == (task == "tag")
    assert any("casing" in name for name in start.weights) == (task == "tag")


def test_a_classifier_that_starts_from_a_tagger_trains_all_its_weights(runs: dict[str, Path], tmp_path: Path) -> None:
    train = {"steps": 1, "threads": 1, "device": "cpu"}
    texts = [f"Ann {'went to ' * (1 + i // 2)}{('Rome', 'York')[i % 2]}\t{('a', 'b')[i % 2]}\n" for i in range(20)]
    (tmp_path / "a.tsv").write_text("".join(texts))
    data = {"files": str(tmp_path / "a.tsv")}
    gf.train(task="classify", data=data, out=tmp_path / "run", start_from=runs["roformer"], train=train)
    assert not [name for name in RunFolder(tmp_path / "run").weights()[0] if "casing" in name]


def test_parts_of_speech_are_plain_labels(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "a.conllu"
    words = [("cats", "NOUN"), ("run", "VERB"), ("dogs", "NOUN"), ("sleep", "VERB")]
    rows = [words[i % 2 :: 2] if i % 3 else words for i in range(60)]
    path.write_text(
        "".join("".join(f"{i}\t{w}\t_\t{t}\t_\t_\n" for i, (w, t) in enumerate(one, 1)) + "\n" for one in rows)
    )
    done = command(*arguments("tag", path, tmp_path / "run", settings({"kind": "bert"}), "--valid", "20%"))
    assert done.code == 0, done.err
    assert "accuracy of words 100.0%" in done.err
    assert "F1" not in done.err
    assert command("tag", tmp_path / "run", "dogs run").out == "dogs/NOUN run/VERB\n"
    found = json.loads(command("tag", tmp_path / "run", "dogs run", "--json").out)
    assert [one["label"] for one in found["words"]] == ["NOUN", "VERB"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Which labels are confused" in page
    refused = command(*arguments("tag", path, tmp_path / "x", settings({"kind": "bert"}, {"best_by": "f1"})))
    assert "is a score of entities; the labels are plain" in refused.err


def test_the_report_shows_types_and_the_worst_sentences_safely(here: Path, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    path = tmp_path / "a.conll"
    path.write_text(f"{hostile} B-PER\nis O\nhere O\n\n" * 3 + (here / "valid.conll").read_text())
    data = {"files": str(here / "train.conll"), "valid": str(path), "group": "sentence"}
    gf.train(task="tag", data=data, out=tmp_path / "run", **settings({"kind": "bert"}, {"steps": 20}))
    page = (tmp_path / "run" / "report.html").read_text()
    for words in ("Scores by type", "Which types are confused", "The worst sentences", "[PER \\u003cscript"):
        assert words in page
    assert hostile not in page


def test_explain_shows_the_label_of_each_word(runs: dict[str, Path], command: Command) -> None:
    for run in runs.values():
        found = json.loads(command("explain", run, "Ann flew to New York.", "--json").out)
        at = [one["at"] for one in found["predictions"]]
        assert at == ["Ann", "flew", "to", "New", "York", "."]
    assert "The label of each word" in command("explain", runs["bert"], TEXT).out


def test_models_without_labels_of_words_are_refused(trained: Path, runs: dict[str, Path], command: Command) -> None:
    refused = command("tag", trained, TEXT)
    assert refused.code == 2
    assert "no head for labels of words" in refused.err
    with pytest.raises(GlassformerError, match="expected a text"):
        gf.load(runs["bert"]).tag([["a", 3]])
    with pytest.raises(GlassformerError, match="expected a text"):
        gf.load(runs["bert"]).tag(3)


def test_doctor_counts_and_finds(here: Path, tmp_path: Path, command: Command) -> None:
    path = tmp_path / "a.conll"
    path.write_text((here / "train.conll").read_text() + "x I-LOC\n\nin O\nRome O\nodd line here\n")
    found = command("doctor", "--task", "tag", path, "--test", here / "valid.conll")
    assert found.code == 0, found.err
    for words in ("91 sentences of 30 documents", "Labels: BIO", "PER", "I-LOC continues no span", "got 3 columns"):
        assert words in found.out
    told = json.loads(command("doctor", "--task", "tag", path, "--json").out)
    assert told["task"] == "tag"
    assert told["scheme"] == "bio"


def test_a_budget_chooses_and_ends(here: Path, tmp_path: Path) -> None:
    from functools import partial
    from itertools import count

    clock = partial(next, count(0.0, 2.0))
    train = {"threads": 1, "device": "cpu"}
    data = {"files": str(here / "train.conll"), "valid": "20%"}
    done = gf.train(task="tag", data=data, out=tmp_path / "run", budget="2m", train=train, clock=clock)
    assert done.stopped == "the time is used"
    assert 'size = "tiny"' in (tmp_path / "run" / "config.toml").read_text()
