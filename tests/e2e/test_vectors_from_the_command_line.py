"""`glassformer embed`, `fill` and `context`, on small random models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoder_models import bert, gpt
from glassformer.hub.huggingface.folders import write_folder
from glassformer.store.bundle import save_bundle
from glassformer.tasks.context import context
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.loading import load_bundle

Command = Callable[..., Any]
LINES = ["the dog runs", "", "money grows, the river flows.", "un\ufeffbelievable — ÄÖ"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_bundle(bert(extras={"pooling": "cls", "normalise": True}), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


@pytest.mark.parametrize("verb", ["embed", "fill", "context"])
def test_help_teaches_by_example(command: Command, verb: str) -> None:
    told = command(verb, "--help")
    assert told.code == 0
    assert f"glassformer {verb} models/" in told.out


def test_vectors_of_a_file_and_of_stdin(command: Command, model: Path, lines: Path, tmp_path: Path) -> None:
    expected = TextEncoder(load_bundle(model)).embed(LINES)
    told = command("embed", model, lines, "--out", tmp_path / "a.npy")
    assert (told.code, told.out) == (0, "")
    assert "4 vectors of 30 numbers" in told.err
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), expected)
    piped = command("embed", model, "-", "--out", tmp_path / "b.jsonl", stdin=lines.read_bytes())
    assert piped.code == 0
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["text"] for row in rows] == LINES
    np.testing.assert_array_equal(np.array([row["vector"] for row in rows], np.float32), expected)
    shown = command("embed", model, "--json", stdin=lines.read_bytes())
    assert [json.loads(line) for line in shown.lines] == rows


def test_how_vectors_are_made_can_be_asked_for(command: Command, model: Path) -> None:
    told = command("embed", model, "--text", "the dog", "--text", "a cat", "--pooling", "max", "--as-is", "--json")
    expected = TextEncoder(load_bundle(model)).embed(["the dog", "a cat"], pooling="max", normalise=False)
    np.testing.assert_array_equal(np.array([json.loads(line)["vector"] for line in told.lines], np.float32), expected)


def test_nearest_lines(command: Command, model: Path, lines: Path, tmp_path: Path) -> None:
    told = command("embed", model, lines, "--similar", "the dog runs", "--top", 2)
    assert told.code == 0
    assert told.lines[0] == "the dog runs"
    assert told.lines[1].split() == ["1.000", "1", "the", "dog", "runs"]
    assert len(told.lines) == 3
    queries = tmp_path / "queries.txt"
    queries.write_text("money\nthe dog runs\n")
    found = [json.loads(line) for line in command("embed", model, lines, "--similar", queries, "--json").lines]
    assert [one["query"] for one in found] == ["money", "the dog runs"]
    assert found[1]["matches"][0] == {"line": 1, "cosine": 1.0, "text": "the dog runs"}
    assert len(found[0]["matches"]) == 4
    assert command("embed", model, lines, "--similar", "x" * 300).code == 0, "longer than any name of a file"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "Say where the vectors go: --out vectors.npy"),
        (("--out", "v.txt"), "must end in .npy or .jsonl"),
        (("--out", "{there}"), "already exists"),
        (("--out", "v.npy", "--similar", "a"), "give one of them"),
        (("--text", "a", "--json"), "and --text; give one of them"),
        (("--json", "--pooling", "median"), "pooling = 'median' is not known"),
    ],
)
def test_what_is_wrong_is_one_line(command: Command, model: Path, lines: Path, arguments: Any, told: str) -> None:
    there = lines.parent / "there.npy"
    there.write_bytes(b"mine")
    outcome = command("embed", model, lines, *(str(one).format(there=there) for one in arguments))
    assert outcome.code == 2
    assert told in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert there.read_bytes() == b"mine"


def test_missing_files_and_models_are_one_line(command: Command, model: Path, tmp_path: Path) -> None:
    for arguments in ((model, tmp_path / "none.txt"), (tmp_path / "none", "-"), (tmp_path, "-")):
        outcome = command("embed", *arguments, "--json")
        assert outcome.code == 2
        assert len(outcome.err.splitlines()) == 1


def test_masked_words(command: Command, model: Path) -> None:
    told = command("fill", model, "The capital of [MASK] is [MASK].", "A [MASK]", "--top", 3)
    assert told.code == 0
    assert told.lines[0].startswith("The capital of ")
    assert "[MASK]" not in told.out
    assert len(told.lines) == 1 + 2 * (1 + 3) + 1 + 3
    found = json.loads(command("fill", model, "A [MASK]", "--json").out)
    assert found["given"] == "A [MASK]"
    expected = TextEncoder(load_bundle(model)).fill("A [MASK]").gaps[0]
    assert [word["text"] for word in found["gaps"][0]] == [word.text for word in expected]
    outcome = command("fill", model, "A dog")
    assert outcome.code == 2
    assert "Nothing is masked" in outcome.err


@pytest.mark.parametrize("make", [bert, gpt])
def test_a_word_in_context(command: Command, make: Any, tmp_path: Path) -> None:
    bundle = make()
    save_bundle(bundle, tmp_path / "model")
    sentences = ["a money bank grows", "the river bank flows"]
    told = command("context", tmp_path / "model", *sentences, "--word", "bank")
    assert told.code == 0
    expected = context(TextEncoder(bundle), sentences, "bank")
    rows = {line.split("  ")[0].strip(): line.split() for line in told.lines[5:]}
    assert rows["static"][1] == "1.000"
    assert rows["block 2"][2] == f"{expected.layers[3].cosines[0][1]:.3f}"
    found = json.loads(command("context", tmp_path / "model", *sentences, "--word", "bank", "--json").out)
    assert found == json.loads(json.dumps(expected.to_dict()))
    many = command("context", tmp_path / "model", *[f"{s} bank [b]" for s in "abcde"], "--word", "bank")
    assert many.code == 0
    assert "1  a bank [b]" in many.out
    assert many.lines[-1].split()[0] == "5"
    assert many.lines[-1].split()[-1] == "1.000"
    outcome = command("context", tmp_path / "model", "a dog", "a bank", "--word", "bank")
    assert (outcome.code, outcome.out) == (2, "")
    assert "'a dog' does not contain the word 'bank'" in outcome.err


def test_folders_of_hugging_face_serve_as_they_are(command: Command, tmp_path: Path) -> None:
    bundle = bert()
    (tmp_path / "theirs").mkdir()
    write_folder(bundle, tmp_path / "theirs")
    told = command("embed", tmp_path / "theirs", "--text", "the dog", "--json")
    assert told.code == 0
    expected = TextEncoder(bundle).embed(["the dog"])
    np.testing.assert_array_equal(np.array([json.loads(told.out)["vector"]], np.float32), expected)
