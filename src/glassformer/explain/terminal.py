"""The terminal's view of an explanation: functions from numbers to rich renderables. Nothing here prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text
from torch import Tensor

from glassformer.explain.heads import HeadSummary, summarise

if TYPE_CHECKING:
    from glassformer.explain.trace import Explanation, Step

SHADES = " ░▒▓█"
# One hue, dark to light; each step readable with the ink beside it, on any terminal background.
RAMP = [(16, 42, 67), (28, 72, 112), (42, 104, 158), (86, 148, 200), (146, 192, 230), (212, 233, 250)]
LABEL_WIDTH, CELL_WIDTH, WIDEST_CELL = 12, 4, 8


def explanation_view(explanation: Explanation, *, layer: int | None = None, head: int | None = None) -> RenderableType:
    """The whole view. Shows the cross-attention of the given layer and head (from 0), else of the best-looking."""
    parts: list[RenderableType] = [
        title_view(explanation.text, explanation.translation),
        Text(),
        tokens_view("source", explanation.source, explanation.source_ids),
        tokens_view("target", explanation.target, explanation.target_ids),
        Text(),
        steps_view(explanation.steps, score=explanation.score),
    ]
    if explanation.cross_attention.size(0):
        parts += cross_attention_parts(explanation, layer, head)
    return Group(*parts)


def title_view(text: str, answer: str) -> Text:
    """What was given, and what came of it, if something did; neither can act on the terminal."""
    given, came = (" ".join(visible(word) for word in one.split(" ") if word) for one in (text, answer))
    return Text.assemble(given, ("  →  ", "bold"), (came, "bold")) if came else Text(given, style="bold")


def cross_attention_parts(explanation: Explanation, layer: int | None, head: int | None) -> list[RenderableType]:
    """One head's map, the mean of all heads, and a line on each head."""
    wanted = explanation.best_head() if layer is None and head is None else (layer, head)
    title = f"Cross-attention, {head_title(*wanted)}: which source pieces (columns) each target piece (row) read"
    columns, rows = explanation.source, explanation.target
    return [
        Text(),
        heat_map(explanation.alignment(*wanted), columns=columns, rows=rows, title=title),
        Text(),
        heat_map(explanation.alignment(), columns=columns, rows=rows, title="Cross-attention, mean of all heads"),
        Text(),
        heads_view(summarise(explanation.cross_attention)),
    ]


def head_title(layer: int | None, head: int | None) -> str:
    """A head's name for people, who count from 1."""
    parts = [f"{what} {i + 1}" for what, i in (("layer", layer), ("head", head)) if i is not None]
    return ", ".join(parts) or "mean of all heads"


def tokens_view(side: str, pieces: Sequence[str], ids: Sequence[int]) -> Text:
    """`source  I·40 ate·217 ...`: each piece with its id; wraps where the line ends."""
    line = Text(f"{side:<8}", style="bold")
    for piece, i in zip(pieces, ids, strict=True):
        line.append(visible(piece), style="not bold")
        line.append(f"\u00b7{i}", style="not bold dim")
        line.append("  ")
    return line


def steps_view(steps: Sequence[Step], *, score: float) -> RenderableType:
    """One row per decoding step: what was chosen, its probability as number and bar, and what else was near."""
    table = Table(title="Decoding, step by step", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("#", justify="right", style="dim")
    table.add_column("chosen", style="bold", max_width=16, no_wrap=True, overflow="ellipsis")
    table.add_column("probability", no_wrap=True)
    table.add_column("most probable", overflow="fold")
    for number, step in enumerate(steps, start=1):
        table.add_row(
            str(number),
            Text(visible(step.chosen)),
            probability_bar(step.probability),
            candidates(step.top, step.chosen),
        )
    return Group(table, Text(f"Sum of log-probabilities {score:.3f}", style="dim"))


def probability_bar(probability: float, *, width: int = 8) -> Text:
    filled = round(probability * width)
    return Text.assemble(f"{probability:6.1%} ", ("━" * filled, "blue"), ("─" * (width - filled), "dim"))


def candidates(top: Sequence[tuple[str, float]], chosen: str) -> Text:
    """`apple·.910  apples·.041 ...` with the chosen one underlined: the eye finds it without colour."""
    parts = Text()
    for piece, probability in top:
        parts.append(visible(piece), style="underline" if piece == chosen else "")
        parts.append(f"·{probability:.3f}  ".replace("·0.", "·."), style="dim")
    return parts


def heads_view(summaries: Sequence[HeadSummary]) -> Table:
    """One line per head: how sharp, how far off the diagonal, what that means."""
    table = Table(title="What each cross-attention head looks at", title_justify="left", title_style="bold", box=None)
    for name in ("layer", "head", "sharpness", "offset", "alignment"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("looks at")
    best = max(summaries, key=lambda summary: summary.alignment)
    for one in summaries:
        numbers = (f"{one.sharpness:.2f}", f"{one.offset:+.1f}", f"{one.alignment:.2f}")
        mark = "  ← best aligned" if one is best else ""
        table.add_row(str(one.layer + 1), str(one.head + 1), *numbers, one.looks_at + mark)
    return table


def visible(piece: str) -> str:
    """A piece that shows its spaces and control characters instead of acting on the terminal."""
    shown = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in piece.replace(" ", "␣"))
    return shown or "∅"


@dataclass(frozen=True)
class HeatMap:
    """Numbers from 0 to 1 as shaded cells with percentages; wraps its columns into panels where they do not fit."""

    values: list[list[float]]
    columns: list[str]
    rows: list[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        label = min(LABEL_WIDTH, max(map(cell_len, self.rows), default=1))
        room = max(CELL_WIDTH, options.max_width - label - 1)
        per_panel = max(1, min(len(self.columns), room // CELL_WIDTH))
        cell = max(CELL_WIDTH, min(WIDEST_CELL, room // per_panel, max(map(cell_len, self.columns)) + 1))
        per_panel = max(1, room // cell)
        for start in range(0, len(self.columns), per_panel):
            if start:
                yield Text()
            yield from self._panel(range(start, min(start + per_panel, len(self.columns))), label, cell, console)

    def _panel(self, columns: range, label: int, cell: int, console: Console) -> RenderResult:
        heading = Text(" " * (label + 1), no_wrap=True)
        for j in columns:
            heading.append(fitted(self.columns[j], cell - 1, right=True) + " ", style="dim")
        yield heading
        for name, row in zip(self.rows, self.values, strict=True):
            line = Text(fitted(name, label, right=True) + " ", no_wrap=True)
            for j in columns:
                line.append_text(shaded_cell(row[j], cell, colour=console.color_system in ("256", "truecolor")))
            yield line


def heat_map(pattern: Tensor, *, columns: Sequence[str], rows: Sequence[str], title: str = "") -> RenderableType:
    """A pattern (T, S) under a title."""
    drawn = HeatMap(pattern.tolist(), [visible(piece) for piece in columns], [visible(piece) for piece in rows])
    return Group(Text(title, style="bold"), drawn) if title else drawn


def shaded_cell(value: float, width: int, *, colour: bool) -> Text:
    """The percentage on a background colour; without colours, behind a shade."""
    number = f"{100 * value:.0f}" if value >= 0.005 else "·"
    if not colour:
        shade = SHADES[min(len(SHADES) - 1, round(value * (len(SHADES) - 1)))]
        return Text(f"{shade * (width - 4)}{number:>3} " if width > 4 else f"{shade}{number:>3}")
    step = min(len(RAMP) - 1, int(value * len(RAMP)))
    red, green, blue = RAMP[step]
    ink = "rgb(255,255,255)" if step < 3 else "rgb(10,25,40)"
    return Text(f"{number:>{width - 1}} ", style=f"{ink} on rgb({red},{green},{blue})")


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` terminal cells (wide characters count two), shortened with … where needed."""
    size = cell_len(text)
    if size > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
        size = cell_len(text)
    padding = " " * max(0, width - size)
    return padding + text if right else text + padding
