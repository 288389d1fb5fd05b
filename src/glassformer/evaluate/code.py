"""Measures of source code: does a text parse, and how a line is split to be completed. Only text; no model."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

FEWEST = 12  # characters of a line, without its indentation, that is worth completing
WORD_END = re.compile(r"(?<=\w)(?!\w)")  # places where a word ends


def lines_in(text: str) -> list[str]:
    """The lines with their ends. Only a line feed ends a line: a form feed in a source file does not."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def finished_part(text: str) -> str:
    """The text up to its last line that begins at the margin: what follows may be cut off by the length limit."""
    lines = lines_in(text)
    starts = [i for i, line in enumerate(lines) if line[:1] not in ("", " ", "\t", "\n", "\r", ")", "]", "}")]
    return "".join(lines[: starts[-1]]) if starts else ""


def parses_as_python(text: str) -> bool:
    """Whether the finished part of a text is Python, with at least one statement."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes in strings
        try:
            return bool(ast.parse(finished_part(text)).body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False


PARSERS: dict[str, Callable[[str], bool]] = {"python": parses_as_python}


def halves(line: str) -> tuple[str, str] | None:
    """A line, without its end, as the part that is given and the part to write; None if it is too short.

    It is split where a word ends, at the middle of what follows the indentation or after it: a vocabulary of pieces
    then has no piece on both sides.
    """
    body = line.strip()
    if len(body) < FEWEST:
        return None
    middle = line.index(body) + len(body) // 2
    place = next((found.start() for found in WORD_END.finditer(line) if found.start() >= middle), len(line))
    return (line[:place], line[place:]) if line[place:].strip() else None


class LineToComplete(NamedTuple):
    """A long line as places in its text: no copy of what comes before it."""

    text: str
    split: int  # where its second half begins
    end: int

    @property
    def rest(self) -> str:
        """What is to be written."""
        return self.text[self.split : self.end]

    def given(self, most: int) -> str:
        """The text before the line and its first half, or the last `most` characters of that."""
        return self.text[max(0, self.split - most) : self.split]


def lines_to_complete(texts: Sequence[str]) -> list[LineToComplete]:
    """Every long line."""
    found = []
    for text in texts:
        begins = 0
        for line in lines_in(text):
            if parts := halves(line.rstrip("\r\n")):
                split = begins + len(parts[0])
                found.append(LineToComplete(text, split, split + len(parts[1])))
            begins += len(line)
    return found
