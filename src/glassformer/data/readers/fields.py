"""Chosen fields of each row of a TSV, CSV or JSON-lines file: one text for language models, or texts and a label."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from glassformer.data.readers.columns import HOPELESS
from glassformer.data.readers.csv_rows import Row, csv_rows, sniff_delimiter
from glassformer.data.readers.json_lines import not_json_lines, value_of
from glassformer.data.readers.lines import lines_of
from glassformer.data.readers.opening import STDIN, blocks_of, shown
from glassformer.data.readers.records import Place, Problem
from glassformer.data.readers.roles import Chosen, Roles, choose_keys, choose_places
from glassformer.data.readers.sentences import UNUSABLE, escape_flaw
from glassformer.errors import DataError

PEEK = 1000  # rows that determine delimiter, header and columns
FIRST = 20  # rows that show whether a table has one of the usual layouts
OnRead = Callable[[int], None] | None


@dataclass(slots=True)
class Fields:
    """The chosen fields of one row, as they are in the file. A row with a `problem` cannot be used."""

    texts: tuple[str, ...]
    place: Place
    problem: Problem | None = None
    notes: tuple[Problem, ...] = ()


def read_fields(path: Path, kind: str, roles: Roles, *, on_read: OnRead = None) -> Iterator[Fields]:
    """One record for each row. A row with an unusual number of columns is a problem; its fields are not guessed."""
    if kind == "jsonl":
        return _read_objects(path, roles, on_read)
    return _read_table(path, kind, roles, on_read)


def first_rows(path: Path, kind: str) -> list[list[str]]:
    """The first cells of a table, or the keys of the first JSON object, to see which columns it has."""
    if path == STDIN:  # it can be read only once
        return []
    if kind == "jsonl":
        line = next((line for line in lines_of(blocks_of(path), path) if line[0].strip()), None)
        value = None if line is None else value_of(line, Place(shown(path), 1, 0))[0]
        return [list(value)] if isinstance(value, dict) else []
    found = islice((row for row in table_rows(path, kind) if row.problem is None and any(row.cells)), FIRST)
    return [row.cells for row in found]


def _read_table(path: Path, kind: str, roles: Roles, on_read: OnRead) -> Iterator[Fields]:
    name, rows = shown(path), table_rows(path, kind, on_read)
    peek = list(islice(rows, PEEK))
    filled = [row for row in peek if row.problem is None and any(cell.strip() for cell in row.cells)]
    if not filled:
        yield from (_unusable(row) for row in chain(peek, rows))
        return
    chosen = choose_places([row.cells for row in filled], name, roles)
    width = Counter(len(row.cells) for row in filled).most_common(1)[0][0]
    if width <= max(chosen.places):
        raise DataError(
            f"{name}: most of its first {len(filled):,} rows have {width} column{'s' * (width > 1)}, but column "
            f"{max(chosen.places) + 1} was requested. Choose other columns with --columns."
        )
    header = filled[0] if chosen.header else None
    for row in chain(peek, rows):
        yield _header(row, chosen) if row is header else _fields(row, chosen, width)


def table_rows(path: Path, kind: str, on_read: OnRead = None) -> Iterator[Row]:
    """The rows of a TSV or CSV file."""
    name, lines = shown(path), lines_of(blocks_of(path, on_read=on_read), path)
    if kind == "tsv":
        numbered = enumerate(lines, 1)
        return (Row(text.split("\t"), Place(name, number, byte), odd) for number, (text, byte, odd) in numbered)
    peek = list(islice(lines, PEEK))
    return csv_rows(chain(peek, lines), sniff_delimiter([text for text, _, _ in peek]), name)


def _fields(row: Row, chosen: Chosen, width: int) -> Fields:
    cells = row.cells
    if row.problem is not None or len(cells) != width or row.oddities:
        return _odd(row, chosen, width)
    return Fields(tuple([cells[place] for place in chosen.places]), row.place)


def _odd(row: Row, chosen: Chosen, width: int) -> Fields:
    """A row with a problem or a note."""
    problem = row.problem or next((odd for odd in row.oddities if odd.kind in UNUSABLE), None)
    if problem is None and not any(cell.strip() for cell in row.cells):
        return _unusable(row)
    if problem is None and len(row.cells) != width:
        got = f"{len(row.cells)} column{'s' * (len(row.cells) != 1)}"
        problem = Problem("columns", f"got {got}, need {width}: {row.cells[0].strip()[:40]!r}", row.place)
    texts = tuple(row.cells[place] if place < len(row.cells) else "" for place in chosen.places)
    return Fields(texts, row.place, problem, tuple(odd for odd in row.oddities if odd.kind not in UNUSABLE))


def _unusable(row: Row) -> Fields:
    problem = row.problem or next((odd for odd in row.oddities if odd.kind in UNUSABLE), None)
    return Fields((), row.place, problem or Problem("blank", "a blank row", row.place))


def _header(row: Row, chosen: Chosen) -> Fields:
    texts = tuple(row.cells[place] for place in chosen.places)
    notes = tuple(odd for odd in row.oddities if odd.kind == "bom")
    return Fields(texts, row.place, Problem("header", "the header of the table", row.place), notes)


def _read_objects(path: Path, roles: Roles, on_read: OnRead) -> Iterator[Fields]:
    name = shown(path)
    keys: tuple[str | int, ...] | None = None
    number = misses = filled = 0
    for number, line in enumerate(lines_of(blocks_of(path, on_read=on_read), path), 1):
        place = Place(name, number, line[1])
        value, problem = value_of(line, place)
        if problem is not None:
            misses, filled = misses + 1, filled + bool(line[0].strip())
            if misses == number == HOPELESS and filled:
                raise not_json_lines(name, number, shapes=roles.shape)
            yield Fields((), place, Problem("blank", "a blank line", place) if problem.kind == "blank" else problem)
            continue
        if keys is None:
            keys = choose_keys(value, str(place), roles)
        notes = tuple(odd for odd in line[2] if odd.kind not in UNUSABLE)
        yield _object_fields(value, keys, place, notes, has_label=roles.has_label)
    if misses == number and filled:
        raise not_json_lines(name, number, shapes=roles.shape)


def _object_fields(
    value: Any, keys: Sequence[str | int], place: Place, notes: tuple[Problem, ...], *, has_label: bool
) -> Fields:
    texts: list[str] = []
    for at, key in enumerate(keys):
        is_label = has_label and at == len(keys) - 1
        found = _member(value, key)
        if is_label and isinstance(found, bool | int | float):
            found = json.dumps(found)
        if not isinstance(found, str):
            shown_key = f"item {key + 1}" if isinstance(key, int) else repr(key)
            problem = Problem("json", f"no text at {shown_key}: got {_what(found)}", place)
            return Fields(tuple(texts), place, problem, notes)
        if flaw := escape_flaw(found, place):
            return Fields(tuple(texts), place, flaw, notes)
        texts.append(found)
    return Fields(tuple(texts), place, None, notes)


def _member(value: Any, key: str | int) -> Any:
    if isinstance(key, int):
        return value[key] if isinstance(value, list) and key < len(value) else None
    return value.get(key) if isinstance(value, dict) else None


def _what(value: Any) -> str:
    if value is None:
        return "nothing"
    return "an object" if isinstance(value, dict) else "an array" if isinstance(value, list) else json.dumps(value)
