"""The demo keeps its promises (minutes long), and the README names only commands that exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from glassformer.cli.demo import SENTENCES
from glassformer.cli.main import app
from glassformer.cli.recipes import recipe_named
from glassformer.config import validate
from glassformer.store.run import RunFolder
from glassformer.tasks.translation import TranslationRecipe, load, train_translator

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.long
def test_the_demo_reaches_what_it_promises(tmp_path: Path) -> None:
    train_translator(validate(TranslationRecipe, recipe_named(Path("demo"))), tmp_path / "demo")
    measured = RunFolder(tmp_path / "demo").metrics()[-1]
    assert measured["measured"]["exact"] >= 95
    assert measured["measured"]["bleu"] >= 97
    assert measured["alignment"]["test_error"] <= 0.25
    translations = load(tmp_path / "demo").translate(SENTENCES)
    assert translations[0] == "Ich habe einen Apfel gegessen."
    assert len(set(translations)) == len(SENTENCES) == 10


def test_the_demo_recipe_is_valid_and_uses_the_built_in_corpus() -> None:
    assert validate(TranslationRecipe, recipe_named(Path("demo"))).data.corpus == "phrasebook"


def test_the_readme_names_only_commands_that_exist() -> None:
    known = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"(?:^ +|`|\| |\$ )glassformer ([a-z]+)", README.read_text(encoding="utf-8"), flags=re.M))
    assert {"train", "translate", "evaluate", "explain"} <= named <= known


def test_the_demo_refuses_a_folder_that_holds_another_run(trained: Path, command: Callable[..., Any]) -> None:
    outcome = command("demo", "--out", trained)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    assert "was started with different settings" in outcome.err
