"""A lesson for the terminal. Nothing here prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from glassformer.explain.heat_map import column_groups, heat_map
from glassformer.explain.lessons.lesson import Cell, Computed, Curves, Lesson, Lines, Section, Shown, Table, number
from glassformer.printable import printable, printable_lines, shortened

MOST = 16  # rows and columns of a matrix that are shown; --json has all
LABEL = 20  # terminal cells of a name
BARS = "▁▂▃▄▅▆▇█"
POINTS = 40  # of a curve
COMMAND = "glassformer lesson"


def lesson_view(computed: Computed) -> RenderableType:
    """The whole lesson, ready for a rich console."""
    lesson = computed.lesson
    parts: list[RenderableType] = [Text(lesson.title, style="bold underline"), Text(lesson.summary)]
    for section in computed.sections:
        parts += section_view(section)
    return Group(*parts, Text(), *ending(computed))


def section_view(section: Section) -> Iterator[RenderableType]:
    yield Text()
    yield Text(printable(section.title), style="bold")
    yield Text(printable(section.text))
    for one in section.shown:
        yield Text()
        yield shown_view(one)
    for correction in section.corrections:
        yield Text()
        yield Text.assemble(("Often written: ", "bold"), printable(correction.said))
        yield Text.assemble(("Right: ", "bold"), printable(correction.right))


def ending(computed: Computed) -> Iterator[RenderableType]:
    """Where it comes from, where it is computed, and what to read next."""
    lesson = computed.lesson
    facts = [("Source", lesson.source), ("Computed by", ", ".join(lesson.files))]
    facts += [("Try", f"{COMMAND} {lesson.name} {one}") for one in lesson.examples[:1]]
    facts += [("Next", f"{COMMAND} {computed.next}" if computed.next else "glassformer demo, a real translator")]
    for name, said in facts:
        yield Text.assemble((f"{name}: ", "bold"), said, style="dim")


def shown_view(one: Shown) -> RenderableType:
    if isinstance(one, Lines):
        shown = "\n".join(map(printable_lines, one.lines[: 4 * MOST]))
        return Group(Text(shown), *left_out(min(4 * MOST, len(one.lines)), len(one.lines), "lines"))
    if isinstance(one, Curves):
        return Text("\n".join(curve_lines(one)))
    if one.grid:
        return Group(Grid(one), *([Text(), shades(one)] if one.shaded else []))
    return text_table(one)


# Tables


def text_table(one: Table) -> RenderableType:
    """Names and texts are on the left, numbers on the right; long texts are folded."""
    shown = RichTable(box=None, pad_edge=False, header_style="bold")
    if not one.rows:
        return Text(f"({', '.join(one.columns)}: none here)", style="dim")
    rows = one.rows[: 4 * MOST]
    for place, name in enumerate(one.columns):
        numbers = place > 0 and all(not isinstance(row[place], str) for row in rows)
        shown.add_column(Text(printable(name)), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(cell_text(one, place, cell)) for place, cell in enumerate(row)))
    return Group(shown, *left_out(len(rows), len(one.rows), "rows"))


def cell_text(one: Table, place: int, cell: Cell) -> str:
    if isinstance(cell, str):
        return shortened(printable(cell), width=400)
    return number(cell, one.formats if isinstance(one.formats, str) else one.formats[place])


def left_out(shown: int, all_: int, what: str) -> list[Text]:
    return [Text(f"{shown:,} of {all_:,} {what} are shown; --json has all.", style="dim")] if shown < all_ else []


@dataclass(frozen=True)
class Grid:
    """A matrix. Columns that do not fit beside each other are shown in groups, each with the row names."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        one = self.table
        places = [*range(len(one.columns))[: MOST + 1], *sums_of(one)]
        rows = [[label(cell_text(one, i, row[i])) for i in places] for row in one.rows[:MOST]]
        names = [label(printable(one.columns[i])) for i in places]
        widths = [max(map(cell_len, (name, *(row[i] for row in rows)))) for i, name in enumerate(names)]
        groups = list(column_groups([width + 2 for width in widths[1:]], options.max_width - widths[0]))
        for group in groups:
            yield self.part(rows, names, [place + 1 for place in group])
            if group is not groups[-1]:
                yield Text()
        yield from left_out(len(rows), len(one.rows), "rows")
        parts = len(one.columns) - 1 - len(sums_of(one))
        yield from left_out(min(MOST, parts), parts, "columns")

    def part(self, rows: Sequence[Sequence[str]], names: Sequence[str], places: Sequence[int]) -> RichTable:
        shown = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        shown.add_column(Text(names[0]), style="bold", no_wrap=True)
        for place in places:
            shown.add_column(Text(names[place]), justify="right", no_wrap=True)
        for row in rows:
            shown.add_row(Text(row[0]), *(Text(row[place]) for place in places))
        return shown


def sums_of(one: Table) -> range:
    """The places of the sums after a shaded matrix, if its last columns are left out: the sums are of all columns."""
    return range(one.shaded + 1, len(one.columns)) if one.shaded > MOST else range(0)


def label(text: str) -> str:
    """A short name: longer ones would leave no space for the numbers."""
    while cell_len(text) > LABEL:
        text = text[: max(1, min(len(text) - 2, LABEL - 1))] + "…"
    return text


def shades(one: Table) -> RenderableType:
    """The shares of a matrix as shaded cells."""
    columns = list(one.columns[1 : 1 + min(MOST, one.shaded)])
    rows = one.rows[:MOST]
    values = torch.tensor([[float(cell) for cell in row[1 : 1 + len(columns)]] for row in rows])
    return heat_map(values, columns=columns, rows=[str(row[0]) for row in rows])


# Curves


def curve_lines(one: Curves) -> Iterator[str]:
    """Each series as a line of bars, all on one scale, with its first and last value."""
    every = [value for values in one.series.values() for value in values]
    low, high = min(every), max(every)
    wide = max(map(cell_len, one.series))
    for name, values in one.series.items():
        bars = "".join(bar(value, low, high) for value in thinned(values))
        yield f"{name:<{wide}}  {bars}  {number(values[0])} → {number(values[-1])}"
    longest = max(map(len, one.series.values()))
    last = one.first + one.step * (longest - 1)
    yield f"{'':<{wide}}  {one.x} {one.first} to {last}, from {number(low)} (▁) to {number(high)} (█)"


def bar(value: float, low: float, high: float) -> str:
    return BARS[min(len(BARS) - 1, int((value - low) / (high - low or 1) * len(BARS)))]


def thinned(values: Sequence[float]) -> list[float]:
    """At most `POINTS` of the values, evenly taken, the last one included."""
    if len(values) <= POINTS:
        return list(values)
    return [values[round(place * (len(values) - 1) / (POINTS - 1))] for place in range(POINTS)]


# The list


def list_view(lessons: Sequence[Lesson]) -> Iterator[Text]:
    """One line for each lesson, in the order of the story."""
    wide = max(len(one.name) for one in lessons)
    for place, one in enumerate(lessons, start=1):
        yield Text.assemble(f"{place:>2}  ", (f"{one.name:<{wide}}", "bold"), f"  {one.summary}")


def usage(lesson: Lesson) -> str:
    """The help of one lesson: what it takes, with defaults, and examples."""
    lines = [lesson.summary, ""]
    for name, value in lesson.takes.items():
        shown = (
            " ".join(f'"{text}"' for text in value)
            if isinstance(value, tuple)
            else "none"
            if value in ("", None)
            else str(value)
        )
        lines.append(f"  {OPTIONS[name]:<18} default: {shown}")
    lines += ["", *(f"  {COMMAND} {lesson.name} {example}" for example in ("", *lesson.examples, "--json"))]
    return "\n".join(line.rstrip() for line in lines)


OPTIONS = {
    "texts": "TEXT ...",
    "queries": "--query TEXT",
    "seed": "--seed N",
    "width": "--width N",
    "heads": "--heads N",
    "length": "--length N",
    "window": "--window N",
    "size": "--size N",
    "beam": "--beam N",
    "step": "--step N",
    "sentences": "--sentences N",
    "mask": "--mask NAME",
    "model": "--model RUN",
}
