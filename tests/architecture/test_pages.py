"""What the pages name exists: commands and flags, files, links, settings, Python names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer.main

import glassformer
from glassformer.cli.main import app
from glassformer.config import walk
from glassformer.tasks.registry import TASKS, task_named

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
IDS = [page.name for page in PAGES]
HISTORY = {"CHANGELOG.md"}  # may name what is gone
MOVED_FILES_NOT_YET = {"ARCHITECTURE.md"}  # still names modules by their old places
FILE_ENDINGS = (".de", ".en", ".py", ".safetensors", ".tsv")  # `train.en` is a file, not a setting
APP = typer.main.get_command(app)


@pytest.fixture(params=PAGES, ids=IDS)
def page(request: pytest.FixtureRequest) -> str:
    path = Path(request.param)
    if path.name in HISTORY:
        pytest.skip("a history may name what is gone")
    return path.read_text(encoding="utf-8")


# Commands


def commands_in(text: str) -> Iterator[str]:
    """Lines of code blocks and code spans that run glassformer, without comments and pipes."""
    for match in re.finditer(r"(?:^ {4}|^\$ |`|\| )(?:.*-m )?(glassformer [a-z][^`\n]*)", text, re.MULTILINE):
        yield re.split(r" +#| \| | > |;", match[1])[0]


def unknown_parts(command: str) -> list[str]:
    """The verb, if there is no such verb, or the flags that it does not have."""
    words = shlex.split(command.replace("...", "").replace("[--", "--").replace("]", ""))[1:]
    known: click.Command = APP
    while words and words[0] in getattr(known, "commands", {}):
        known = known.commands[words.pop(0)]  # type: ignore[attr-defined]
    if known is APP and words and not words[0].startswith("-"):
        return words[:1]
    flags = {flag for parameter in known.params for flag in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    return [word for word in words if word.startswith("--") and word.partition("=")[0] not in flags]


def test_commands_and_flags_exist(page: str) -> None:
    wrong = {command: parts for command in commands_in(page) if (parts := unknown_parts(command))}
    assert wrong == {}


def test_unknown_commands_and_flags_are_found() -> None:
    page = (
        "text `glassformer translat x`\n\n    glassformer train --budgets 3m  # --no\n\n$ glassformer show x --json\n"
    )
    assert [unknown_parts(command) for command in commands_in(page)][:2] == [["translat"], ["--budgets"]]
    assert len(list(commands_in(page))) == 3


# Files and links


def missing_files(text: str) -> list[str]:
    """Files of the project in code spans that do not exist; the beginning of a path may be left out."""
    spans = re.findall(r"`((?:[\w-]+/)*[\w*-]+\.(?:py|c|h|toml|md))`", text)
    return sorted({span for span in spans if not any(known(span))})


def known(span: str) -> Iterator[bool]:
    yield span in {"config.toml", "recipe.toml"}  # of a run, of a user
    for folder in ("", "src/glassformer/", "docs/"):
        yield any(ROOT.glob(folder + span))
    yield any((ROOT / "src" / "glassformer").rglob(span))


@pytest.mark.parametrize(
    "path", [page for page in PAGES if page.name not in HISTORY | MOVED_FILES_NOT_YET], ids=lambda path: path.name
)
def test_files_exist(path: Path) -> None:
    assert missing_files(path.read_text(encoding="utf-8")) == []


def test_missing_files_are_found() -> None:
    assert missing_files("`nn/taps.py`, `nn/tapes_of.py`, `taps.py` and `tests/numerics/test_against_*.py`") == [
        "nn/tapes_of.py"
    ]


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(text: str, folder: Path) -> list[str]:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        path = folder / file
        if "://" in target:
            continue
        if file and not path.exists():
            broken.append(target)
        elif anchor and not anchor.startswith("L"):
            whole = path.read_text(encoding="utf-8") if file else text
            broken += [target] if anchor not in anchors(whole) else []
    return broken


@pytest.mark.parametrize("path", PAGES, ids=IDS)
def test_links_lead_somewhere(path: Path) -> None:
    assert broken_links(path.read_text(encoding="utf-8"), path.parent) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One title: here\n", encoding="utf-8")
    text = "# Top\n[x](a.md) [x](b.md) [x](a.md#one-title-here) [x](a.md#two) [x](#top) [x](#end)\n"
    assert broken_links(text, tmp_path) == ["b.md", "a.md#two", "#end"]


# Settings and Python names


def unknown_settings(text: str) -> list[str]:
    known = {name for task in TASKS for name, _ in walk(task_named(task).recipe)}
    named = re.findall(r"(?:`|--set )((?:train|data|text|model|decode)\.[a-z_0-9]+)(?=[`= ])", text)
    return [name for name in named if name not in known and not name.endswith(FILE_ENDINGS)]


def test_settings_exist(page: str) -> None:
    assert unknown_settings(page) == []


def test_unknown_settings_are_found() -> None:
    assert unknown_settings("`train.lr`, `train.rate = 3`, `--set decode.alfa=1`") == ["train.rate", "decode.alfa"]


def test_python_names_exist(page: str) -> None:
    assert [name for name in re.findall(r"\bgf\.(\w+)", page) if not hasattr(glassformer, name)] == []
