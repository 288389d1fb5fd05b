"""Tables to fill in: finds the cells that translations replace. Columns and rows are read as in `tables.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

from glassformer.data.readers.columns import Columns, choose_columns_to_fill
from glassformer.data.readers.csv_rows import Row, csv_rows, sniff_delimiter
from glassformer.data.readers.lines import Line, lines_of
from glassformer.data.readers.opening import shown
from glassformer.data.readers.places import Cutter, Fillable
from glassformer.data.readers.records import Place
from glassformer.data.readers.sentences import UNUSABLE
from glassformer.data.readers.tables import PEEK

Choice = tuple[str, str] | None
Cell = tuple[str, int]  # the raw cell, and the byte where it begins
_BREAKS = re.compile(r"[\t\r\n]+")  # what a cell without quotes cannot contain


def fill_tsv(path: Path, raw: bytes, *, columns: Choice, languages: Choice, again: bool) -> Fillable:
    """Cells between tabs; a quote is an ordinary character."""
    name = shown(path)
    rows = (
        Row(text.split("\t"), Place(name, number, byte), odd, next((one for one in odd if one.kind in UNUSABLE), None))
        for number, (text, byte, odd) in enumerate(lines_of(iter([raw]), path), 1)
    )
    return _filled(raw, rows, "\t", name, columns, languages, again=again, quoting=False)


def fill_csv(path: Path, raw: bytes, *, columns: Choice, languages: Choice, again: bool) -> Fillable:
    """Cells that may be quoted, between commas, semicolons or tabs."""
    name, lines = shown(path), lines_of(iter([raw]), path)
    peek: list[Line] = list(islice(lines, PEEK))
    delimiter = sniff_delimiter([text for text, _, _ in peek])
    rows = csv_rows(chain(peek, lines), delimiter, name)
    return _filled(raw, rows, delimiter, name, columns, languages, again=again, quoting=True)


def _filled(
    raw: bytes,
    rows: Iterator[Row],
    delimiter: str,
    name: str,
    columns: Choice,
    languages: Choice,
    *,
    again: bool,
    quoting: bool,
) -> Fillable:
    cutter, chosen, all_rows = Cutter(raw), None, list(rows)
    ends = [*(row.place.byte for row in all_rows[1:]), len(raw)]
    for row, end in zip(all_rows, ends, strict=True):
        if not any(cell.strip() for cell in row.cells):
            if row.problem is not None:
                cutter.found.skip(row.place.number, row.problem.detail)
            continue
        text = raw[row.place.byte : end].decode()
        cells = _written_cells(text, row.place.byte, delimiter, quoting=quoting)
        if chosen is None:
            chosen, new_name = choose_columns_to_fill(row.cells, name, columns=columns, languages=languages)
            if new_name:  # the column is new
                _add_cell(cutter, cells, chosen, delimiter, new_name, quoting=quoting)
            if chosen.header:
                continue
        if row.problem or len(cells) != len(row.cells):
            cutter.found.skip(row.place.number, row.problem.detail if row.problem else "quotes that are not closed")
        else:
            _fill_row(cutter, row, cells, chosen, delimiter, again=again, quoting=quoting)
    return cutter.done()


def _fill_row(
    cutter: Cutter, row: Row, cells: list[Cell], chosen: Columns, delimiter: str, *, again: bool, quoting: bool
) -> None:
    if chosen.source >= len(cells) or not row.cells[chosen.source].strip():
        return
    written = cells[chosen.source][0]
    source = _unquoted(written) if quoting else written
    if chosen.target >= len(cells):
        at, missing = _end(cells), chosen.target - len(cells) + 1
        cutter.gap(at, at, source, partial(_cell, delimiter * missing, delimiter, quoting, False))
        return
    old, at = cells[chosen.target]
    if again or not row.cells[chosen.target].strip():
        cutter.gap(at, at + len(old.encode()), source, partial(_cell, "", delimiter, quoting, old.startswith('"')))


def _add_cell(cutter: Cutter, cells: list[Cell], chosen: Columns, delimiter: str, text: str, *, quoting: bool) -> None:
    missing = chosen.target - len(cells) + 1
    cutter.insert(_end(cells), _cell(delimiter * missing, delimiter, quoting, cells[0][0].startswith('"'), text))


def _end(cells: list[Cell]) -> int:
    """The byte after the last cell."""
    last, at = cells[-1]
    return at + len(last.encode())


def _cell(before: str, delimiter: str, quoting: bool, quoted: bool, text: str) -> str:
    """A translation as a cell. `before`: delimiters for cells that the row lacks."""
    if not quoting:
        return before + _BREAKS.sub(" ", text.strip())
    if quoted or any(sign in text for sign in (delimiter, '"', "\n", "\r")):
        text = '"' + text.replace('"', '""') + '"'
    return before + text


def _written_cells(text: str, byte: int, delimiter: str, *, quoting: bool) -> list[Cell]:
    """The raw cells of a row, quotes included, without the end of the line."""
    text = text.removesuffix("\n").removesuffix("\r")
    sign = re.escape(delimiter)
    pattern = rf'"(?:[^"]|"")*"[^{sign}]*|[^{sign}]*' if quoting else rf"[^{sign}]*"
    cells, position, match = [], 0, re.compile(pattern).match
    while found := match(text, position):
        cells.append((found.group(), byte))
        byte += len(found.group().encode()) + 1
        position = found.end() + 1
        if position > len(text):
            break
    return cells


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell
