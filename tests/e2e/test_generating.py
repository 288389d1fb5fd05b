"""`glassformer generate` as a user meets it: prompts, pipes, sampling, streams, and what is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from glassformer.models.llama import Llama, LlamaConfig
from glassformer.models.t5 import T5, T5Config
from glassformer.store.bundle import Bundle, SpecialIds, save_bundle
from glassformer.text import train_tokenizer
from llama2c_files import model_bytes, pieces, vocabulary_bytes, write
from llama2c_in_numpy import NumpyLlama, NumpyVocabulary
from toy_corpus import Outcome

LINES = ["the cat sat on the mat", "cats and mats, and that is that", "a cat is a cat"] * 3
Command = Callable[..., Outcome]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tiny random models: `llama` continues a text, `t5` answers."""
    folder, words = tmp_path_factory.mktemp("models"), train_tokenizer("word", LINES, vocab_size=40)
    marks = SpecialIds(bos=words.bos_id, eos=words.eos_id, pad=words.pad_id, start=words.pad_id)
    made = {
        "llama": Llama(LlamaConfig(vocabulary=len(words), N=2, d=16, h=2, d_ff=13, max_length=23)),
        "t5": T5(T5Config(vocabulary=len(words), N=1, d=16, h=2, d_kv=8, d_ff=13)),
    }
    torch.manual_seed(5)
    for kind, model in made.items():
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=0.8)
        save_bundle(Bundle(kind, model, words, marks), folder / kind)
    return folder


def test_a_text_goes_on(command: Command, models: Path) -> None:
    shown = command("generate", models / "llama", "the cat", "--max-new", 7)
    assert shown.code == 0
    assert shown.err == ""
    assert shown.out.startswith("the cat ")
    assert len(shown.out.split()) <= 9
    assert command("generate", models / "llama", "the cat", "--max-new", 7, "--temperature", 0).out == shown.out


def test_a_source_is_answered(command: Command, models: Path) -> None:
    shown = command("generate", models / "t5", "the cat", "--max-new", 5, "--min-new", 5, "--json")
    found = json.loads(shown.out)
    assert len(found["ids"]) == 5
    assert command("generate", models / "t5", "the cat", "--max-new", 5, "--min-new", 5).lines == [found["text"]]


def test_as_many_lines_come_out_as_go_in(command: Command, models: Path, tmp_path: Path) -> None:
    lines = ["the cat", "", "a mat", "cats and mats ,"]
    piped = command("generate", models / "llama", "--max-new", 6, stdin="\n".join(lines).encode())
    assert len(piped.lines) == len(lines)
    assert all(out.startswith(line) for line, out in zip(lines, piped.lines, strict=True))
    file = tmp_path / "prompts.txt"
    file.write_text("\n".join(lines) + "\n")
    assert command("generate", models / "llama", "--max-new", 6, "--input", file).out == piped.out
    alone = [command("generate", models / "llama", line, "--max-new", 6).lines[0] for line in lines]
    assert alone == piped.lines


def test_json_tells_everything(command: Command, models: Path) -> None:
    shown = command("generate", models / "llama", "the cat", "a", "--max-new", 6, "--samples", 2, "--json")
    found = [json.loads(line) for line in shown.lines]
    assert [(one["prompt"], one["rank"]) for one in found] == [("the cat", 1), ("the cat", 2), ("a", 1), ("a", 2)]
    assert all(one["why"] in ("end", "length") and len(one["ids"]) == len(one["tokens"]) for one in found)


def test_lots_depend_on_the_seed(command: Command, models: Path) -> None:
    drawn = [command("generate", models / "llama", "the", "--max-new", 12, "--seed", seed).out for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    three = command("generate", models / "llama", "the", "--samples", 3, "--top-p", 0.9, "--max-new", 5).lines
    assert [line.split("\t")[0] for line in three] == ["1", "2", "3"]
    narrow = command("generate", models / "llama", "the", "--top-p", 0, "--max-new", 9)
    assert narrow.out == command("generate", models / "llama", "the", "--max-new", 9).out


def test_a_stream_shows_the_same(command: Command, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = command("generate", models / "llama", "the cat", "--max-new", 9).out
    assert command("generate", models / "llama", "the cat", "--max-new", 9, "--stream").out == whole
    assert command("generate", models / "t5", "the", "--stream").out == command("generate", models / "t5", "the").out
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    assert command("generate", models / "llama", "the cat", "--max-new", 9).out == whole


def test_nothing_new_is_the_prompt(command: Command, models: Path) -> None:
    assert command("generate", models / "llama", "the cat", "--max-new", 0).out == "the cat\n"
    assert command("generate", models / "llama", "the cat", "--max-new", 0, "--stream").out == "the cat\n"


def test_what_stops_a_text_is_not_shown(command: Command, models: Path) -> None:
    whole = command("generate", models / "llama", "the cat", "--max-new", 9).lines[0]
    word = whole.split()[4]
    shown = command("generate", models / "llama", "the cat", "--max-new", 9, "--stop", f" {word}").lines[0]
    assert shown == "the cat" + whole.removeprefix("the cat").split(f" {word}")[0]


def test_texts_that_fill_the_model_are_noted(command: Command, models: Path) -> None:
    shown = command("generate", models / "llama", "the cat", "--max-new", 99, "--min-new", 99, "--json")
    assert shown.code == 0
    assert len(json.loads(shown.out)["ids"]) == 22
    assert "Note: 1 text ended at the last position" in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["the", "--beam", 2, "--seed", 1], "--seed is for sampling, --beam for a search"),
        (["the", "--temperature", 0, "--samples", 2], "--temperature 0 does not sample"),
        (["the", "a", "--stream"], "--stream shows one text"),
        (["the", "--min-new", 5, "--max-new", 3], "min_new = 5 is more than max_new = 3"),
        (["the", "--stop", ""], "empty stop text"),
        ([" ".join(["the"] * 24)], "The text has 24 tokens; this model reads at most 23"),
        (["the", " ".join(["the"] * 24)], "Text 2: The text has 24 tokens"),
    ],
)
def test_impossible_options_are_refused_in_one_line(
    command: Command, models: Path, arguments: list[object], message: str
) -> None:
    shown = command("generate", models / "llama", *arguments)
    assert shown.code == 2
    assert shown.out == ""
    assert message in shown.err
    assert len(shown.err.strip().splitlines()) == 1


def test_other_folders_are_refused(command: Command, models: Path, tmp_path: Path) -> None:
    assert "no such folder" in command("generate", tmp_path / "gone", "the").err
    assert "is not a model" in command("generate", tmp_path, "the").err
    assert "and --input; give one" in command("generate", models / "llama", "the", "--input", tmp_path / "x").err


def test_translators_answer_too(command: Command, trained: Path) -> None:
    expected = command("translate", trained, "the dog eats bread.", "--beam", 1).out
    assert command("generate", trained, "the dog eats bread.").out == expected


def test_a_model_of_llama2c_is_imported_and_tells_what_numpy_tells(command: Command, tmp_path: Path) -> None:
    content = model_bytes()
    write(tmp_path, content, packed=True)
    imported = command("import", tmp_path / "story.bin.xz", "--out", tmp_path / "model")
    assert imported.code == 0
    assert "llama" in imported.out
    prompt = NumpyVocabulary(vocabulary_bytes(pieces()), len(pieces())).encode("banana")
    expected, _ = NumpyLlama(content).greedy(prompt, 9)
    for folder in (tmp_path / "model", tmp_path / "story.bin.xz"):
        found = json.loads(command("generate", folder, "banana", "--max-new", 9, "--json").out)
        assert found["ids"] == expected[: len(found["ids"])]


def test_the_help_teaches_by_example(command: Command) -> None:
    shown = command("generate", "--help").out
    assert "Once upon a time" in shown
    assert "--repetition-penalty" in shown
