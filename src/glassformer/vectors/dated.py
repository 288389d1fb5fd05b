"""Documents with their periods: a table with a column of years, or one file per period."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from glassformer.data.readers.fields import read_fields
from glassformer.data.readers.naming import TEXT, kind_of
from glassformer.data.readers.opening import check_file, shown
from glassformer.data.readers.roles import Roles
from glassformer.data.readers.texts import texts_of
from glassformer.errors import DataError, SettingsError
from glassformer.vectors.over_time import Document, year_periods

YEAR = re.compile(r"[^\d-]*(-?\d{1,5})(?:\D.*)?")


def dated_documents(
    files: Sequence[str], *, columns: str | None, starts: Sequence[int] | None, every: int | None
) -> tuple[list[Document], list[str]]:
    """The documents and the names of the periods."""
    paths = [Path(one) for one in files]
    for path in paths:
        check_file(path)
    tables = [kind_of(path) != TEXT for path in paths]
    if all(tables):
        return from_tables(paths, columns, starts, every)
    if any(tables):
        raise DataError("Got tables and text files. Give tables with a column of years, or one text file per period.")
    if columns or starts or every:
        raise SettingsError("--columns, --starts and --every are for tables with a column of years; got text files.")
    if len(paths) < 2:
        raise DataError("One text file is one period. Give a file per period, or a table: --columns text,year.")
    found = [Document(line, number) for number, path in enumerate(paths) for line in texts_of(path) if line.strip()]
    return found, [shown(path) for path in paths]


def from_tables(
    paths: Sequence[Path], columns: str | None, starts: Sequence[int] | None, every: int | None
) -> tuple[list[Document], list[str]]:
    chosen = tuple(columns.split(",")) if columns else ()
    if len(chosen) != 2:
        raise SettingsError(
            "Say which columns hold the text and the year: --columns text,year, or by number: --columns 5,1."
        )
    texts, years = [], []
    for path in paths:
        for row in read_fields(path, kind_of(path), Roles(chosen, has_label=True)):
            if row.problem is not None:
                continue
            match = YEAR.fullmatch(row.texts[1].strip())
            if match is None:
                raise DataError(
                    f"{row.place}: {row.texts[1][:40]!r} is not a year. Choose the columns: --columns text,year."
                )
            texts.append(row.texts[0])
            years.append(int(match[1]))
    if not texts:
        raise DataError(f"{shown(paths[0])}: no rows that can be used.")
    periods, names = year_periods(years, starts=starts, every=every)
    return [Document(text, one) for text, one in zip(texts, periods, strict=True) if one >= 0], names
