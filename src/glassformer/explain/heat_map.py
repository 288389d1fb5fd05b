"""Attention as a table of shaded cells for the terminal, with labels that cannot disturb it. Nothing here prints."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text
from torch import Tensor

from glassformer.printable import printable

SHADES = " ░▒▓█"


class Shade(NamedTuple):
    """A cell's background, and a text colour that is readable on it in any terminal theme."""

    background: tuple[int, int, int]
    text: tuple[int, int, int]


WHITE, BLACK = (255, 255, 255), (10, 25, 40)
RAMP = (  # one hue, dark to light
    Shade((16, 42, 67), WHITE),
    Shade((28, 72, 112), WHITE),
    Shade((42, 104, 158), WHITE),
    Shade((86, 148, 200), BLACK),
    Shade((146, 192, 230), BLACK),
    Shade((212, 233, 250), BLACK),
)
LABEL_WIDTH, NARROWEST, WIDEST = 12, 5, 10  # terminal cells: row labels, and columns with the space after them
LEFT_TO_RIGHT = "\u200e"  # invisible; stops terminals that reorder Hebrew and Arabic from moving neighbouring text


@dataclass(frozen=True)
class HeatMap:
    """Numbers from 0 to 1 as shaded cells with percentages.

    A column is as wide as its label. Columns that do not fit beside each other are shown in groups, one below the
    other, each with the row labels.
    """

    values: list[list[float]]
    columns: list[str]
    rows: list[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        label = min(LABEL_WIDTH, max(map(cell_len, self.rows), default=1))
        widths = [min(WIDEST, max(NARROWEST, cell_len(name) + 1)) for name in self.columns]
        groups = list(column_groups(widths, options.max_width - label - 1))
        for group in groups:
            if len(groups) > 1:
                first = "" if group.start == 0 else "\n"
                yield Text(f"{first}columns {group.start + 1}-{group.stop} of {len(widths)}", style="dim")
            yield from self._group(group, label, widths, colour=console.color_system in ("256", "truecolor"))

    def _group(self, group: range, label: int, widths: Sequence[int], *, colour: bool) -> Iterator[Text]:
        heading = Text(" " * (label + 1), no_wrap=True)
        for j in group:
            heading.append(fitted(self.columns[j], widths[j] - 1) + " ", style="dim")
        yield heading
        for name, row in zip(self.rows, self.values, strict=True):
            line = Text(fitted(name, label) + " ", no_wrap=True)
            for j in group:
                line.append_text(shaded_cell(row[j], widths[j], colour=colour))
            yield line


def column_groups(widths: Sequence[int], available: int) -> Iterator[range]:
    """Neighbouring columns that fit into the available width together; at least one in each group."""
    start = used = 0
    for j, width in enumerate(widths):
        if j > start and used + width > available:
            yield range(start, j)
            start, used = j, 0
        used += width
    if widths:
        yield range(start, len(widths))


def heat_map(pattern: Tensor, *, columns: Sequence[str], rows: Sequence[str], title: str = "") -> RenderableType:
    """A pattern (T, K) under a title."""
    drawn = HeatMap(pattern.tolist(), list(map(escaped, columns)), list(map(escaped, rows)))
    return Group(Text(title, style="bold"), drawn) if title else drawn


def shaded_cell(value: float, width: int, *, colour: bool) -> Text:
    """The percentage on a background colour; on terminals without colours, after a shading character."""
    number = f"{100 * value:.0f}" if value >= 0.005 else "·"
    if not colour:
        shade = SHADES[min(len(SHADES) - 1, round(value * (len(SHADES) - 1)))]
        return Text(f"{shade * (width - 4)}{number:>3} ")
    shade_ = RAMP[min(len(RAMP) - 1, int(value * len(RAMP)))]
    text, background = ("rgb({},{},{})".format(*colour_) for colour_ in (shade_.text, shade_.background))
    return Text(f"{number:>{width - 1}} ", style=f"{text} on {background}")


# Text


def visible(piece: str) -> str:
    """A piece with visible spaces and control characters, which cannot affect the rest of the terminal."""
    return left_to_right(escaped(piece))


def escaped(piece: str) -> str:
    shown = printable(piece.replace(" ", "␣")) or "∅"
    return f"◌{shown}" if unicodedata.category(shown[0]).startswith("M") else shown  # a mark needs a base


def left_to_right(text: str) -> str:
    """Right-to-left text between two marks, so that neighbouring numbers and labels stay where they are."""
    if text.isascii() or not any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in text):
        return text
    return f"{LEFT_TO_RIGHT}{text}{LEFT_TO_RIGHT}"


def fitted(text: str, width: int) -> str:
    """Right-aligned in exactly `width` terminal cells (wide characters take two), shortened with … if necessary."""
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    return " " * max(0, width - cell_len(text)) + left_to_right(text)
