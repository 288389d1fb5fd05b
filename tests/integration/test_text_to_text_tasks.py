"""Text to text, summaries and infilling with the engine: they are learnt, mixed, started from each other, used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from transformers import T5ForConditionalGeneration

import glassformer as gf
from glassformer.cli.training import used_by
from glassformer.errors import DataError, GlassformerError
from glassformer.store.run import RunFolder
from glassformer.tasks.exporting import export_to_huggingface
from glassformer.tasks.infilling import Infiller
from glassformer.tasks.loading import load_bundle
from glassformer.tasks.summaries import Summaries, sentences_of
from glassformer.tasks.text_to_text import RewriteRecipe
from tiny_tasks import changed
from toy_texts import sentences, settings, write_running

Command = Callable[..., Any]
SAY, MONTH = "say", "which month"
TRAIN = {"steps": 90, "batch_tokens": 400, "lr": 1e-2, "valid_every": 45, "valid_sentences": 20, "optimiser": "muon"}
SHAPE = {"kind": "t5", "N": 1, "d": 32, "h": 2, "d_kv": 16, "d_ff": 48, "dropout": 0.0}


def rows_of(count: int, seed: int, place: int) -> list[tuple[str, str]]:
    texts = [text for text, _ in sentences(count, seed, years=False)]
    return [(f"{text} {1900 + i % 7}", text.split()[place]) for i, text in enumerate(texts)]


def write_rows(path: Path, rows: list[tuple[str, str]]) -> str:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    return str(path)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    for name, place in (("say", 3), ("month", 5)):
        write_rows(folder / f"{name}.tsv", rows_of(80, 1, place))
        write_rows(folder / f"{name}.valid.tsv", rows_of(12, 9, place))
    return folder


@pytest.fixture(scope="module")
def run(here: Path) -> Path:
    """A finished run with two tasks. Only to be read."""
    data = {
        "files": [f"{SAY}={here / 'say.tsv'}", f"{MONTH}={here / 'month.tsv'}"],
        "valid": [f"{SAY}={here / 'say.valid.tsv'}", f"{MONTH}={here / 'month.valid.tsv'}"],
        "max_target": 4,
    }
    gf.train(
        task="rewrite", data=data, out=here / "run", **changed(settings(SHAPE, TRAIN), {"text": {"vocab_size": 60}})
    )
    return here / "run"


def measured(run: Path) -> dict[str, float]:
    found: dict[str, float] = RunFolder(run).metrics()[-1]["measured"]
    return found


def test_two_tasks_are_learnt_and_the_prefix_decides(run: Path) -> None:
    scores = measured(run)
    assert scores["exact_say"] >= 80
    assert scores["exact_which_month"] >= 80
    assert scores["mean_score"] == pytest.approx((scores["exact_say"] + scores["exact_which_month"]) / 2)
    model = gf.load(run)
    assert isinstance(model, gf.Rewriter)
    text = "the song was awful in june 1902"
    assert (model.rewrite(text, task=SAY), model.rewrite([text], task=MONTH)) == ("awful", ["june"])
    with pytest.raises(DataError, match="several tasks: say which one, 'say', 'which month'"):
        model.rewrite(text)
    with pytest.raises(DataError, match="'sing' is not a task"):
        model.rewrite(text, task="sing")


def test_shuffled_outputs_are_not_learnt(here: Path, tmp_path: Path) -> None:
    rows = rows_of(80, 1, 3)
    targets = [target for _, target in rows]
    Random(1).shuffle(targets)
    file = write_rows(tmp_path / "a.tsv", [(source, target) for (source, _), target in zip(rows, targets, strict=True)])
    data = {"files": file, "valid": str(here / "say.valid.tsv"), "max_target": 4}
    gf.train(
        task="rewrite", data=data, out=tmp_path / "run", **changed(settings(SHAPE, TRAIN), {"text": {"vocab_size": 60}})
    )
    assert measured(tmp_path / "run")["mean_score"] <= 60


@pytest.mark.parametrize("kind", ["t5", "transformer"])
def test_words_of_an_input_and_of_its_output_can_start_with_similar_vectors(tmp_path: Path, kind: str) -> None:
    pairs = [(f"{word} {filler}", word.upper()) for word in ("ab", "cd", "ef", "gh") for filler in ("x", "y", "z")]
    write_rows(tmp_path / "pairs.tsv", pairs)
    shape = SHAPE if kind == "t5" else {"kind": kind, "N": 1, "d": 32, "h": 2, "d_ff": 48, "dropout": 0.0}
    found = {}
    for start in ("random", "pairs"):
        train = {"steps": 1, "batch_tokens": 400, "lr": 1e-9, "warmup": 0, "valid_sentences": 2, "first_vectors": start}
        recipe = changed(settings(shape, train), {"text": {"kind": "word", "vocab_size": 100}})
        gf.train(task="rewrite", data={"files": str(tmp_path / "pairs.tsv")}, out=tmp_path / start, **recipe)
        model, tokenizer = load_bundle(tmp_path / start).model, load_bundle(tmp_path / start).tokenizer
        vectors = torch.nn.functional.normalize(model.encoder.inputs.embedding.weight.detach(), dim=1)
        ids = [(tokenizer.encode(word)[-1], tokenizer.encode(word.upper())[-1]) for word in ("ab", "cd", "ef", "gh")]
        assert len({number for pair in ids for number in pair}) == 8
        found[start] = min(float(vectors[a] @ vectors[b]) for a, b in ids)
    assert found["pairs"] > 0.8 > found["random"]


def test_tasks_whose_metrics_would_share_a_name_are_refused(here: Path, tmp_path: Path) -> None:
    files = [f"say it={here / 'say.tsv'}", f"say-it={here / 'month.tsv'}"]
    with pytest.raises(DataError, match="'say it' and 'say-it'"):
        gf.train(task="rewrite", data={"files": files}, out=tmp_path / "run", **settings(SHAPE, TRAIN))


def test_the_report_shows_the_worst_outputs(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert "The worst outputs" in page
    assert "which month: exact match" in page


def test_the_commands(run: Path, here: Path, command: Command) -> None:
    text = "the song was awful in june 1902"
    assert command("rewrite", str(run), text, "--as", SAY).out == "awful\n"
    found = json.loads(command("rewrite", str(run), text, "--as", MONTH, "--json", "--beam", "1").out)
    assert (found["text"], found["why"]) == ("june", "end")
    missing = command("rewrite", str(run), text)
    assert missing.code == 2
    assert "say which one" in missing.err
    begun = RewriteRecipe.model_validate({"model": {"kind": "t5"}, "out": str(run)})  # before the data names the tasks
    assert used_by(begun) == {"verb": "rewrite", "inputs": '--as say "..."'}
    shown = command("evaluate", str(run), f"{SAY}={here / 'say.valid.tsv'}").out
    assert "say: exact match" in shown
    unclear = command("evaluate", str(run), str(here / "say.valid.tsv"))
    assert "not clear which task" in unclear.err
    assert "awful" in command("explain", str(run), f"{SAY}: {text}").out


def test_doctor(here: Path, command: Command) -> None:
    shown = command("doctor", "--task", "rewrite", f"{SAY}={here / 'say.tsv'}", f"{MONTH}={here / 'month.tsv'}").out
    assert "160 examples" in shown
    assert "which month" in shown


def test_written_for_transformers(run: Path, tmp_path: Path) -> None:
    export_to_huggingface(load_bundle(run), tmp_path / "t5")
    theirs = T5ForConditionalGeneration.from_pretrained(tmp_path / "t5").eval()
    model = gf.load(run)
    row, _ = model.row_of("the song was awful in june 1902", SAY)  # type: ignore[union-attr]
    ids = theirs.generate(torch.tensor([row]), max_new_tokens=4, num_beams=1, do_sample=False)[0].tolist()
    assert model.tokenizer.decode(ids) == "awful"  # type: ignore[union-attr]


# Summaries


@pytest.fixture(scope="module")
def summariser(here: Path) -> Path:
    """Documents of two sentences; the summary is the second word of each."""
    texts = [text for text, _ in sentences(60, 3, years=False)]
    rows = [
        {"source": [f"{one}.", f"{other} or not."], "target": [f"{one.split()[1]} {other.split()[1]}"]}
        for one, other in zip(texts, reversed(texts), strict=True)
    ]
    (here / "papers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    sections = changed(settings(SHAPE, {**TRAIN, "steps": 20, "valid_every": 10}), {"text": {"vocab_size": 60}})
    gf.train(
        task="summarise", data={"files": str(here / "papers.jsonl"), "max_target": 6}, out=here / "tldr", **sections
    )
    return here / "tldr"


def test_summaries_beside_simple_methods(summariser: Path, here: Path, command: Command) -> None:
    record = RunFolder(summariser).metrics()[-1]
    assert set(record["measured"]) == {"rouge1", "rouge2", "rougeL", "rougeLsum", "loss"}
    lead = record["baselines"]["lead-1 (first sentence)"]
    assert 0 < lead["rouge1"] < 60
    assert "Beside simple methods" in (summariser / "report.html").read_text()
    shown = command("evaluate", str(summariser), str(here / "papers.jsonl")).out
    assert "Beside it, longest sentence: ROUGE-1" in shown


def test_the_baselines_by_hand() -> None:
    examples = [("", "One.\nThis is longer.", ("x",)), ("", "A cat sat down here. It ran.", ("x",))]
    found = Summaries().baselines(examples)  # type: ignore[arg-type]
    assert found["lead-1 (first sentence)"] == ["One.", "A cat sat down here."]
    assert found["longest sentence"] == ["This is longer.", "A cat sat down here."]
    assert sentences_of("no end") == ["no end"]


def test_summarise_reads_files_and_stdin(summariser: Path, tmp_path: Path, command: Command) -> None:
    document = tmp_path / "a.txt"
    document.write_text("the song was awful in june.\nthe film was good in may.\n")
    once = command("summarise", str(summariser), str(document))
    assert Summaries().tried_with(None) == "document.txt"
    assert once.code == 0
    assert once.out.count("\n") == 1
    lines = command("summarise", str(summariser), "--lines", str(document), "--json").out.splitlines()
    assert [json.loads(line)["input"] for line in lines] == document.read_text().splitlines()
    assert "No such file" in command("summarise", str(summariser), "nowhere.txt").err
    model = gf.load(summariser)
    assert model.summarise(document.read_text()) == once.out.strip()  # type: ignore[union-attr]


def test_long_documents_are_cut_and_counted(summariser: Path) -> None:
    model = gf.load(summariser)
    assert isinstance(model, gf.Rewriter)
    cut: list[int] = []
    model.written(["song " * 3000, "song"], cut=cut)
    assert cut == [0]


# Infilling


def test_infilling_is_learnt_and_is_a_start(tmp_path: Path, command: Command) -> None:
    text = write_running(tmp_path / "train.txt", count=300, years=False)
    data = {"files": str(text), "max_tokens": 30}
    sections = changed(settings(SHAPE, {**TRAIN, "steps": 120}), {"text": {"kind": "bpe", "vocab_size": 400}})
    gf.train(task="infill", data=data, out=tmp_path / "t5", **sections)
    curve = [one["valid_perplexity"] for one in RunFolder(tmp_path / "t5").metrics() if "valid_perplexity" in one]
    assert curve[-1] < 12
    model = gf.load(tmp_path / "t5")
    assert isinstance(model, Infiller)
    assert model.infill("the film ___ good in may.").startswith("the film")
    assert command("infill", str(tmp_path / "t5"), "the ___ was good.").out.endswith("was good.\n")
    with pytest.raises(GlassformerError, match="No gap"):
        model.infill("the film")
    rows = [(source.rsplit(" ", 1)[0], f"the {target}") for source, target in rows_of(40, 1, 3)]
    file = write_rows(tmp_path / "a.tsv", rows)
    gf.train(
        task="rewrite",
        data={"files": file, "max_target": 4},
        train={"start_from": str(tmp_path / "t5"), "steps": 2, "valid_every": 1, "valid_sentences": 2, "threads": 1},
        out=tmp_path / "run",
    )
    assert len(gf.load(tmp_path / "run").tokenizer) == len(model.tokenizer)  # type: ignore[union-attr]
