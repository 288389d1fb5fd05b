"""docs/learn.md: the commands that it shows are run, and the output must have the lines that it quotes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from glassformer.explain.lessons import LESSONS

PAGE = (Path(__file__).parents[2] / "docs" / "learn.md").read_text(encoding="utf-8")
LEFT_OUT = "[...]"

Command = Callable[..., Any]


def blocks() -> Iterator[tuple[str, list[str]]]:
    """Each shown command with the lines of its output that are quoted."""
    for block in re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL):
        first, *quoted = block.rstrip("\n").split("\n")
        yield first.removeprefix("$ "), quoted


def squeezed(text: str) -> str:
    return " ".join(text.split())


def missing(output: str, quoted: list[str]) -> list[str]:
    """The quoted lines that the output has not, in their order; without [...] between them, nothing may be between."""
    lines = [squeezed(line) for line in output.split("\n") if line.strip()]
    place, anywhere = 0, False
    for wanted in map(squeezed, quoted):
        if wanted == LEFT_OUT:
            anywhere = True
            continue
        end = len(lines) if anywhere else place + 1
        found = next((i for i in range(place, min(end, len(lines))) if lines[i] == wanted), None)
        if found is None:
            return [wanted]
        place, anywhere = found + 1, False
    return []


BLOCKS = list(blocks())


@pytest.mark.parametrize(("said", "quoted"), BLOCKS, ids=[f"{i} {said}" for i, (said, _) in enumerate(BLOCKS)])
def test_the_command_prints_what_the_page_quotes(command: Command, said: str, quoted: list[str]) -> None:
    program, *arguments = shlex.split(said)
    assert program == "glassformer"
    outcome = command(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert missing(outcome.out, quoted) == []


def test_the_page_names_every_lesson_in_the_order_of_the_story() -> None:
    listed = re.findall(r"^    glassformer lesson ([\w-]+)$", PAGE, flags=re.MULTILINE)
    assert listed == list(LESSONS)
    assert f"lists {len(LESSONS)} small lessons" in PAGE


def test_there_are_ten_questions() -> None:
    assert re.findall(r"^\*\*(\d+)\.\*\*", PAGE, flags=re.MULTILINE) == [str(i) for i in range(1, 11)]
    assert len(BLOCKS) > 20


@pytest.mark.parametrize(
    ("quoted", "gap"),
    [
        (["[...]", "b  2"], []),
        (["a 1", "b 2"], []),
        (["b 2"], ["b 2"]),
        (["[...]", "b 2", "d 4"], ["d 4"]),
        (["[...]", "b 2", "[...]", "d 4"], []),
        (["[...]", "b 3"], ["b 3"]),
    ],
)
def test_the_comparison_can_fail(quoted: list[str], gap: list[str]) -> None:
    assert missing("a   1\n\nb 2\nc 3\nd 4\n", quoted) == gap
