"""An explanation for the terminal: functions from numbers to rich renderables. Nothing here prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from torch import Tensor

from glassformer.explain.heads import best_aligned, most_selective, summarise
from glassformer.explain.heat_map import heat_map, visible

if TYPE_CHECKING:
    from glassformer.explain.explanation import Attention, Candidate, Explanation, Tokens
    from glassformer.explain.gates import Gates
    from glassformer.explain.tap_values import Sublayer

ALL = "all"  # instead of the name of one attention
SUBLAYERS = {"attention": "self-attention", "self_attention": "self-attention", "cross_attention": "cross-attention"}
LEFT = ("", "looks at", "patches", "experts")  # columns of text, not of numbers
PATCHES_SHOWN = 3  # the most attended patches of each token
SHADES = " ░▒▓█"
MAP_WIDTH, MAPS_WIDTH = 10, 96  # characters of a map at least, and of maps side by side
LINES = 32  # the most tokens, or heads, that get a line each


def explanation_view(
    explanation: Explanation, *, attention: str | None = None, layer: int | None = None, head: int | None = None
) -> RenderableType:
    """The whole view, in the order in which the model computes.

    `attention` is a name or "all"; layer and head are counted from 0. Without them, the most informative one is shown.
    """
    asked = attention != ALL and (attention is not None or explanation.attentions)
    shown = [explanation.attention(attention)] if asked else explanation.attentions
    refuse_place(explanation, layer, head)
    parts: list[RenderableType] = [title_view(explanation.text, explanation.answer), Text()]
    parts += [tokens_line(tokens) for tokens in read_and_written(explanation)]
    for stack, tokens in explanation.tokens.items():
        parts += [Text(), inputs_view(tokens, explanation.inputs(stack))]
    if explanation.sublayers:
        parts += [Text(), blocks_view(explanation.sublayers)]
    for layer_ in explanation.gates:
        parts += [Text(), gates_view(layer_, explanation.tokens[layer_.stack])]
    for one in shown:
        parts += [Text(), *attention_parts(one, layer, head)]
    if explanation.number is not None:
        parts += [Text(), Text(f"{explanation.predicted}: {explanation.number:.3f}", style="bold")]
    if explanation.predictions:
        parts += [Text(), predictions_view(explanation)]
    return Group(*parts)


def refuse_place(explanation: Explanation, layer: int | None, head: int | None) -> None:
    """An error for a layer or head of a model without attention."""
    if not explanation.attentions and (layer, head) != (None, None):
        explanation.attention("cross")


def title_view(text: str, answer: str) -> Text:
    """The input, and the answer if there is one; control characters are escaped."""
    given, written = (" ".join(visible(word) for word in one.split(" ") if word) for one in (text, answer))
    return Text.assemble(given, ("  →  ", "bold"), (written, "bold")) if written else Text(given, style="bold")


# Tokens


def read_and_written(explanation: Explanation) -> list[Tokens]:
    """The tokens that were read, then those that were written: for a decoder, what it chose, not its inputs."""
    if explanation.written is None:
        return list(explanation.tokens.values())
    return [explanation.tokens["encoder"], explanation.written]


def tokens_line(tokens: Tokens) -> Text:
    """`source  I·40 ate·217 ...`: each piece with its id. Wraps at the end of the line."""
    line = Text(f"{tokens.name:<8}", style="bold")
    if tokens.grid is not None:
        return line.append(
            f"{tokens.grid[0]} x {tokens.grid[1]} patches, after a token for the whole image", "not bold"
        )
    for piece, number in zip(tokens.pieces, tokens.ids, strict=True):
        line.append(visible(piece), style="not bold")
        line.append(f"·{number}", style="not bold dim")
        line.append("  ")
    return line


def inputs_view(tokens: Tokens, lengths: Mapping[str, tuple[float, ...]]) -> Group:
    """The lengths of the vectors added for each token; for the patches of an image, their mean."""
    table = plain_table(["", *lengths])
    shown = LINES if tokens.grid is None else 1
    for i, piece in enumerate(tokens.pieces[:shown]):
        table.add_row(Text(visible(piece)), *(f"{numbers[i]:.2f}" for numbers in lengths.values()))
    rest = len(tokens.pieces) - shown
    if rest > 0:
        name = f"mean of {rest} {'more' if tokens.grid is None else 'patches'}"
        table.add_row(name, *(f"{mean(numbers[shown:]):.2f}" for numbers in lengths.values()))
    return under(f"Input vectors ({tokens.name}): their lengths", table)


# Blocks


def blocks_view(sublayers: Sequence[Sublayer]) -> Group:
    """One line per sub-layer: the length of the residual stream, and of what is added. Means over all tokens."""
    mixed = any(one.experts for one in sublayers)
    table = plain_table(["block", "", "stream", "adds", "after", "norm", "inner on", *(["experts"] if mixed else [])])
    for one in sublayers:
        table.add_row(
            f"{one.stack} {one.block + 1}".strip(),
            SUBLAYERS.get(one.name, one.name.replace("_", "-")),
            *(f"{mean(values):.2f}" for values in (one.before, one.added, one.after)),
            f"{mean(one.scale):.3f}" if one.scale else "",
            "" if one.active is None else f"{one.active:.0%}",
            *([" ".join(map(str, one.experts))] if mixed else []),
        )
    heading = "What each block does: lengths of vectors, the norm's divisor, the share of inner values above 0"
    return under(f"{heading}{', tokens per expert' if mixed else ''}", table)


def gates_view(layer: Gates, tokens: Tokens) -> Group:
    """One recurrent layer: one line per token."""
    table = plain_table(["", *layer.columns])
    for i, piece in enumerate(tokens.pieces[:LINES]):
        table.add_row(Text(visible(piece)), *(f"{numbers[i]:.2f}" for numbers in layer.columns.values()))
    if len(tokens.pieces) > LINES:
        table.add_row(
            f"mean of {len(tokens.pieces) - LINES} more", *(f"{mean(n[LINES:]):.2f}" for n in layer.columns.values())
        )
    named = " ".join(word for word in (layer.stack, f"layer {layer.block + 1}", layer.part) if word)
    return under(f"Gates of {named}: how open (0 to 1, mean of all units), and the lengths of the states", table)


# Attention


def attention_parts(attention: Attention, layer: int | None, head: int | None) -> list[RenderableType]:
    """The map of one head, a line about each head, and for cross-attention to tokens also the mean of all heads."""
    aligned = attention.name == "cross" and attention.keys.grid is None
    place = (layer, head)
    if place == (None, None):
        place = (best_aligned if aligned else most_selective)(attention.patterns)
    pattern, where = attention.pattern(*place), f"{attention_title(attention)}, {place_title(*place)}"
    if attention.keys.grid is not None:
        return [*image_parts(attention, pattern, where), heads_view(attention, place[0])]
    axes = "which source pieces (columns) each written piece (row) reads" if aligned else ""
    columns, rows = attention.keys.pieces, attention.queries.pieces
    title = f"{where}: {axes or 'which pieces (columns) each piece (row) reads'}"
    parts: list[RenderableType] = [heat_map(pattern, columns=columns, rows=rows, title=title), Text()]
    if aligned:
        title = f"{attention_title(attention)}, {place_title(None, None)}"
        parts += [heat_map(attention.pattern(), columns=columns, rows=rows, title=title), Text()]
    return [*parts, heads_view(attention, place[0], aligned=aligned)]


def attention_title(attention: Attention) -> str:
    names = {"self": "Self-attention", "cross": "Cross-attention"}
    return names.get(attention.name, f"Self-attention of the {attention.name}")


def place_title(layer: int | None, head: int | None) -> str:
    """Layer and head, counted from 1."""
    parts = [f"{what} {i + 1}" for what, i in (("layer", layer), ("head", head)) if i is not None]
    return ", ".join(parts) or "mean of all heads"


def image_parts(attention: Attention, pattern: Tensor, where: str) -> list[RenderableType]:
    """Which patches are read: by the token for the whole image, or by all tokens of a text together."""
    assert attention.keys.grid is not None
    down, across = attention.keys.grid
    own = attention.queries is attention.keys
    read = (pattern[:1] if own else pattern).mean(0)  # (K,)
    grid = read[1:].unflatten(0, (down, across))
    share = float(grid.max())
    who = "the token for the whole image" if own else "the text (mean of its tokens)"
    title = f"{where}: which patches {who} reads; 100 is the most, {share:.1%}. Not patches: {float(read[0]):.0%}"
    columns, rows = ([str(i + 1) for i in range(count)] for count in (across, down))
    parts = [heat_map(grid / share if share else grid, columns=columns, rows=rows, title=title), Text()]
    return parts if own else [*parts, token_maps(attention, pattern), Text(), patches_view(attention, pattern), Text()]


def token_maps(attention: Attention, pattern: Tensor) -> Group:
    """A small map of the image for each token: the darker a patch, the more of it the token reads."""
    assert attention.keys.grid is not None
    across = max(2 * attention.keys.grid[1], MAP_WIDTH)
    each = max(1, MAPS_WIDTH // (across + 2))
    lines: list[RenderableType] = [Text("The patches that each token reads", style="bold")]
    named = list(zip(attention.queries.pieces, pattern[:, 1:], strict=True))
    for start in range(0, min(len(named), LINES), each):
        part = named[start : start + each]
        maps = [shaded_map(weights.unflatten(0, attention.keys.grid)) for _, weights in part]
        lines.append(Text("  ".join(f"{visible(piece)[:across]:<{across}}" for piece, _ in part)))
        lines += [Text("  ".join(f"{row:<{across}}" for row in rows)) for rows in zip(*maps, strict=True)]
    return Group(*lines)


def shaded_map(grid: Tensor) -> list[str]:
    """(down, across) -> a line of text for each row; the largest value is full."""
    most = float(grid.max()) or 1.0
    return ["".join(2 * SHADES[min(4, int(5 * value / most))] for value in row) for row in grid.tolist()]


def patches_view(attention: Attention, pattern: Tensor) -> Group:
    """The patches that each token reads most."""
    table = plain_table(["token", "patches"])
    best = pattern[:, 1:].topk(min(PATCHES_SHOWN, pattern.size(1) - 1), dim=-1)
    for piece, shares, places in zip(
        attention.queries.pieces, best.values.tolist(), best.indices.tolist(), strict=True
    ):
        names = (attention.keys.pieces[1 + place] for place in places)
        table.add_row(Text(visible(piece)), "  ".join(f"{n} {p:.1%}" for n, p in zip(names, shares, strict=True)))
    return under("The patches that each token reads most: row, column and share", table)


def heads_view(attention: Attention, layer: int | None, *, aligned: bool = False) -> Group:
    """One line per head, or per head of one layer if there are many: sharpness, share of the first key, distance."""
    image = attention.keys.grid is not None
    columns = ["layer", "head", "sharpness", "first"] + ([] if image else ["offset"])
    table = plain_table(columns + (["alignment"] if aligned else []) + ([] if image else ["looks at"]))
    summaries = summarise(attention.patterns)
    one_layer = len(summaries) > LINES and layer is not None
    for one in summaries:
        if one_layer and one.layer != layer:
            continue
        row = [str(one.layer + 1), str(one.head + 1), f"{one.sharpness:.2f}", f"{one.first_share:.0%}"]
        row += ([] if image else [f"{one.offset:+.1f}"]) + ([f"{one.alignment:.2f}"] if aligned else [])
        table.add_row(*row, *([] if image else [one.looks_at]))
    others = f" (of {attention.patterns.size(0)} layers; --layer shows another)" if one_layer else ""
    drawn = under(f"What each head of the {attention_title(attention).lower()} looks at{others}", table)
    best = f"Best aligned: {place_title(*best_aligned(attention.patterns))}"
    return Group(drawn, Text(best, style="dim")) if aligned else drawn


# Predictions


def predictions_view(explanation: Explanation) -> Group:
    """One row per place: the chosen or actual token with its probability, and the most probable candidates."""
    found, writes = explanation.predictions, explanation.written is not None
    known = any(one.probability is not None for one in found)
    table = Table(box=None, pad_edge=False)
    table.add_column("#" if writes else "at", max_width=16, no_wrap=True, justify="right" if writes else "left")
    if known:
        table.add_column("chosen" if writes else "actual", style="bold", max_width=16, no_wrap=True)
        table.add_column("probability", no_wrap=True)
    table.add_column("most probable", overflow="fold")
    for one in found:
        own = ["", ""] if one.probability is None else [Text(visible(one.chosen)), probability_bar(one.probability)]
        table.add_row(Text(visible(one.at)), *(own if known else []), candidates_line(one.top, one.id))
    drawn = under(explanation.predicted, table)
    if explanation.score is None:
        return drawn
    return Group(drawn, Text(f"Sum of log-probabilities {explanation.score:.3f}", style="dim"))


def probability_bar(probability: float, *, width: int = 8) -> Text:
    filled = round(probability * width)
    return Text.assemble(f"{probability:6.1%} ", ("━" * filled, "blue"), ("─" * (width - filled), "dim"))


def candidates_line(top: Sequence[Candidate], chosen: int | None) -> Text:
    """`apple·.910  apples·.041 ...`. The chosen one is underlined, which also works without colours."""
    parts = Text()
    for one in top:
        parts.append(visible(one.piece), style="underline" if one.id == chosen else "")
        parts.append(f"·{one.probability:.3f}  ".replace("·0.", "·."), style="dim")
    return parts


# Tables


def plain_table(columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for i, name in enumerate(columns):
        text = name in LEFT or i == 0
        table.add_column(name, justify="left" if text else "right", no_wrap=name not in LEFT)
    return table


def under(heading: str, table: Table) -> Group:
    """A table under a heading that may be wider than the table."""
    return Group(Text(heading, style="bold"), table)
