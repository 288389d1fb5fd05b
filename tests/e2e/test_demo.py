"""The demo keeps its promises (minutes long), and the README names only commands that exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from glassformer.cli.demo import SENTENCES, demo_recipe, show_sentences, write_page
from glassformer.cli.main import app
from glassformer.cli.recipes import recipe_named
from glassformer.config import validate
from glassformer.data.phrasebook import document_sentences
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
    phrases = document_sentences()
    found = load(tmp_path / "demo").translate([phrase.source for phrase in phrases])
    wrong = [text for phrase, text in zip(phrases, found, strict=True) if text not in phrase.references]
    assert wrong == []


class Given:
    """A translator that knows its sentences by heart, all but one."""

    def __init__(self, known: dict[str, str]) -> None:
        self.known = known

    def translate(self, texts: Sequence[str]) -> list[str]:
        return [self.known.get(text, "?") for text in texts]


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("en", "hi"), ("it", "en")])
def test_the_demo_shows_the_documents_sentences_and_which_are_right(source: str, target: str) -> None:
    phrases = document_sentences(source=source, target=target)
    known = {phrase.source: phrase.references[-1] for phrase in phrases[1:]}
    console = Console(record=True, width=200, file=StringIO())
    opened = show_sentences(console, Given(known), source, target)  # type: ignore[arg-type]
    shown = console.export_text()
    assert opened == phrases[0].source
    assert f"{len(phrases) - 1} of {len(phrases)} are correct" in shown
    assert shown.count("✗") == 1
    assert ("Ten sentences" in shown) == (target == "de")


@pytest.mark.parametrize("words", [("--to", "fr"), ("--from-language", "de", "--to", "it"), ("--to", "en")])
def test_languages_that_the_demo_does_not_have(
    words: tuple[str, ...], command: Callable[..., Any], tmp_path: Path
) -> None:
    outcome = command("demo", "--out", tmp_path / "demo", *words)
    assert outcome.code == 2
    assert "Available (source-target): en-de, en-it" in " ".join(outcome.err.split())
    assert not (tmp_path / "demo").exists()


def test_the_demo_recipe_of_another_language_differs_in_its_corpus_only() -> None:
    german, hindi = demo_recipe("phrasebook"), demo_recipe("phrasebook-en-hi")
    assert hindi.data.corpus == "phrasebook-en-hi"
    assert hindi.model_copy(update={"data": german.data}) == german


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


def test_the_demo_ends_with_a_page_that_its_report_links_to(run_copy: Path) -> None:
    run = RunFolder(run_copy)
    for _ in range(2):  # a demo that is run again changes nothing
        assert write_page(load(run_copy).explain("a dog sees the boy."), run) == run_copy / "glass.html"
    assert (run_copy / "glass.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run.report().count('<a href="glass.html">') == 1
