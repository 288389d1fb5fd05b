"""Reads CSV rows from lines. A quoted cell may contain newlines. Every row has its number, line and byte."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glassformer.data.readers.lines import MAX_LINE, Line
from glassformer.data.readers.records import Place, Problem
from glassformer.errors import DataError

_DELIMITERS = (",", ";", "\t")


@dataclass(slots=True)
class Row:
    """The cells of one row; if there is a problem, those that could be read."""

    cells: list[str]
    place: Place  # of its first line
    oddities: tuple[Problem, ...] = ()
    problem: Problem | None = None


def sniff_delimiter(texts: Sequence[str]) -> str:
    """The delimiter that splits most of the first rows into the same number of columns, at least two."""
    return max(_DELIMITERS, key=lambda delimiter: _evenness(texts, delimiter))


def _evenness(texts: Sequence[str], delimiter: str) -> float:
    try:
        widths = [len(row) for row in csv.reader([f"{text}\n" for text in texts], delimiter=delimiter) if row]
    except csv.Error:
        widths = [text.count(delimiter) + 1 for text in texts if text]
    common = [count for width, count in Counter(widths).most_common() if width >= 2]
    return common[0] / len(widths) if common else 0.0


class _Feed:
    """Passes lines to the csv reader and remembers which lines the current row consists of."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._begun = False
        self._size = 0
        self.taken: list[Line] = []
        self.continued = False  # a quoted cell was still open at the end of the first line

    def begin(self, line: Line) -> None:
        self.taken, self._size = [line], len(line[0])
        self._begun, self.continued = True, False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if not self._begun:
            self.taken.append(self._further())
        self._begun = False
        return self.taken[-1][0].replace("\0", "\ufffd") + "\n"

    def _further(self) -> Line:
        """The next line, in which a quoted cell continues."""
        self.continued = True
        line = next(self._lines)
        self._size += len(line[0]) + 1
        if self._size > MAX_LINE or _is_too_big(line):
            raise csv.Error("too long")
        return line


def csv_rows(lines: Iterator[Line], delimiter: str, name: str) -> Iterator[Row]:
    """All rows. A quote that is never closed is an error: the next row could begin anywhere."""
    feed = _Feed(lines)
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    line_number = 1
    for number, line in enumerate(lines, 1):
        place = Place(name, number, line[1], "row")
        if line[2] and _is_too_big(line):
            feed.taken = [line]
            yield Row([], place, problem=line[2][-1])
        else:
            feed.begin(line)
            yield _next_row(reader, feed, place, line_number)
        line_number += len(feed.taken)


def _next_row(reader: Iterator[list[str]], feed: _Feed, place: Place, line_number: int) -> Row:
    try:
        cells = next(reader)
    except csv.Error as error:
        where = f"row {place.number:,} (line {line_number:,}, byte {place.byte:,})"
        if feed.continued:
            raise DataError(
                f"{place.file}, {where}: a quote opens in this row and is not closed correctly. Close it, double the "
                "quotes inside a cell, or save the table as TSV."
            ) from None
        if "limit" in str(error):
            problem = Problem("too big", f"a cell of over {csv.field_size_limit():,} characters", place)
        else:
            problem = Problem("syntax", f"line {line_number:,} is not CSV: {error}", place)
        return Row([feed.taken[0][0][:80]], place, problem=problem)
    return Row(cells, place, sum((oddities for _, _, oddities in feed.taken), ()))


def _is_too_big(line: Line) -> bool:
    return any(odd.kind == "too big" for odd in line[2])
