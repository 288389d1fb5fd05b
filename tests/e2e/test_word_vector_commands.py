"""`glassformer vectors`: the commands as a user runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glassformer as gf
from encoder_models import bert
from glassformer.store.bundle import save_bundle
from glassformer.vectors import WordVectors, load

Command = Callable[..., Any]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    words = {"king": [1, 1, 0], "queen": [1, 0, 1], "man": [0, 1, 0], "woman": [0, 0, 1], "pawn": [1, 0.4, 0.4]}
    WordVectors(words, np.array(list(words.values()), np.float32)).save(tmp_path / "v.vec")
    return tmp_path / "v.vec"


VERBS = [
    "train",
    "pairs",
    "table",
    "neighbours",
    "analogy",
    "similar",
    "odd-one-out",
    "convert",
    "evaluate",
    "map",
    "over-time",
]


@pytest.mark.parametrize("verb", [*VERBS, "senses"])
def test_help_teaches_by_example(command: Command, verb: str) -> None:
    shown = command("vectors", verb, "--help")
    assert shown.code == 0
    assert f"glassformer vectors {verb}" in shown.out


def test_train_then_ask(command: Command, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the dog eats meat\nthe cat eats fish\n" * 40)
    done = command("vectors", "train", text, "--out", tmp_path / "v.bin", "--width", 6, "--epochs", 3)
    assert done.code == 0, done.err
    assert "6 words, width 6" in done.err
    found = command("vectors", "neighbours", tmp_path / "v.bin", "dog", "cat", "--top", 2, "--json")
    assert [len(json.loads(line)["neighbours"]) for line in found.out.splitlines()] == [2, 2]
    again = command("vectors", "train", text, "--out", tmp_path / "v.bin")
    assert again.code == 2
    assert "already exists" in again.err
    piped = command(
        "vectors", "train", "-", "--out", tmp_path / "w.bin", "--width", 6, "--epochs", 3, stdin=text.read_bytes()
    )
    assert piped.code == 0, piped.err
    assert np.array_equal(load(tmp_path / "w.bin").matrix, load(tmp_path / "v.bin").matrix)


@pytest.mark.parametrize(
    ("verb", "lines", "answers"),
    [
        ("neighbours", "king\nxyzzy\nqueen\n", 2),
        ("analogy", "king - man + woman\nking - -\nking - xyzzy\nqueen - king + man\n", 2),
        ("odd-one-out", "king queen man\nking\nqueen king woman\n", 2),
    ],
)
def test_a_bad_line_does_not_lose_the_others(command: Command, file: Path, verb: str, lines: str, answers: int) -> None:
    done = command("vectors", verb, file, "--json", stdin=lines.encode())
    assert done.code == 2
    assert len(done.out.splitlines()) == answers
    assert len(done.err.splitlines()) == len(lines.splitlines()) - answers


def test_analogies_from_arguments_and_stdin(command: Command, file: Path) -> None:
    shown = command("vectors", "analogy", file, "king", "-", "man", "+", "woman", "--top", 1)
    assert shown.out.split() == ["king", "+", "woman", "-", "man", "0.959", "queen"]
    piped = command("vectors", "analogy", file, "--json", stdin=b"king - man + woman\n")
    assert json.loads(piped.out)["answers"][0]["word"] == "queen"


@pytest.mark.parametrize(
    "terms", [["king", "man"], ["king", "-"], ["king", "+", "+", "man"], ["-", "king"], ["king-man+woman"]]
)
def test_sums_that_are_no_sums(command: Command, file: Path, terms: list[str]) -> None:
    shown = command("vectors", "analogy", file, *terms)
    assert shown.code == 2
    assert "king - man + woman" in shown.err


def test_similar_words_and_vectors(command: Command, file: Path) -> None:
    assert "dot product  10.0000" in command("vectors", "similar", "[1, 2]", "[2, 4]").out
    assert json.loads(command("vectors", "similar", "[100,200]", "[-1,3]", "--json").out)["dot"] == 500
    assert "cosine       0.5000" in command("vectors", "similar", file, "king", "queen").out
    assert "cosine       undefined" in command("vectors", "similar", "[0,0]", "[1,2]").out
    assert json.loads(command("vectors", "similar", "[0,0]", "[1,2]", "--json").out)["cosine"] is None
    for wrong in (["[1, 2]", "[x]"], [file, "king"], ["[1]", "[1, 2]"], ["[]", "[]"]):
        assert command("vectors", "similar", *wrong).code == 2


def test_other_questions(command: Command, file: Path, tmp_path: Path) -> None:
    assert "the odd one out" in command("vectors", "odd-one-out", file, "king", "queen", "man").out
    assert command("vectors", "neighbours", file, "kng").err.count("\n") == 1
    assert command("vectors", "convert", file, "--out", tmp_path / "v.bin", "--most", 2).code == 0
    assert load(tmp_path / "v.bin").words == ("king", "queen")


def test_pairs_and_tables(command: Command) -> None:
    shown = command("vectors", "pairs", "The cake was chocolate flavoured").out
    assert "The ____ was chocolate flavoured  ->  cake" in shown
    assert "cake  ->  The, was, chocolate, flavoured" in shown
    found = json.loads(command("vectors", "table", "Hello World NLP", "--as", "one-hot", "--keep-case", "--json").out)
    assert found["tables"]["one-hot"]["values"] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert found["words"] == ["Hello", "NLP", "World"]
    everything = command("vectors", "table", "--example").out
    assert "TF-IDF" in everything
    assert "raw counts" in everything
    assert command("vectors", "table", "a", "--as", "glove").code == 2
    for empty in ("", "?!"):
        refused = command("vectors", "pairs", empty)
        assert (refused.code, refused.out, "has no words" in refused.err) == (2, "", True)
    alone = command("vectors", "pairs", "one")
    assert (alone.code, "no pairs" in alone.out, "CBOW" in alone.out) == (0, True, False)


def test_evaluate(command: Command, file: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(": royal\nman king woman queen\nman king woman duchess\n")
    (tmp_path / "p.tsv").write_text("king\tqueen\t8\nking\tman\t9\n")
    shown = command("vectors", "evaluate", file, tmp_path / "q.txt", tmp_path / "p.tsv")
    assert "1 word without a vector: duchess" in shown.out
    found = [
        json.loads(line) for line in command("vectors", "evaluate", file, tmp_path / "q.txt", "--json").out.splitlines()
    ]
    assert (found[0]["total"]["answered"], found[0]["total"]["questions"]) == (1, 2)


def test_map_over_time_and_senses(command: Command, file: Path, tmp_path: Path) -> None:
    done = command("vectors", "map", file, "--out", tmp_path / "map.html", "--method", "pca")
    assert done.code == 0, done.err
    assert "PCA keeps" in done.err
    for name, word in (("then", "cat"), ("now", "chip")):
        (tmp_path / f"{name}.txt").write_text(f"mouse {word} one two three four\n" * 60)
    found = command(
        "vectors",
        "over-time",
        tmp_path / "then.txt",
        tmp_path / "now.txt",
        "--width",
        4,
        "--epochs",
        2,
        "--shuffles",
        2,
    )
    assert found.code == 0, found.err
    assert "5 words are frequent in the first" in found.out
    shown = command("vectors", "senses", "--sentences", "90,10", "--json")
    assert json.loads(shown.out)["mean"] == pytest.approx([0.9, 0.1])


def test_the_embedding_table_of_a_model(command: Command, tmp_path: Path) -> None:
    save_bundle(bert(), tmp_path / "model")
    vectors = gf.load(tmp_path / "model").word_vectors()
    assert len(vectors) > 10
    word = next(one for one in vectors.words if one.isalpha())
    shown = command("vectors", "neighbours", tmp_path / "model", word, "--top", 3, "--json")
    assert [one["word"] for one in json.loads(shown.out)["neighbours"]] == [
        one.word for one in vectors.neighbours(word, top=3)
    ]
