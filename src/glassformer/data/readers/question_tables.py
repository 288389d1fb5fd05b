"""Questions in TSV and CSV files: the columns question, passage, answer and, if there is one, the answer's offset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from glassformer.data.readers.columns import find_column
from glassformer.data.readers.csv_rows import Row
from glassformer.data.readers.fields import PEEK, table_rows
from glassformer.data.readers.opening import shown
from glassformer.data.readers.records import Place, Problem
from glassformer.data.readers.sentences import UNUSABLE
from glassformer.errors import DataError

NAMES = (("question",), ("passage", "context"), ("answer", "answers"), ("start", "answer_start"))
Cells = tuple[tuple[str, ...], Place, Problem | None, tuple[Problem, ...]]


def read_question_table(
    path: Path, kind: str, columns: tuple[str, ...] | None, *, on_read: Callable[[int], None] | None = None
) -> Iterator[Cells]:
    """The chosen cells of each row with its place, problem and notes."""
    name, rows = shown(path), table_rows(path, kind, on_read)
    peek = list(islice(rows, PEEK))
    filled = [row for row in peek if row.problem is None and any(cell.strip() for cell in row.cells)]
    first = [cell.strip() for cell in filled[0].cells] if filled else []
    places, header = _places(first, name, columns)
    width = Counter(len(row.cells) for row in filled).most_common(1)[0][0] if filled else 0
    if filled and width <= max(places):
        raise DataError(
            f"{name}: most of its rows have {width} column{'s' * (width != 1)}; question, passage and answer are "
            "needed, separated by tabs (TSV) or commas (CSV). Choose columns with --columns question,passage,answer."
        )
    for row in chain(peek, rows):
        yield _cells(row, places, width, is_header=header and row is filled[0])


def _places(first: Sequence[str], name: str, columns: tuple[str, ...] | None) -> tuple[tuple[int, ...], bool]:
    """Where the cells are, and whether the first row is a header."""
    found = tuple(next((at for at, cell in enumerate(first) if cell.casefold() in names), -1) for names in NAMES)
    is_header = min(found[:3]) >= 0
    if columns is not None:
        chosen = tuple(find_column(column, first, name) for column in columns)
        if len(set(chosen)) < len(chosen):
            raise DataError(f"{name}: a column is chosen twice. Choose different columns.")
        return chosen, is_header or not all(column.isdecimal() for column in columns)
    if is_header:
        return found if found[3] >= 0 else found[:3], True
    return (0, 1, 2, 3) if len(first) == 4 else (0, 1, 2), False


def _cells(row: Row, places: Sequence[int], width: int, *, is_header: bool) -> Cells:
    problem = row.problem or next((odd for odd in row.oddities if odd.kind in UNUSABLE), None)
    if problem is None and not any(cell.strip() for cell in row.cells):
        problem = Problem("blank", "a blank row", row.place)
    if problem is None and len(row.cells) != width:
        got = f"{len(row.cells)} column{'s' * (len(row.cells) != 1)}"
        problem = Problem("columns", f"got {got}, need {width}: {row.cells[0].strip()[:40]!r}", row.place)
    if is_header:
        problem = Problem("header", "the header of the table", row.place)
    cells = tuple(row.cells[at] if at < len(row.cells) else "" for at in places)
    return cells, row.place, problem, tuple(odd for odd in row.oddities if odd.kind not in UNUSABLE)
