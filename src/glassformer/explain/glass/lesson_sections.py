"""The sections of a lesson as HTML: texts, tables with coloured cells, curves as drawings, and corrections."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from glassformer.explain.glass.page import shown
from glassformer.explain.lessons.lesson import Cell, Computed, Curves, Lines, Section, Shown, Table, number
from glassformer.explain.lessons.view import cell_text

MOST_ROWS, MOST_COLUMNS = 64, 64  # of a table; --json has all
MOST_LINES = 200
SHADES = 10  # of a colour
TOO_DIFFERENT = 1e4  # magnitudes that one scale of colours cannot show
SIZE = (640, 240)  # of a drawing of curves, in its own units
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 34  # around it
MARKS = 4  # on the vertical axis


def sections_html(computed: Computed, *, after_lab: bool) -> Iterator[str]:
    if after_lab:
        yield '<h2 class="part">What the lesson computes</h2>'
    for section in computed.sections:
        yield from section_html(section)


def section_html(section: Section) -> Iterator[str]:
    yield f'<section class="step"><h2>{shown(section.title)}</h2>'
    if section.text:
        yield f"<p>{shown(section.text)}</p>"
    for place, one in enumerate(section.shown, start=1):
        yield from shown_html(one, section.title if place == 1 else f"{section.title} ({place})")
    for correction in section.corrections:
        yield '<div class="correction">'
        yield f"<p><b>Often written</b> {shown(correction.said)}</p>"
        yield f"<p><b>Right</b> {shown(correction.right)}</p></div>"
    yield "</section>"


def shown_html(one: Shown, title: str) -> Iterator[str]:
    if isinstance(one, Lines):
        lines = "\n".join(shown(line) for line in one.lines[:MOST_LINES])
        yield f'<div class="scroll" tabindex="0" role="region" aria-label="{shown(title)}"><pre>{lines}</pre></div>'
        yield from left_out(MOST_LINES, len(one.lines), "lines")
    elif isinstance(one, Curves):
        yield from curves_html(one, title)
    else:
        yield from table_html(one, title)


def left_out(most: int, all_: int, what: str) -> Iterator[str]:
    if all_ > most:
        yield f'<p class="note">{most:,} of {all_:,} {what} are shown; --json has all.</p>'


# Tables


def table_html(one: Table, title: str) -> Iterator[str]:
    if not one.rows:
        yield f'<p class="note">({shown(", ".join(one.columns))}: none here)</p>'
        return
    columns = min(len(one.columns), MOST_COLUMNS + 1)
    rows, top = one.rows[:MOST_ROWS], scale_of(one)
    right = [numeric(rows, place) for place in range(columns)]
    kind = "grid" if one.grid else "list"
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{shown(title)}"><table class="{kind}">'
    heads = (
        f'<th scope="col"{num(right[i])}>{shown(name)}</th>' if name else "<td></td>"
        for i, name in enumerate(one.columns[:columns])
    )
    yield f"<thead><tr>{''.join(heads)}</tr></thead><tbody>"
    for row in rows:
        cells = (
            f"<td{num(right[i], colour(one, i, cell, top))}>{shown(cell_text(one, i, cell))}</td>"
            for i, cell in enumerate(row[1:columns], start=1)
        )
        yield f'<tr><th scope="row">{shown(cell_text(one, 0, row[0]))}</th>{"".join(cells)}</tr>'
    yield "</tbody></table></div>"
    yield from left_out(MOST_ROWS, len(one.rows), "rows")
    yield from left_out(MOST_COLUMNS, len(one.columns) - 1, "columns")
    if one.timed:
        yield '<p class="note">Measured with a clock: different in each run.</p>'


def numeric(rows: Sequence[Sequence[Cell]], place: int) -> bool:
    return place > 0 and all(not isinstance(row[place], str) for row in rows)


def num(right: bool, colour: str = "") -> str:
    names = " ".join(name for name in ("num" if right else "", colour) if name)
    return f' class="{names}"' if names else ""


def shares(one: Table) -> int:
    """How many columns after the first are shares: those before a sum."""
    return one.shaded or (len(one.columns) - 2 if one.columns[-1] == "sum" else 0)


def scale_of(one: Table) -> float:
    """The magnitude that has the full colour; 0: the cells are not coloured."""
    if not one.grid:
        return 0.0
    if shares(one):
        return 1.0
    sizes = [abs(cell) for row in one.rows for cell in row[1:] if isinstance(cell, float) and math.isfinite(cell)]
    usual = sorted(sizes)[len(sizes) // 2] if sizes else 0.0
    return max(sizes, default=0.0) if sizes and max(sizes) <= TOO_DIFFERENT * max(usual, 1e-3) else 0.0


def colour(one: Table, place: int, cell: Cell, top: float) -> str:
    """The class of a cell: s0 to s10 for shares, p and m for positive and negative numbers."""
    if not top or isinstance(cell, str) or (shares(one) and place > shares(one)):
        return ""
    if not math.isfinite(cell):
        return "hidden"
    step = min(SHADES, round(SHADES * abs(cell) / top))
    return f"s{step}" if shares(one) else f"{'m' if cell < 0 else 'p'}{step}"


# Curves


def curves_html(one: Curves, title: str) -> Iterator[str]:
    """Each series as a line, with its first and last value in the legend."""
    every = [value for values in one.series.values() for value in values if math.isfinite(value)]
    if not every:
        return
    low, high = min(every), max(every)
    high = high if high > low else low + 1
    longest = max(map(len, one.series.values()))
    last = one.first + one.step * (longest - 1)
    width, height = SIZE
    label = shown(f"{title}: {', '.join(one.series)}")
    yield f'<figure class="curves"><svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
    yield from axes(low, high, (one.x, one.first, last))
    for place, values in enumerate(one.series.values()):
        yield f'<polyline class="line line{place % 6}" points="{points(values, longest, low, high)}"/>'
    yield "</svg><figcaption>"
    for place, (name, values) in enumerate(one.series.items()):
        yield (
            f'<span class="key"><svg viewBox="0 0 26 8" aria-hidden="true"><line class="line line{place % 6}" x1="0" '
            f'y1="4" x2="26" y2="4"/></svg>{shown(name)} <b>{number(values[0])} → {number(values[-1])}</b></span>'
        )
    yield "</figcaption></figure>"


def axes(low: float, high: float, x: tuple[str, int, int]) -> Iterator[str]:
    width, height = SIZE
    for mark in range(MARKS + 1):
        value = low + (high - low) * mark / MARKS
        y = height - BOTTOM - (height - TOP - BOTTOM) * mark / MARKS
        yield f'<line class="mark" x1="{LEFT}" y1="{y:.1f}" x2="{width - RIGHT}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(value, ".3g")}</text>'
    name, first, last = x
    below = height - BOTTOM + 18
    yield f'<text x="{LEFT}" y="{below}">{first:,}</text>'
    yield f'<text x="{(LEFT + width - RIGHT) / 2:.0f}" y="{below}" text-anchor="middle">{shown(name)}</text>'
    yield f'<text x="{width - RIGHT}" y="{below}" text-anchor="end">{last:,}</text>'


def points(values: Sequence[float], longest: int, low: float, high: float) -> str:
    width, height = SIZE
    across, down = (width - LEFT - RIGHT) / max(1, longest - 1), height - TOP - BOTTOM
    each = ((LEFT + i * across, TOP + down * (high - value) / (high - low)) for i, value in enumerate(values))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in each if math.isfinite(y))
