"""The engine knows no task and no metric, and nothing grows too large to read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import glassformer
from glassformer.cli.training import TASK_HELP
from glassformer.tasks.registry import TASKS, task_named

SOURCE = Path(glassformer.__file__).parent
NO_METRIC = ("training", "store", "cli", "explain")
NO_TASK = ("training", "store", "evaluate")
METRICS = sorted({name for task in TASKS for one in task_named(task).metrics for name in (one.key, one.label)})
VERBS_OF_OTHERS = {"generate", "exact", "fill"}  # words with another use: a search generates, a size fills in others
OTHER_MEANING = {"explain/lessons/norm.py": {"f1", "F1"}}  # there it is the name of a feature

MOST_LINES, MOST_IN_FUNCTION = 350, 50
LONG_FILES = {
    "data/phrasebook/constructions.py": "a grammar: one short function for each construction",
    "data/phrasebook/facts.py": "tables of words",
    "data/phrasebook/sentences.py": "tables of words and what can be said about them",
}
LONG_FUNCTIONS = {  # a command lists its options with their help in its signature
    "cli/checking.py": {"clean"},
    "cli/evaluating.py": {"evaluate"},
    "cli/generating.py": {"generate"},
    "cli/training.py": {"train"},
    "cli/translating.py": {"translate"},
}


def files(*packages: str, ending: str = "py") -> list[Path]:
    found = [path for package in packages for path in (SOURCE / package).rglob(f"*.{ending}")]
    return sorted(found)


def names_in(source: str) -> Iterator[tuple[int, str]]:
    """Every identifier and every string that a program computes with, with its line; docstrings are left out."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Name):
            yield line, node.id
        elif isinstance(node, ast.Attribute):
            yield line, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.alias):
            yield line, node.name
        elif isinstance(node, ast.arg | ast.keyword):
            yield line, node.arg or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield line, node.value


def mentions(words: list[str], text: str) -> list[str]:
    """The words that a name or string contains as a whole: valid_bleu contains bleu, but comparable not part of it."""
    flat = re.sub(r"[^a-z0-9]+", " ", text.lower())
    return [word for word in words if re.search(rf"\b{re.escape(re.sub('[^a-z0-9]+', ' ', word.lower()))}\b", flat)]


@pytest.mark.parametrize("path", files(*NO_METRIC), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_metric_is_named(path: Path) -> None:
    other = OTHER_MEANING.get(path.relative_to(SOURCE).as_posix(), set())
    words = [word for word in METRICS if word not in VERBS_OF_OTHERS | other]
    found = [(line, name) for line, name in names_in(path.read_text(encoding="utf-8")) if mentions(words, name)]
    assert found == []


@pytest.mark.parametrize("path", files("explain/assets", ending="js"), ids=lambda path: path.name)
def test_no_script_of_the_page_names_a_metric(path: Path) -> None:
    words = [word for word in METRICS if word not in VERBS_OF_OTHERS]
    assert mentions(words, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", files(*NO_TASK), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_task_is_named(path: Path) -> None:
    words = [task for task in TASKS if task not in VERBS_OF_OTHERS]
    modules = [TASKS[task][0].removeprefix("glassformer.tasks.").split(".")[0] for task in TASKS]
    classes = [TASKS[task][1] for task in TASKS]
    for line, name in names_in(path.read_text(encoding="utf-8")):
        assert not mentions(words, name), (line, name)
        assert name not in classes, (line, name)
        assert not any(f"tasks.{module}" in name for module in modules), (line, name)


def test_the_help_names_every_task() -> None:
    assert all(task in TASK_HELP for task in TASKS)


def test_the_search_for_names_finds_them() -> None:
    source = 'def run(valid_bleu):\n    """bleu"""\n    return scores["chrF"], one.accuracy, comparable_f1x\n'
    found = [name for _, name in names_in(source) if mentions(["bleu", "chrF", "accuracy", "f1"], name)]
    assert sorted(found) == ["accuracy", "chrF", "valid_bleu"]


def test_no_file_is_too_long() -> None:
    long = {
        path.relative_to(SOURCE).as_posix(): count
        for path in SOURCE.rglob("*.py")
        if (count := path.read_text(encoding="utf-8").count("\n")) > MOST_LINES
    }
    assert {name: count for name, count in long.items() if name not in LONG_FILES} == {}
    assert set(LONG_FILES) == set(long), "a file that is short again needs no exception"


def test_no_function_is_too_long() -> None:
    long: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= MOST_IN_FUNCTION:
                long.setdefault(path.relative_to(SOURCE).as_posix(), set()).add(node.name)
    assert long == LONG_FUNCTIONS
