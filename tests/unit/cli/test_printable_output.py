"""Text of users' in the tables of the command line: nothing in it acts on the terminal or turns the text around it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from glassformer.cli import comparing
from glassformer.cli.display import StageDisplay
from glassformer.cli.images import classes_line
from glassformer.cli.main import app
from glassformer.decode.tree import ROOT
from glassformer.explain.beam_tree import Beginning, run_line
from glassformer.printable import printable_lines
from glassformer.tasks.guesses import Guess
from glassformer.text import train_tokenizer

HOSTILE = "a\u202eb\x1b]0;owned\x07\u2066c"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_names_of_stages(capsys: pytest.CaptureFixture[str]) -> None:
    StageDisplay().on_stage(f"reading {HOSTILE}")
    assert not ACTS.search(capsys.readouterr().err)


def test_pieces_of_a_tokenizer(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    train_tokenizer("char", [HOSTILE] * 3, vocab_size=50).save(file)
    for verb in ("encode", "trace"):
        told = CliRunner().invoke(app, ["tokenizer", verb, str(file), HOSTILE], color=True)
        assert told.exit_code == 0
        assert not ACTS.search(told.output), verb


def test_classes_trees_and_comparisons() -> None:
    one = Beginning(1, ROOT, HOSTILE, 0.5, -0.7, ended=True, best=True)
    lines = [classes_line(HOSTILE, [Guess(0, HOSTILE, 0.5)], as_json=False), run_line([one], dropped=False).plain]
    lines += [printable_lines(line) for line in comparing.table([["", HOSTILE], ["train.lr", HOSTILE]])]
    for line in lines:
        assert not ACTS.search(line.replace("\t", "")), line
