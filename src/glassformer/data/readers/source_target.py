"""Rows of an input and the texts to write for it: tables, or JSON lines whose values may be lists.

A list as the input is a text in sentences, one per line here. A list as the output is several references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from glassformer.data.readers.columns import HOPELESS
from glassformer.data.readers.csv_rows import csv_rows, sniff_delimiter
from glassformer.data.readers.fields import Fields, read_fields
from glassformer.data.readers.json_lines import not_json_lines, value_of
from glassformer.data.readers.lines import lines_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place, Problem
from glassformer.data.readers.roles import Roles
from glassformer.data.readers.sentences import UNUSABLE, escape_flaw
from glassformer.errors import DataError

# Usual names, the most common first.
INPUTS = ("source", "input", "src", "document", "article", "text", "question", "prompt", "context", "en")
OUTPUTS = ("target", "output", "tgt", "trg", "summary", "highlights", "abstract", "answer", "answers", "response", "de")
TASKS = ("task", "prefix", "instruction")
PEEK = 50  # rows that are looked at for a header
Columns = tuple[str, ...] | None  # input, output and perhaps the task
OnRead = Callable[[int], None] | None


def read_source_target(path: Path, kind: str, columns: Columns, *, on_read: OnRead = None) -> Iterator[Fields]:
    """One record for each row: its texts are the input and the outputs; with three columns, the task comes first."""
    if kind == "jsonl":
        yield from _read_objects(path, columns, on_read)
        return
    chosen = columns or _columns_of(path, kind)
    for row in read_fields(path, kind, Roles(chosen, has_label=False), on_read=on_read):
        if row.problem is None:
            row.texts = _ordered([one_line(text) for text in row.texts])
        yield row


def _ordered(texts: Sequence[str]) -> tuple[str, ...]:
    """The task, if there is one, before input and output."""
    return (texts[2], texts[0], texts[1]) if len(texts) == 3 else tuple(texts)


def one_line(text: str) -> str:
    """Without line breaks and repeated spaces."""
    return " ".join(text.split())


def _columns_of(path: Path, kind: str) -> tuple[str, ...]:
    """Named columns if the first row has usual names, else the two columns of the file."""
    first = next((cells for cells in _first_cells(path, kind) if any(cells)), [])
    if found := usual_names(first):
        return found
    if len(first) == 2:
        return "1", "2"
    cells = ", ".join(repr(cell[:30]) for cell in first[:12]) or "nothing"
    raise DataError(
        f"{shown(path)}: not clear which of its {len(first)} columns are input and output; the first row is {cells}. "
        "Choose them by name or number, for instance --columns source,target."
    )


def _first_cells(path: Path, kind: str) -> Iterator[list[str]]:
    lines = list(islice(lines_of(blocks_of(path), path), PEEK))
    if kind == "tsv":
        return ([cell.strip() for cell in text.split("\t")] for text, _, _ in lines)
    rows = csv_rows(iter(lines), sniff_delimiter([text for text, _, _ in lines]), shown(path))
    return ([cell.strip() for cell in row.cells] for row in rows)


def usual_names(names: Sequence[str]) -> tuple[str, str] | None:
    """The usual names of input and output among these; None if one is missing."""
    lowered = {name.casefold(): name for name in names}
    source = next((lowered[name] for name in INPUTS if name in lowered), None)
    target = next((lowered[name] for name in OUTPUTS if name in lowered), None)
    return None if source is None or target is None else (source, target)


def _read_objects(path: Path, columns: Columns, on_read: OnRead) -> Iterator[Fields]:
    name, keys = shown(path), columns
    number = misses = filled = 0
    for number, line in enumerate(lines_of(blocks_of(path, on_read=on_read), path), 1):
        place = Place(name, number, line[1])
        value, problem = value_of(line, place)
        if problem is not None:
            misses, filled = misses + 1, filled + bool(line[0].strip())
            if misses == number == HOPELESS and filled:
                break
            yield Fields((), place, Problem("blank", "a blank line", place) if problem.kind == "blank" else problem)
            continue
        keys = keys or _keys_of(value, place)
        notes = tuple(odd for odd in line[2] if odd.kind not in UNUSABLE)
        yield _object(value, keys, place, notes)
    if misses == number and filled:
        raise not_json_lines(name, number, shapes='{"source": ..., "target": ...}')


def _keys_of(value: Any, place: Place) -> tuple[str, ...]:
    if isinstance(value, dict) and (found := usual_names([str(key) for key in value])):
        return found
    keys = ", ".join(repr(str(key)[:30]) for key in list(value)[:12]) if isinstance(value, dict) else "an array"
    raise DataError(
        f"{place}: not clear which keys are input and output: {keys}. Choose them, such as --columns source,target."
    )


def _object(value: Any, keys: Sequence[str], place: Place, notes: tuple[Problem, ...]) -> Fields:
    parts: list[list[str]] = []
    for key in keys:
        found = value.get(key) if isinstance(value, dict) else None
        texts = [found] if isinstance(found, str) else found
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            return Fields((), place, Problem("json", f"no text at {key!r}", place), notes)
        if flaw := next((flaw for text in texts if (flaw := escape_flaw(text, place))), None):
            return Fields((), place, flaw, notes)
        parts.append([one_line(text) for text in texts])
    source, targets, *task = parts
    before = task[0][:1] if task else []
    return Fields((*before, "\n".join(filter(None, source)), *targets), place, None, notes)
