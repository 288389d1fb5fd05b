"""The command line: help, every verb, pipes, Ctrl-C. Most of it inside this process, some as a user would start it."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.config import validate, walk
from glassformer.explain.lessons import trained_heads
from glassformer.models.fast import tapes
from glassformer.nn.native import compiler, tape
from glassformer.store.run import RunFolder
from glassformer.training.watching import Silent

VERBS = [
    "demo",
    "doctor",
    "clean",
    "train",
    "recipe",
    "translate",
    "evaluate",
    "compare",
    "explain",
    "lesson",
    "tokenizer",
]
SUBVERBS = ["tokenizer train", "tokenizer encode", "tokenizer trace"]
SENTENCES = ["the dog eats bread.", "", "a cat sees old red wine.", "his wife has us."]

Command = Callable[..., Any]


def shell(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """`python -m glassformer` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "glassformer", *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", **options.pop("env", {})},
        **{"capture_output": True, "text": True, "timeout": 120, **options},
    )


# Help


@pytest.mark.parametrize("verb", [*VERBS, *SUBVERBS])
def test_every_verb_explains_itself_with_an_example(command: Command, verb: str) -> None:
    for flag in ("--help", "-h"):
        outcome = command(*verb.split(), flag)
        assert outcome.code == 0
        assert re.search(rf"Examples?\b.*glassformer {verb}", outcome.out, re.DOTALL)
        assert outcome.err == ""


def test_help_lists_every_verb_and_where_to_start(command: Command) -> None:
    shown = command("--help").out
    assert all(verb in shown for verb in VERBS)
    assert "Start here:  glassformer demo" in shown


def test_without_arguments_help_is_shown(command: Command) -> None:
    outcome = command()
    assert "Usage" in outcome.out + outcome.err
    assert outcome.code in (0, 2)


def test_the_version_is_the_packages(command: Command) -> None:
    outcome = command("--version")
    assert (outcome.code, outcome.out) == (0, f"glassformer {gf.__version__}\n")


def test_the_module_runs_and_so_does_the_installed_command() -> None:
    wanted = f"glassformer {gf.__version__}\n"
    assert shell("--version").stdout == wanted
    installed = Path(sys.executable).with_name("glassformer")
    if installed.exists():
        assert subprocess.run([installed, "--version"], capture_output=True, text=True).stdout == wanted


def test_the_command_line_starts_without_torch() -> None:
    heavy = ("torch", "numpy", "sacrebleu", "safetensors")
    code = f"import sys, glassformer.cli.main; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "[]\n", found.stderr


# Translating


def test_arguments_a_file_and_stdin_give_the_same_translations(trained: Path, command: Command, tmp_path: Path) -> None:
    wanted = gf.load(trained).translate(SENTENCES)
    assert wanted[1] == ""
    text = "".join(f"{sentence}\n" for sentence in SENTENCES)
    (tmp_path / "in.txt").write_text(text)
    for outcome in (
        command("translate", trained, *SENTENCES),
        command("translate", trained, "--input", tmp_path / "in.txt"),
        command("translate", trained, stdin=text.encode()),
        command("translate", trained, stdin=text.replace("\n", "\r\n").encode()),
        command("translate", trained, stdin=text.removesuffix("\n").encode()),
    ):
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out == "".join(f"{line}\n" for line in wanted)


def test_many_lines_come_out_as_many_and_in_order(trained: Path, command: Command) -> None:
    translator = gf.load(trained)
    lines = [("the dog has me.", "", "a cat eats two eggs.", "us", "\u2028")[i % 5] for i in range(137)]
    outcome = command("translate", trained, "--beam", 1, stdin="".join(f"{line}\n" for line in lines).encode())
    assert outcome.lines == translator.translate(lines, beam=1)


def test_nothing_in_is_nothing_out(trained: Path, command: Command) -> None:
    outcome = command("translate", trained, stdin=b"")
    assert (outcome.code, outcome.out) == (0, "")


def test_a_beam_of_one_is_greedy(trained: Path, command: Command) -> None:
    translator = gf.load(trained)
    outcome = command("translate", trained, *SENTENCES, "--beam", 1)
    assert outcome.lines == translator.translate(SENTENCES, beam=1)


def test_n_best_numbers_its_candidates_best_first(trained: Path, command: Command) -> None:
    rows = [line.split("\t") for line in command("translate", trained, SENTENCES[0], "--n-best", 3).lines]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    options = gf.load(trained).candidates(SENTENCES[:1], n_best=3)[0]
    assert [(float(row[1]), row[2]) for row in rows] == [(round(one.score, 4), one.text) for one in options]


def test_json_is_one_object_a_line(trained: Path, command: Command) -> None:
    outcome = command("translate", trained, *SENTENCES, "--json", "--beam", 2, "--n-best", 2)
    records = [json.loads(line) for line in outcome.lines]
    assert [record["source"] for record in records] == [s for s in SENTENCES for _ in range(2 if s else 1)]
    told = {"source", "rank", "text", "score", "log_prob", "tokens", "log_probs", "finished", "wrong", "repaired"}
    told |= {"inserted", "parts"}
    assert set(records[0]) == told
    assert records[0]["score"] >= records[1]["score"] or not records[1]["finished"]


def test_a_reader_that_leaves_early_sees_no_traceback(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the dog eats bread.\n" * 30_000)
    line = f"{sys.executable} -m glassformer translate {trained} --input {tmp_path / 'in.txt'} --beam 1 | head -1"
    found = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=120)
    assert found.stdout.count("\n") == 1
    assert found.stderr == ""


def test_output_is_utf8_whatever_the_locale(trained: Path) -> None:
    found = shell("explain", trained, "the dog eats bread.", env={"PYTHONIOENCODING": "ascii"}, text=False)
    assert found.returncode == 0, found.stderr
    assert "→" in found.stdout.decode("utf-8")


def test_without_a_run_it_says_how_to_make_one(command: Command, tmp_path: Path) -> None:
    outcome = command("translate", tmp_path / "none", "x")
    assert outcome.code == 2
    assert "no such folder. Train a model first" in outcome.err
    assert f"glassformer train --task TASK --data FILE --out {tmp_path / 'none'}" in outcome.err


# Measuring


def test_evaluate_prints_scores_intervals_and_signatures(trained: Path, toy: Any, command: Command) -> None:
    outcome = command("evaluate", trained, toy.source, toy.target)
    assert outcome.code == 0
    for pattern in (
        r"BLEU +\d+\.\d\d   95% interval \d+\.\d\d to \d",
        r"chrF +\d",
        r"exact match +\d",
        r"tok:13a.*version:",
    ):
        assert re.search(pattern, outcome.out)
    assert outcome.out.endswith("60 sentences, beam 2\n")  # how they were decoded is part of the score


def test_evaluate_reads_a_tsv_and_writes_json_and_a_new_file(
    trained: Path, toy: Any, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "test.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in toy.pairs[:7]) + "blank\t\n")
    out = tmp_path / "out.txt"
    outcome = command("evaluate", trained, tmp_path / "test.tsv", "--json", "--output", out, "--beam", 1)
    assert [score["name"] for score in json.loads(outcome.out)] == ["BLEU", "chrF", "exact match"]
    assert "1 of 8 left out: 1 blank" in outcome.err
    assert out.read_text().splitlines() == gf.load(trained).translate([s for s, _ in toy.pairs[:7]], beam=1)
    again = command("evaluate", trained, tmp_path / "test.tsv", "--output", out)
    assert again.code == 2
    assert "out.txt already exists" in again.err


# Looking inside


def test_explain_shows_tokens_candidates_and_attention(trained: Path, command: Command) -> None:
    outcome = command("explain", trained, "the dog eats bread.", "--layer", 1, "--head", 2)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Cross-attention, layer 1, head 2" in outcome.out
    assert "dog" in outcome.out


def test_explain_as_json_holds_every_step(trained: Path, command: Command) -> None:
    found = json.loads(command("explain", trained, "the dog eats bread.", "--json", "--top", 3).out)
    assert found["text"] == "the dog eats bread."
    alone = gf.load(trained).candidates(["the dog eats bread."], guard=False)
    assert found["translation"] == alone[0][0].text
    assert len(found["steps"]) == len(found["target"])
    assert all(len(step["top"]) == 3 for step in found["steps"])
    assert found["values"]


def test_more_candidates_than_tokens_are_all_tokens(trained: Path, command: Command) -> None:
    found = json.loads(command("explain", trained, "the dog", "--json", "--top", 100_000).out)
    assert len(found["steps"][0]["top"]) == len(gf.load(trained).target)


def test_lessons_are_listed_in_order(command: Command) -> None:
    from glassformer.explain.lessons import LESSONS

    listed = command("lesson")
    assert (listed.code, [line.split()[1] for line in listed.lines]) == (0, list(LESSONS))
    assert [one["lesson"] for one in json.loads(command("lesson", "--json").out)] == list(LESSONS)


def test_a_lesson_takes_own_words_and_gives_json(command: Command) -> None:
    shown = command("lesson", "mixing", "the bank of the river", "money in the bank", "--seed", 3)
    assert (shown.code, shown.err) == (0, "")
    assert "Next: glassformer lesson cat" in shown.out
    found = json.loads(command("lesson", "cat", "मुझे 🍰", "--width", 8, "--json").out)
    assert found["given"] == {"texts": ["मुझे 🍰"], "width": 8, "seed": 2017}
    assert found["sections"][1]["shown"][0]["key"] == "pattern"


def test_a_lesson_becomes_a_page_and_replaces_only_a_page(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "new" / "cat.html"
    for _ in range(2):
        written = command("lesson", "cat", "मुझे 🍰", "--width", 8, "--html", file)
        assert (written.code, written.err) == (0, "")
        assert "it works without a network" in written.out
    page = file.read_text(encoding="utf-8")
    assert "glassformer lesson cat &#x27;मुझे 🍰&#x27; --width 8" in page
    file.write_text("mine", encoding="utf-8")
    assert command("lesson", "norm", "--html", file).code == 2
    assert file.read_text(encoding="utf-8") == "mine"
    assert command("lesson", "norm", "--html", file, "--force").code == 0
    assert "<h1>LayerNorm, not BatchNorm</h1>" in file.read_text(encoding="utf-8")


def test_a_lesson_reads_lines_from_stdin(command: Command) -> None:
    outcome = command("lesson", "words", "-", "--json", stdin=b"the cat sat\n\nthe dog sat\n")
    assert json.loads(outcome.out)["given"]["texts"] == ["the cat sat", "the dog sat"]


@pytest.mark.parametrize("arguments", [("mask", "--help"), ("-h", "mask")])
def test_the_help_of_a_lesson(command: Command, arguments: tuple[str, ...]) -> None:
    outcome = command("lesson", *arguments)
    assert outcome.code == 0
    assert "--mask NAME        default: causal" in outcome.out
    assert 'glassformer lesson mask "I ate an apple" --mask none' in outcome.out


def test_a_lesson_searches_with_a_trained_model(trained: Path, command: Command) -> None:
    found = json.loads(command("lesson", "beam", "the dog eats bread.", "--model", trained, "--json").out)
    rows = found["sections"][-1]["shown"][0]["rows"]
    assert [row[0] for row in rows] == ["beam 1", "beam 2", "beam 5"]
    assert rows[0][1] == gf.load(trained).translate("the dog eats bread.", beam=1)
    assert all(row[2] < 0 for row in rows)


def test_the_heads_of_a_trained_model_are_scored_against_labels(
    trained: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["the dog eats bread.", "my boy sees me.", "a cat has us."] * 4
    monkeypatch.setattr(trained_heads, "held_out", lambda count, *_: texts[:count])
    outcome = command("lesson", "heads", "--model", trained, "--json")
    assert outcome.code == 0, outcome.err
    tables = {one["key"]: one for part in json.loads(outcome.out)["sections"] for one in part["shown"]}
    for name in ("encoder_classes", "encoder_places", "cross_classes", "cross_places"):
        assert [row[0] for row in tables[name]["rows"]] == ["1.1", "1.2"]
        for _, role, count, share, chance, times, low, high in tables[name]["rows"]:
            assert role
            assert count <= len(texts)
            assert 0 < share < 1
            assert times == pytest.approx(share / chance)
            assert low <= times <= high
    monkeypatch.setattr(trained_heads, "held_out", lambda *_: ["Her aunt often repairs motorcycles."])
    unknown = command("lesson", "heads", "--model", trained)
    assert unknown.code == 2
    assert "does not know many words of the phrasebook: Her, aunt" in unknown.err


# Tokenizers


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "word", "char"])
def test_a_tokenizer_is_trained_and_looked_into(toy: Any, command: Command, kind: str) -> None:
    path = toy.folder / "tokenizer.json"
    made = command("tokenizer", "train", toy.source, toy.target, "--kind", kind, "--vocab-size", 300, "--out", path)
    assert made.code == 0
    assert re.match(rf"{re.escape(str(path))}: {kind}, \d+ tokens\n", made.out)
    tokenizer = gf.Tokenizer.load(path)
    encoded = command("tokenizer", "encode", path, "the dog eats")
    assert [int(line.split()[0]) for line in encoded.lines] == tokenizer.encode("the dog eats")
    found = json.loads(command("tokenizer", "encode", path, "the dog eats", "--json").out)
    assert found == {"text": "the dog eats", "pieces": tokenizer.pieces("the dog eats"), "ids": found["ids"]}
    traced = command("tokenizer", "trace", path, "bread")
    assert traced.code == 0
    assert "bread" in traced.out.replace(" ", "")


# Recipes


def test_a_recipe_holds_every_setting_and_is_accepted(command: Command) -> None:
    from glassformer.tasks.translation import TranslationRecipe

    text = command("recipe", "--set", "model.size=nano", "--set", "train.lr=3e-4").out
    recipe = validate(TranslationRecipe, tomllib.loads(text))
    assert (recipe.model.size, recipe.model.d, recipe.train.lr) == ("nano", 64, 3e-4)
    for name, field in walk(recipe):
        assert re.search(rf"^(# )?{name.rpartition('.')[2]} =", text, re.MULTILINE)
        assert f"# {field.description}\n" in text


def test_a_printed_recipe_trains(toy: Any, command: Command) -> None:
    settings = [x for s in toy.arguments("x") if "=" in s for x in ("--set", s)]
    data = ["--set", f"data.source={toy.source}", "--set", f"data.target={toy.target}"]
    data += ["--set", f'data.valid=["{toy.source}", "{toy.target}"]']
    path, out = toy.folder / "recipe.toml", toy.folder / "run"
    path.write_text(command("recipe", *settings, *data).out)
    outcome = command("train", path, "--set", "train.steps=2", "--out", out, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["step"] == 2
    assert "Done (all steps done)" in outcome.err
    assert f'Try:  glassformer translate {out} "..."' in outcome.err
    again = command("train", path, "--set", "train.steps=2", "--out", out)
    assert again.code == 0
    assert "is already finished; nothing to do" in again.err


def test_a_folder_with_brackets_in_its_name_is_named_in_full(toy: Any, command: Command) -> None:
    out = toy.folder / "a[bold]b" / "[" / "dim]"
    for told in ("Try:  glassformer translate", "is already finished"):
        outcome = command(*toy.arguments(out, "train.steps=1"))
        assert outcome.code == 0
        assert told in outcome.err
        assert str(out) in outcome.err


# Ctrl-C


def test_ctrl_c_saves_and_the_same_command_resumes(toy: Any, command: Command) -> None:
    run = RunFolder(toy.folder / "run")
    arguments = toy.arguments(run.path, "train.steps=300", "train.valid_every=30", "train.valid_sentences=1")
    process = subprocess.Popen(
        [sys.executable, "-m", "glassformer", *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not run.steps and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    stopped_at = run.steps[-1]
    assert process.returncode == 130
    assert "Traceback" not in err
    again = shlex.join(["python", "-m", "glassformer", *arguments])
    assert f"Stopped at step {stopped_at:,} and saved. Resume with:  {again}" in err
    assert out == ""
    assert not run.finished

    translated = command("translate", run.path, "the dog eats bread.")
    assert translated.code == 0
    assert len(translated.lines) == 1
    note = f"Note: training of {run.path} has not finished; using its checkpoint at step {stopped_at:,}.\n"
    assert translated.err.startswith(note)

    resumed = command(*arguments)
    assert resumed.code == 0
    assert f"Resuming from step {stopped_at:,}: 300 steps" in resumed.err
    assert run.finished
    assert command("translate", run.path, "the dog eats bread.").err == ""


class StoppedAfterTheFirstStep(Silent):
    def on_step(self, *_: Any) -> None:
        signal.raise_signal(signal.SIGTERM)


def test_another_setting_is_refused_unless_it_is_accepted(toy: Any, command: Command) -> None:
    out = toy.folder / "run"
    gf.train_translator(toy.recipe(), out, watcher=StoppedAfterTheFirstStep())
    arguments = [*toy.arguments(out, "train.clip=0.5"), "--set", "decode.beam=2"]
    refused = command(*arguments)
    assert refused.code == 2
    assert f"glassformer: {out} was started with different settings: train.clip was 1.0, now 0.5. " in refused.err
    assert "--accept-changes" in refused.err.splitlines()[-1]
    accepted = command(*arguments, "--accept-changes")
    assert accepted.code == 0, accepted.err
    assert "Resuming from step 1 with changes: train.clip was 1.0, now 0.5" in accepted.err


# Answers while the writer waits


def test_through_real_pipes_a_line_is_answered_before_the_next_one_is_written(trained: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "glassformer", "translate", str(trained), "--beam", "1"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers = []
    for sentence in SENTENCES:
        process.stdin.write(sentence + "\n")
        answers.append(process.stdout.readline())
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0
    assert answers == [f"{line}\n" for line in gf.load(trained).translate(SENTENCES, beam=1)]


# Looking before training


def test_a_profile_shows_where_the_time_goes_and_leaves_nothing(
    command: Command, toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.training.profile.STEPS", 2)
    out = tmp_path / "run"
    outcome = command(*toy.arguments(out), "--profile")
    assert outcome.code == 0, outcome.err
    assert outcome.lines[0].startswith("A step: ")
    assert all(part in outcome.out for part in ("matrix products", "attention", "everything else", "GFLOP/s"))
    found = json.loads(command(*toy.arguments(out), "--profile", "--json").out)
    assert sum(found["shares"].values()) == pytest.approx(1)
    assert not out.exists()


def test_translate_says_once_in_one_line_that_there_is_no_compiler(
    command: Command, trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    as_in_a_new_process = functools.cache(compiler.kernels.__wrapped__)
    for module in (tape, tapes):
        monkeypatch.setattr(module, "kernels", as_in_a_new_process)
    outcome = command("translate", trained, *SENTENCES)
    assert (outcome.code, len(outcome.out.splitlines())) == (0, len(SENTENCES))
    (note,) = [line for line in outcome.err.splitlines() if "compiler" in line]
    assert note.startswith("Note: No C compiler was found (cc, gcc, clang); install one, for example gcc.")
    assert "2 to 4 times slower" in note
