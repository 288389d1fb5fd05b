"""Language models of source code: files are read and split whole, white space is kept, lines are completed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.evaluate.code import LineToComplete
from glassformer.tasks.code_measures import row_of, whole_texts
from glassformer.tasks.evaluating import open_trained, read_examples
from glassformer.training.watching import Silent

LINE = "def name(self):\n\treturn  self.value_of_name\n\n\n"
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that knows one function, which every file repeats."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "src" / "inner").mkdir(parents=True)
    for number in range(24):
        place = folder / "src" / ("inner" if number % 2 else "") / f"file{number}.py"
        place.write_text(f"number = {number}\n" + 6 * LINE)
    (folder / "held.py").write_text("number = 77\n" + 5 * LINE)
    gf.train(
        task="generate",
        data={"files": str(folder / "src"), "max_tokens": 48},
        text={"kind": "bpe", "vocab_size": 300, "normalization": "none"},
        model={"kind": "llama", "N": 1, "d": 32, "h": 2, "kv_heads": 2, "d_ff": 48, "dropout": 0.0},
        train={"steps": 120, "batch_tokens": 512, "lr": 1e-2, "valid_every": 60, "threads": 1, "device": "cpu"},
        out=folder / "run",
    )
    return folder


def test_white_space_is_kept_exactly(code: Path) -> None:
    text = "\tif x:\n\t\treturn  1   \n\n\n  e\u0301\x0c\n"
    tokenizer = gf.load(code / "run").tokenizer
    assert tokenizer.decode(tokenizer.encode(text)) == text
    examples = read_examples(open_trained(code / "run"), [str(code / "held.py")], Silent())
    assert whole_texts(examples) == [(code / "held.py").read_text()]


def test_whole_files_are_held_out(code: Path) -> None:
    recipe = open_trained(code / "run").setup.recipe
    from glassformer.tasks.language_modelling import LanguageModelling

    material = LanguageModelling().read(recipe, Silent())
    assert len({text for text, _, _ in material.valid}) == len(material.valid) > 0
    assert all(text.startswith("number = ") for text, _, _ in material.valid)


def test_lines_are_completed_and_samples_parse(code: Path, command: Command) -> None:
    found = command("evaluate", code / "run", code / "held.py", "--parses", "python", "--complete-lines", 10, "--json")
    assert found.code == 0, found.err
    scores = {one["key"]: one for one in json.loads(found.out)}
    assert scores["lines"]["value"] >= 80
    assert scores["lines"]["sentences"] == 5  # the other lines have no second half
    assert scores["parses"]["value"] >= 50
    assert scores["parses"]["low"] <= scores["parses"]["value"] <= scores["parses"]["high"]


def test_the_context_is_the_end_of_the_text_and_fits(code: Path) -> None:
    model = gf.load(code / "run")
    space = max(1, model.model.config.max_length - 48)
    text = "x" + 900 * " " + 100 * LINE  # also few tokens for many characters
    for split in (len(text), 1000):
        assert row_of(model, LineToComplete(text, split, split)) == model.tokenizer.encode(text[:split])[-space:]
    assert row_of(model, LineToComplete("def", 3, 3))[0] == model.bundle.marks.bos


def test_wrong_uses_are_refused(code: Path, trained: Path, command: Command) -> None:
    unknown = command("evaluate", code / "run", code / "held.py", "--parses", "cobol")
    assert unknown.code == 2
    assert "--parses cobol: not known. Allowed: python." in unknown.err
    refused = command("evaluate", trained, "--complete-lines", 5)
    assert refused.code == 2
    assert "are for language models" in refused.err
