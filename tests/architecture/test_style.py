"""The project is written in plain English: what docs/style.md forbids is in no help text, page, message or comment."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
import typer.main

import glassformer
from glassformer.cli.main import app
from glassformer.config import Settings
from prose import (
    READERS,
    Passage,
    c_like_prose,
    findings,
    html_prose,
    line_comments,
    markdown_prose,
    problems,
    problems_of_file,
    python_prose,
    rules_of,
)

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "glassformer"
RULES = rules_of((ROOT / "docs" / "style.md").read_text(encoding="utf-8"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
SCRIPTS = [ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / "docs").glob("*.py"), *ROOT.glob("benchmarks/**/*.py")]
FILES = sorted(path.relative_to(ROOT).as_posix() for path in [*PAGES, *SCRIPTS])
PACKAGES = sorted({path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")})
DATA = (
    "data/phrasebook/",  # strings there are sentences to learn from, not sentences about the program
    "explain/glass/page.js",  # built from glass/, with the licences of what it carries
    "explain/glass/lesson.js",
)

# What still has such words, for a time. Only take names out.
FILES_NOT_YET: set[str] = set()
PACKAGES_NOT_YET: set[str] = set()
COMMANDS_NOT_YET: set[str] = set()
SETTINGS_NOT_YET: set[str] = set()


def checked(names: list[str], not_yet: set[str]) -> list[str]:
    return [name for name in names if name not in not_yet]


# Pages and scripts


@pytest.mark.parametrize("name", checked(FILES, FILES_NOT_YET))
def test_pages_and_scripts(name: str) -> None:
    assert problems_of_file(ROOT / name, RULES, name) == []


# Help


def commands(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    yield name or "glassformer", command
    for part, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {part}".strip())


COMMANDS = dict(commands(typer.main.get_command(app)))


def help_texts(command: click.Command) -> list[str]:
    options = [getattr(parameter, "help", None) for parameter in command.params]
    return [text for text in (command.help, command.short_help, command.epilog, *options) if text]


@pytest.mark.parametrize("name", checked(sorted(COMMANDS), COMMANDS_NOT_YET))
def test_help_of_commands(name: str) -> None:
    texts = help_texts(COMMANDS[name])
    assert texts
    assert problems([Passage(0, text) for text in texts], RULES, name) == []


def settings_classes() -> dict[str, type[Settings]]:
    """Every class of settings in the package, by name."""
    for module in pkgutil.walk_packages(glassformer.__path__, "glassformer."):
        if module.name.rpartition(".")[2] in {"settings", "recipe"} or ".models." in module.name:
            import_module(module.name)
    found, waiting = {}, [Settings]
    while waiting:
        inner = waiting.pop().__subclasses__()
        found |= {one.__name__: one for one in inner if one.__module__.startswith("glassformer")}
        waiting += inner
    return found


def test_help_of_settings() -> None:
    classes = settings_classes()
    assert {"DecodeSettings", "TrainSettings", "TransformerConfig"} <= set(classes)
    texts = {
        f"{name}.{key}": field.description or ""
        for name, one in classes.items()
        for key, field in one.model_fields.items()
        if name not in SETTINGS_NOT_YET
    }
    assert [line for name, text in texts.items() for line in problems([Passage(0, text)], RULES, name)] == []


# Code


def source_files(package: str) -> list[Path]:
    path = SOURCE / package
    files = path.rglob("*") if path.is_dir() else [path]
    return sorted(file for file in files if file.suffix and file.suffix in READERS)


def package_problems(package: str) -> list[str]:
    named = {path.relative_to(SOURCE).as_posix(): path for path in source_files(package)}
    return [
        line
        for name, path in named.items()
        if not name.startswith(DATA)
        for line in problems_of_file(path, RULES, name)
    ]


@pytest.mark.parametrize("package", checked(PACKAGES, PACKAGES_NOT_YET))
def test_docstrings_comments_and_messages(package: str) -> None:
    assert package_problems(package) == []


def test_recipes() -> None:
    assert [line for path in SOURCE.glob("recipes/*.toml") for line in problems_of_file(path, RULES, path.name)] == []


# The check itself


def words_found(passages: Iterator[Passage]) -> list[str]:
    return [finding.phrase for finding in findings(passages, RULES)]


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("Draw by lot instead of searching.", "by lot"),
        ("The run goes on\nfrom its checkpoint.", "goes on"),
        ("Go on with a run.", "Go on"),
        ("Of --sample: below 1 likelier words more.", "Of"),
        ("It is on disk. Of two files the first is read.", "Of"),
        ("The file stands in the folder.", "stands"),
        ("A run that was started otherwise is refused.", "otherwise"),
        ("No so many tokens twice.", "so many"),
        ("Who wants one thread says that he wants it.", "Who wants one thread says that he"),
        ("It takes some 15 ms.", "some"),
        ("docs/decoding.md tells all of it.", "tells"),
        ("p-values are made up for their number.", "made up"),
        ("The loss is no number.", "is no number"),
        ("They make the very updates of one process.", "the very"),
    ],
)
def test_it_finds(sentence: str, word: str) -> None:
    assert words_found(iter([Passage(1, sentence)])) == [word]


@pytest.mark.parametrize(
    "sentence",
    [
        "Fail if the file is missing; otherwise, read it.",
        "The cache is used if there is one, otherwise the sentences are read.",
        "Whole words unless `pattern` says otherwise.",
        "It catches typos that would otherwise cost hours.",
        "I understand the standard error.",
        "The server mentions a classroom, recommends a broom and amends a slot.",
        "Of course it works.",
        "It prints `goes on` and `by lot`.",
        "The very first step counts.",
        "Users who train on a laptop set `train.threads`; the default is fine.",
    ],
)
def test_it_raises_no_false_alarm(sentence: str) -> None:
    assert words_found(iter([Passage(1, sentence)])) == []


def test_every_rule_is_read() -> None:
    assert len(RULES) > 50
    assert all(rule.instead for rule in RULES)


def test_code_and_shown_output_in_pages_are_no_prose() -> None:
    page = """\
Plain text that stands.

    glassformer translate --wishes   # by lot, in a comment

```console
$ glassformer train   # anew
this will go on
```

| cell | it tells |
| --- | --- |
| `told` | fine |
- a list item that
  goes on
[mended](docs/mend.md), $wishes$ and `sittings`
"""
    assert words_found(markdown_prose(page)) == ["stands", "by lot", "anew", "tells", "goes on", "mended"]


def test_prose_in_python() -> None:
    source = '''\
"""A module that tells. `stands` is a name."""
goes_on = {"told": 1, "anew": 2}  # names are no prose, but this stands


def mend(room: int) -> str:
    """Nothing.

    >>> mend(room)  # stood
    """
    return f"line {room} of {goes_on} must go on" + "told"
'''
    assert sorted(words_found(python_prose(source))) == ["go on", "stands", "tells"]


def test_prose_in_other_files() -> None:
    script = 'const stood = "told"; // it stands\n/* made\nanew */ say(`it goes on to ${told}`, "a word told");'
    assert words_found(c_like_prose(script)) == ["stands", "anew", "goes on", "told"]
    assert words_found(line_comments("told = 1  # by lot\nhelp:  ## write it anew\n")) == ["by lot", "anew"]
    assert words_found(html_prose("<p id='told'>it stands</p><script>told</script>")) == ["stands"]
