"""`glassformer corpora`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.data import statcan
from glassformer.data.corpora import CORPORA
from glassformer.data.phrasebook import phrasebook

Command = Callable[..., Any]


@pytest.mark.parametrize("installed", [True, False])
def test_the_list_says_all_one_needs(command: Command, monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    monkeypatch.setattr(statcan, "folder", lambda: "somewhere" if installed else None)
    outcome = command("corpora")
    assert (outcome.code, outcome.err) == (0, "")
    shown = [" ".join(line.split()) for line in outcome.lines]
    assert "phrasebook en-de, any number of pairs, here" in shown
    assert f"statcan en-fr, 23,719 pairs, {'here' if installed else 'not here yet'}" in shown
    for card in CORPORA.values():
        for text in (card.licence, card.about, card.get, card.train_command):
            assert any(line.endswith(text) for line in shown)


def test_as_json_it_is_a_list_of_cards(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statcan, "folder", lambda: None)
    cards = {card["name"]: card for card in json.loads(command("corpora", "--json").out)}
    assert list(cards) == list(CORPORA)
    assert cards["phrasebook"]["here"] is True
    assert cards["phrasebook"]["pairs"] is None
    assert (cards["statcan"]["source"], cards["statcan"]["target"]) == ("en", "fr")
    assert cards["statcan"]["here"] is False
    assert cards["statcan"]["get"] == "pip install --no-deps statcan-dialogue-dataset"
    assert cards["statcan"]["train"] == "glassformer train --corpus statcan --out runs/statcan"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A phrasebook that is drawn quickly."""
    draw = lambda *, source, target, **_: phrasebook(source=source, target=target, train=60, valid=0, test=0)  # noqa: E731
    monkeypatch.setattr("glassformer.data.phrasebook.phrasebook", draw)


@pytest.mark.usefixtures("small")
def test_the_pairs_of_a_phrasebook_are_a_table(command: Command, tmp_path: Path) -> None:
    lines = command("corpora", "phrasebook", "--to", "hi").lines
    assert len(lines) == 60
    assert lines[0] == "I ate an apple.\tमैंने एक सेब खाया।"
    turned = command("corpora", "phrasebook", "--from-language", "hi").lines
    assert turned[0] == "मैंने एक सेब खाया।\tI ate an apple."
    out = tmp_path / "pairs.tsv"
    assert command("corpora", "phrasebook-en-it", "--out", out).code == 0
    assert out.read_text(encoding="utf-8").startswith("I ate an apple.\tHo mangiato una mela.\n")
    again = command("corpora", "phrasebook-en-it", "--out", out)
    assert again.code == 2
    assert "already exists" in again.err


@pytest.mark.usefixtures("small")
def test_the_pairs_as_json_have_all_translations(command: Command) -> None:
    first = json.loads(command("corpora", "phrasebook", "--json").lines[0])
    assert first == {
        "source": "I ate an apple.",
        "references": ["Ich habe einen Apfel gegessen."],
    }


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("statcan", "--to", "it"), "statcan has languages of its own"),
        (("phrasebook", "--to", "fr"), "no phrasebook en-fr"),
        (("phrasebok",), "Did you mean phrasebook"),
        (("--out", "pairs.tsv"), "needs the name of a corpus"),
    ],
)
def test_what_cannot_be_written_is_reported(command: Command, words: tuple[str, ...], told: str) -> None:
    outcome = command("corpora", *words)
    assert outcome.code == 2
    assert told in " ".join(outcome.err.split())


def test_it_explains_itself_with_an_example(command: Command) -> None:
    assert re.search(r"Examples.*glassformer corpora", command("corpora", "--help").out, re.DOTALL)
    assert "corpora" in command("--help").out


def test_looking_them_up_is_quick_work() -> None:
    code = "import sys, glassformer.data.corpora; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
