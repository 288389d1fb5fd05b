"""`glassformer corpora`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from glassformer.data import statcan
from glassformer.data.corpora import CORPORA

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


def test_it_explains_itself_with_an_example(command: Command) -> None:
    assert re.search(r"Examples.*glassformer corpora", command("corpora", "--help").out, re.DOTALL)
    assert "corpora" in command("--help").out


def test_looking_them_up_is_quick_work() -> None:
    code = "import sys, glassformer.data.corpora; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
