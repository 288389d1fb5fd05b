"""Which two columns of a table hold the sentences, and whether its first row is a header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from glassformer.data.readers.languages import NAMES, is_language, matching
from glassformer.errors import DataError

_HEADER_WORDS = {"source", "target", "src", "tgt", "trg", "source_text", "target_text", "source text", "target text"}
_PARTNERS = {"source": "target", "src": "tgt", "source_text": "target_text", "source text": "target text"}
HOPELESS = 1000  # if this many first rows lack the columns, the file is not a table


@dataclass(frozen=True)
class Columns:
    """Places in a row, from 0."""

    source: int
    target: int
    header: bool

    @cached_property
    def needed(self) -> int:
        return max(self.source, self.target) + 1


def choose_columns(
    first_row: Sequence[str],
    name: str,
    *,
    columns: tuple[str, str] | None = None,
    languages: tuple[str, str] | None = None,
) -> Columns:
    """Chosen by number (from 1) or header name, else by language in the header, else the first two."""
    if columns is not None:
        source, target = (find_column(wanted, first_row, name) for wanted in columns)
        if source == target:
            raise DataError(f"{name}: source and target are both column {source + 1}. Choose two different ones.")
        named = not all(wanted.isdecimal() for wanted in columns)
        return Columns(source, target, named or _is_header(first_row, source, target))
    by_language = _by_language(first_row, languages) if languages else None
    return by_language or _two_named(first_row) or Columns(0, 1, _is_header(first_row, 0, 1))


def choose_columns_to_fill(
    first_row: Sequence[str],
    name: str,
    *,
    columns: tuple[str, str] | None = None,
    languages: tuple[str, str] | None = None,
) -> tuple[Columns, str]:
    """The same for a table that may lack the target column; then also returns the header of the new last column."""
    cells = [cell.strip().casefold() for cell in first_row]
    if columns is not None and not columns[1].isdecimal() and columns[1].casefold() not in cells:
        return Columns(find_column(columns[0], first_row, name), len(first_row), header=True), columns[1]
    if columns is None and languages is not None:
        source, target = (matching(language, [cell.strip() for cell in first_row]) for language in languages)
        if source and not target:
            return Columns(cells.index(source[0].casefold()), len(first_row), header=True), languages[1]
    if columns is None and len(first_row) == 1 and cells[0] in _PARTNERS:
        return Columns(0, 1, header=True), _PARTNERS[cells[0]]
    return choose_columns(first_row, name, columns=columns, languages=languages), ""


def _two_named(first_row: Sequence[str]) -> Columns | None:
    """The two columns whose headers are languages, or source and target, in any position."""
    named = [place for place, cell in enumerate(first_row) if _is_header_word(cell.strip()) and cell.casefold() != "id"]
    if len(named) != 2 or first_row[named[0]].strip() == first_row[named[1]].strip():
        return None
    return Columns(named[0], named[1], header=True)


def find_column(wanted: str, first_row: Sequence[str], name: str) -> int:
    """The index, from 0, of a column given by number (from 1) or by header name."""
    if wanted.isdecimal():
        if int(wanted) < 1:
            raise DataError(f"{name}: there is no column {wanted}; columns count from 1.")
        return int(wanted) - 1
    cells = [cell.strip() for cell in first_row]
    folded = [cell.casefold() for cell in cells]
    if wanted in cells:
        return cells.index(wanted)
    if wanted.casefold() in folded:
        return folded.index(wanted.casefold())
    found = ", ".join(repr(cell[:30]) for cell in cells[:12])
    raise DataError(f"{name}: no column is named {wanted!r}; its first row is {found}. Columns can be given by number.")


def _by_language(first_row: Sequence[str], languages: tuple[str, str]) -> Columns | None:
    cells = [cell.strip() for cell in first_row]
    found = [matching(language, cells) for language in languages]
    if not (found[0] and found[1]):
        return None
    return Columns(cells.index(found[0][0]), cells.index(found[1][0]), header=True)


def _is_header(row: Sequence[str], source: int, target: int) -> bool:
    if len(row) <= max(source, target):
        return False
    first, second = row[source].strip(), row[target].strip()
    return first != second and _is_header_word(first) and _is_header_word(second)


def _is_header_word(cell: str) -> bool:
    return cell.casefold() in _HEADER_WORDS or cell.casefold() in NAMES or is_language(cell)


def no_table(name: str, needed: int, rows: int, *, kind: str, separated: str) -> DataError:
    """The error for a file in which no row has the columns."""
    return DataError(
        f"{name} does not look like a {kind}: none of its first {rows:,} rows has {needed} columns separated by "
        f"{separated}. For two aligned files, give two names; choose other columns by number or name."
    )
