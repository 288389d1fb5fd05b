"""The small parts of the command line."""

from __future__ import annotations

import io
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli.evaluating import evaluation_set
from glassformer.cli.outputs import check_new_file
from glassformer.cli.recipes import recipe_named, shipped_recipes, which_recipe
from glassformer.cli.translating import sentence_chunks, stdin_blocks, translation_line
from glassformer.config import validate
from glassformer.data.settings import DataSettings
from glassformer.errors import DataError, SettingsError
from glassformer.tasks.registry import task_named
from glassformer.tasks.translation import Translation, TranslationRecipe

OPTION = Translation("zwei\nZeilen", -0.5, -1.0, ("zwei", "Zeilen"), (-0.5, -0.5), finished=True)


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_only_a_line_feed_ends_a_line_of_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, "a\u2028b\r\nc\x0cd\n\ne".encode())
    assert [line for block in stdin_blocks() for line in block] == ["a\u2028b", "c\x0cd", "", "e"]


def test_a_line_longer_than_a_block_of_stdin_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "ä" * 100_000
    pipe(monkeypatch, f"a\n{long}\nb\n".encode())
    assert [line for block in stdin_blocks() for line in block] == ["a", long, "b"]


def test_a_bad_byte_in_stdin_is_reported_with_its_position(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, b"fine\nb\xe4d\n")
    with pytest.raises(DataError, match="stdin, line 2, byte 2: not UTF-8"):
        list(stdin_blocks())


def test_chunks_are_small_at_first_bounded_and_lose_nothing(tmp_path: Path) -> None:
    lines = [str(i) for i in range(2000)]
    (tmp_path / "in").write_text("\n".join(lines))
    chunks = list(sentence_chunks(None, tmp_path / "in"))
    assert [len(chunk) for chunk in chunks] == [32, 64, 128, 256, 32, 512, 512, 464]
    assert [line for chunk in chunks for line in chunk] == lines


def test_sentences_given_as_arguments_are_one_chunk() -> None:
    assert list(sentence_chunks(["a", "b"], None)) == [["a", "b"]]


def test_a_translation_is_one_line_whatever_is_in_it() -> None:
    assert translation_line("x", 1, OPTION, None, n_best=1, as_json=False) == "zwei Zeilen"
    assert translation_line("x", 2, OPTION, None, n_best=3, as_json=False) == "2\t-0.5000\tzwei Zeilen"
    assert "\n" not in translation_line("x", 1, OPTION, None, n_best=1, as_json=True)


def test_an_output_must_be_a_new_file_in_a_folder_that_is_there(tmp_path: Path) -> None:
    check_new_file(tmp_path / "new")
    (tmp_path / "old").touch()
    with pytest.raises(SettingsError, match="old already exists"):
        check_new_file(tmp_path / "old")
    with pytest.raises(SettingsError, match="there is no folder"):
        check_new_file(tmp_path / "none" / "new")
    with pytest.raises(SettingsError, match="there is no folder"):
        check_new_file(tmp_path / "old" / "new")


def test_the_demo_is_a_valid_recipe() -> None:
    recipe = validate(TranslationRecipe, recipe_named(Path("demo")))
    assert recipe.data.corpus == "phrasebook"


def test_a_built_in_corpus_and_files_together_are_refused() -> None:
    with pytest.raises(DataError, match="give one of them"):
        evaluation_set(["x"], "phrasebook", DataSettings())


@pytest.mark.parametrize("name", sorted(shipped_recipes()))
def test_every_recipe_that_comes_along_is_valid_and_says_what_it_is(name: str) -> None:
    found = recipe_named(Path(name))
    validate(task_named(found.get("task", "translate")).recipe, found)
    assert shipped_recipes()[name].startswith("# ")


def test_a_file_of_the_same_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo").write_text("[train]\nlr = 0.5\n")
    assert recipe_named(Path("demo")) == {"train": {"lr": 0.5}}
    assert which_recipe(Path("demo")).startswith("using the file demo, not the included recipe")
    assert which_recipe(Path("code")) == ""


def test_a_folder_with_the_name_of_an_included_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("code").mkdir()
    Path("code/a.py").write_text("x = 1\n")
    assert recipe_named(Path("code")) == tomllib.loads(shipped_recipes()["code"])
    refused = command("train", "code", "--data", "nothing.py", "--out", "run")
    assert refused.err.splitlines() == [
        "Note: using the included recipe code, not the folder code/ (to train on its files: --data code).",
        "· Reading the data",
        "glassformer: nothing.py: no such file. Check the name and the folder you are in.",
    ]
    Path("mine").mkdir()
    assert "mine is a folder; a recipe is a TOML file." in command("train", "mine", "--out", "run").err
