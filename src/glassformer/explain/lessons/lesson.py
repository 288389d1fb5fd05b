"""The parts of a lesson."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from torch import Tensor


@dataclass(frozen=True)
class Section:
    """A heading, one or two sentences, and what was computed."""

    title: str
    text: str
    shown: tuple[RenderableType, ...] = ()


@dataclass(frozen=True)
class Lesson:
    """One small example of the lecture notes. `run` computes everything that is shown."""

    name: str
    title: str
    summary: str
    run: Callable[[], list[Section]]


def number_table(
    values: Tensor,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    digits: int = 3,
    corner: str = "",
    sums: bool = False,
) -> Table:
    """Numbers (rows, columns) with row and column names, and optionally the sum of each row."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(corner, style="bold", no_wrap=True)
    for name in [*columns, *(["sum"] if sums else [])]:
        table.add_column(name, justify="right", no_wrap=True)
    for name, row in zip(rows, values.tolist(), strict=True):
        cells = [number(value, digits) for value in [*row, *([sum(row)] if sums else [])]]
        table.add_row(name, *cells)
    return table


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Cells of text; the first column is left-aligned, the others right-aligned."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def number(value: float, digits: int = 3) -> str:
    """A number for a table; minus infinity is −∞, and -0.000 is 0.000."""
    if value == float("-inf"):
        return "−∞"
    return f"{value + 0.0:.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"
