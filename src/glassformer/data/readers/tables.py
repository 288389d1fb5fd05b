"""Tables: TSV without quoting, and CSV by the csv module. One record for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path

from glassformer.data.readers.columns import HOPELESS, Columns, choose_columns, no_table
from glassformer.data.readers.csv_rows import Row, csv_rows, sniff_delimiter
from glassformer.data.readers.lines import Line, lines_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place, Problem, Record
from glassformer.data.readers.sentences import UNUSABLE, Side, pair, unescaped_pair

PEEK = 50  # lines that determine header and delimiter

Choice = tuple[str, str] | None


def read_tsv(
    path: Path, *, columns: Choice = None, languages: Choice = None, on_read: Callable[[int], None] | None = None
) -> Iterator[Record]:
    """Rows of tab-separated cells; a quote is an ordinary character."""
    name, lines = shown(path), lines_of(blocks_of(path, on_read=on_read), path)
    peek = list(islice(lines, PEEK))
    header_at, first_row = _first_row([text.split("\t") for text, _, _ in peek])
    chosen = choose_columns(first_row, name, columns=columns, languages=languages)
    at_source, at_target, needed = chosen.source, chosen.target, chosen.needed
    header_at = header_at if chosen.header else 0
    most = 2 if columns is None else 1 << 30  # users who choose columns know that there are others
    number, misses, texts = 0, 0, 0
    for number, (text, byte, odd) in enumerate(chain(peek, lines), 1):
        cells = text.split("\t")
        place = Place(name, number, byte)
        notes = (_further(len(cells), chosen, place),) if len(cells) > most else ()
        if len(cells) < needed or odd or number == header_at:
            record = _tsv_row(cells, chosen, place, odd, header=number == header_at)
            record.notes += notes
            misses += len(cells) < needed
            texts += bool(text.strip())
            if misses == number == HOPELESS and texts:
                break
            yield record
            continue
        source, target = cells[at_source].strip(), cells[at_target].strip()
        if source and target:
            yield Record(source, target, place, notes=notes)
        else:
            record = _tsv_row(cells, chosen, place, odd)
            record.notes += notes
            yield record
    if misses == number and texts:
        raise no_table(name, chosen.needed, number, kind="TSV", separated="tabs")


def _first_row(rows: list[list[str]]) -> tuple[int, list[str]]:
    """The first row that is not blank, and its number."""
    filled = ((number, row) for number, row in enumerate(rows, 1) if any(cell.strip() for cell in row))
    return next(filled, (0, []))


def _further(width: int, chosen: Columns, place: Place) -> Problem:
    read = f"only columns {chosen.source + 1} and {chosen.target + 1} are read"
    return Problem("columns", f"{width} columns: {read}", place)


def _tsv_row(
    cells: list[str], chosen: Columns, place: Place, odd: tuple[Problem, ...], *, header: bool = False
) -> Record:
    """A row that must be examined."""
    if special := _special_row(cells, chosen, place, odd, header=header):
        return special
    sides = []
    for at in (chosen.source, chosen.target):
        byte = place.byte + sum(len(cell.encode()) + 1 for cell in cells[:at])
        sides.append(Side(cells[at], Place(place.file, place.number, byte)))
    record = pair(Side(*sides[0][:2], odd), sides[1])
    record.place = place
    return record


def _special_row(
    cells: list[str], chosen: Columns, place: Place, odd: tuple[Problem, ...], *, header: bool
) -> Record | None:
    """A row that is not a pair: unreadable, blank, too short, or the header."""
    source, target = (cells[at].strip() if at < len(cells) else "" for at in (chosen.source, chosen.target))
    notes = tuple(one for one in odd if one.kind == "bom")
    problem = next((one for one in odd if one.kind in UNUSABLE), None)
    if problem is None and not any(cell.strip() for cell in cells):
        problem = Problem("blank", "both sides are blank", place)
    if problem is None and len(cells) < chosen.needed:
        got = f"{len(cells)} column{'s' * (len(cells) > 1)}"
        problem = Problem("columns", f"got {got}, need {chosen.needed}: {cells[0].strip()[:40]!r}", place)
    if problem is None and header:
        problem = Problem("header", "the header of the table", place)
    return Record(source, target, place, problem, notes) if problem else None


def read_csv(
    path: Path, *, columns: Choice = None, languages: Choice = None, on_read: Callable[[int], None] | None = None
) -> Iterator[Record]:
    """Rows of cells that may be quoted, between commas, semicolons or tabs."""
    name, lines = shown(path), lines_of(blocks_of(path, on_read=on_read), path)
    peek: list[Line] = list(islice(lines, PEEK))
    delimiter = sniff_delimiter([text for text, _, _ in peek])
    rows = csv_rows(chain(peek, lines), delimiter, name)
    first = list(_until_filled(rows))
    chosen = choose_columns(first[-1].cells if first else [], name, columns=columns, languages=languages)
    header_at = len(first) if chosen.header else 0
    number, misses, texts = 0, 0, 0
    for number, row in enumerate(chain(first, rows), 1):
        record = _csv_row(row, chosen, header=number == header_at)
        if len(row.cells) > 2 and columns is None:  # users who choose columns know that there are others
            record.notes += (_further(len(row.cells), chosen, row.place),)
        if len(row.cells) < chosen.needed:
            misses, texts = misses + 1, texts + any(cell.strip() for cell in row.cells)
            if misses == number == HOPELESS and texts:
                break
        yield record
    if misses == number and texts:
        raise no_table(name, chosen.needed, number, kind="CSV", separated="commas, semicolons or tabs")


def _until_filled(rows: Iterator[Row]) -> Iterator[Row]:
    """The first rows, up to one that is not blank."""
    for row in rows:
        yield row
        if any(cell.strip() for cell in row.cells):
            return


def _csv_row(row: Row, chosen: Columns, *, header: bool) -> Record:
    if row.problem is not None:
        cells = [*row.cells, "", ""]
        return Record(cells[0].strip(), cells[1].strip(), row.place, row.problem)
    odd = row.oddities or header or len(row.cells) < chosen.needed
    if odd and (special := _special_row(row.cells, chosen, row.place, row.oddities, header=header)):
        return special
    source, target = row.cells[chosen.source], row.cells[chosen.target]
    return unescaped_pair(source, target, row.place, oddities=row.oddities)
