"""The terminal's view of a passage: functions from numbers to rich renderables. Nothing here prints."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from torch import Tensor

from glassformer.explain.heads import best_aligned, most_telling, summarise
from glassformer.explain.terminal import (
    candidates,
    head_title,
    heat_map,
    probability_bar,
    title_view,
    tokens_view,
    visible,
)

if TYPE_CHECKING:
    from glassformer.explain.hearing import Sublayer
    from glassformer.explain.passage import Attention, Passage, Prediction, Tokens

NAMES = {"attention": "self-attention", "self_attention": "self-attention", "cross_attention": "cross-attention"}
WORDS = ("", "looks at", "patches", "experts")  # columns of words, not of numbers
STARE = 3  # patches that are named of those that a token looked at
MOST = 32  # tokens, or heads, that have a line each


def passage_view(
    passage: Passage, *, attention: str | None = None, layer: int | None = None, head: int | None = None
) -> RenderableType:
    """The whole view. Shows the attention of the given name, layer and head (from 0), else what tells most."""
    shown = passage.attention(attention)
    parts: list[RenderableType] = [title_view(passage.text, passage.answer), Text()]
    parts += [tokens_line(tokens) for tokens in passage.tokens.values()]
    for stack, tokens in passage.tokens.items():
        parts += [Text(), inputs_view(tokens, passage.inputs(stack))]
    parts += [Text(), blocks_view(passage.sublayers), Text()]
    parts += attention_parts(shown, layer, head)
    if passage.predictions:
        parts += [Text(), predictions_view(passage.predictions, passage.predicted)]
    return Group(*parts)


def tokens_line(tokens: Tokens) -> Text:
    if tokens.grid is None:
        return tokens_view(tokens.name, tokens.pieces, tokens.ids)
    down, across = tokens.grid
    return Text.assemble(
        (f"{tokens.name:<8}", "bold"), f"{down} x {across} patches, and a token for the whole before them"
    )


def inputs_view(tokens: Tokens, lengths: dict[str, tuple[float, ...]]) -> Group:
    """The lengths of what is added up; of an image's patches, their mean."""
    table = plain_table(["", *lengths])
    shown = MOST if tokens.grid is None else 1
    for i, piece in enumerate(tokens.pieces[:shown]):
        table.add_row(Text(visible(piece)), *(f"{numbers[i]:.2f}" for numbers in lengths.values()))
    if rest := len(tokens.pieces) - shown if len(tokens.pieces) > shown else 0:
        name = f"mean of {rest} {'more' if tokens.grid is None else 'patches'}"
        table.add_row(name, *(f"{mean(numbers[shown:]):.2f}" for numbers in lengths.values()))
    return under(f"What goes in ({tokens.name}): lengths of vectors", table)


def blocks_view(sublayers: Sequence[Sublayer]) -> Group:
    """One line for each sub-layer: how long the stream's vectors are, and how much is added. Means over all tokens."""
    mixed = any(one.experts for one in sublayers)
    table = plain_table(["block", "", "stream", "adds", "after", "norm", "inner on", *(["experts"] if mixed else [])])
    for one in sublayers:
        stack = f"{one.stack} " if one.stack else ""
        name = NAMES.get(one.name, one.name.replace("_", "-"))
        lengths = [f"{mean(values):.2f}" for values in (one.before, one.added, one.after)]
        scale = f"{mean(one.scale):.3f}" if one.scale else ""
        active = "" if one.active is None else f"{one.active:.0%}"
        table.add_row(
            f"{stack}{one.block + 1}",
            name,
            *lengths,
            scale,
            active,
            *([" ".join(map(str, one.experts))] if mixed else []),
        )
    heading = "What each block does: lengths of vectors, what the norm divides by, the share of inner values above 0"
    return under(f"{heading}{', tokens of each expert' if mixed else ''}", table)


def attention_parts(attention: Attention, layer: int | None, head: int | None) -> list[RenderableType]:
    """One head's map, and a line on each head."""
    wanted = (layer, head)
    if layer is None and head is None:
        aligned = attention.name == "cross" and attention.keys.grid is None
        wanted = (best_aligned if aligned else most_telling)(attention.patterns)
    pattern = attention.pattern(*wanted)
    where = f"{attention_title(attention)}, {head_title(*wanted)}"
    if attention.keys.grid is not None:
        return [*image_parts(attention, pattern, where), heads_table(attention, wanted[0])]
    return [
        heat_map(
            pattern,
            columns=attention.keys.pieces,
            rows=attention.queries.pieces,
            title=f"{where}: which pieces (columns) each piece (row) looks at",
        ),
        Text(),
        heads_table(attention, wanted[0]),
    ]


def attention_title(attention: Attention) -> str:
    names = {"self": "Self-attention", "cross": "Cross-attention"}
    return names.get(attention.name, f"Self-attention of the {attention.name}")


def image_parts(attention: Attention, pattern: Tensor, where: str) -> list[RenderableType]:
    """Where in the image is looked: from the token for the whole, or from all tokens of a text together."""
    assert attention.keys.grid is not None
    down, across = attention.keys.grid
    own = attention.queries is attention.keys
    looked = (pattern[:1] if own else pattern).mean(0)  # (K,)
    grid = looked[1:].unflatten(0, (down, across))
    share = float(grid.max())
    who = "the token for the whole" if own else "the text, in the mean,"
    head = f"{where}: where {who} looks; 100 is the most, {share:.1%} of all. Not at a patch: {float(looked[0]):.0%}"
    parts: list[RenderableType] = [
        heat_map(
            grid / share if share else grid,
            columns=[str(i + 1) for i in range(across)],
            rows=[str(i + 1) for i in range(down)],
            title=head,
        ),
        Text(),
    ]
    return parts if own else [*parts, stares_view(attention, pattern), Text()]


def stares_view(attention: Attention, pattern: Tensor) -> Group:
    """The patches that each token looked at most."""
    table = plain_table(["token", "patches"])
    best = pattern[:, 1:].topk(min(STARE, pattern.size(1) - 1), dim=-1)
    for piece, shares, places in zip(
        attention.queries.pieces, best.values.tolist(), best.indices.tolist(), strict=True
    ):
        names = (attention.keys.pieces[1 + place] for place in places)
        table.add_row(Text(visible(piece)), "  ".join(f"{n} {p:.1%}" for n, p in zip(names, shares, strict=True)))
    return under("Where each token looks most: patch (down, across) and share", table)


def heads_table(attention: Attention, layer: int | None) -> Group:
    """One line for each head, or where there are many for those of one layer: how sharp, how far, what that means."""
    image = attention.keys.grid is not None
    table = plain_table(["layer", "head", "sharpness", "on the first"] + ([] if image else ["offset", "looks at"]))
    summaries = summarise(attention.patterns)
    some = len(summaries) > MOST and layer is not None
    for one in summaries:
        if some and one.layer != layer:
            continue
        numbers = [str(one.layer + 1), str(one.head + 1), f"{one.sharpness:.2f}", f"{one.first_share:.0%}"]
        table.add_row(*numbers, *([] if image else [f"{one.offset:+.1f}", one.looks_at]))
    others = f" (of {attention.patterns.size(0)} layers; --layer shows another)" if some else ""
    return under(f"What each head of the {attention_title(attention).lower()} looks at{others}", table)


def predictions_view(predictions: Sequence[Prediction], predicted: str) -> Group:
    """One row for each place: what came or was there, how likely it was, and what else was near."""
    known = any(one.probability is not None for one in predictions)
    table = Table(box=None, pad_edge=False)
    table.add_column("at", max_width=16, no_wrap=True, overflow="ellipsis")
    if known:
        table.add_column("came", style="bold", max_width=16, no_wrap=True, overflow="ellipsis")
        table.add_column("probability", no_wrap=True)
    table.add_column("most probable", overflow="fold")
    for one in predictions:
        came = [Text(visible(one.what)), probability_bar(one.probability)] if one.probability is not None else ["", ""]
        table.add_row(Text(visible(one.at)), *(came if known else []), candidates(one.top, one.what))
    return under(predicted, table)


def plain_table(columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if name in WORDS or i == 0 else "right", no_wrap=name not in WORDS)
    return table


def under(heading: str, table: Table) -> Group:
    """A heading as wide as the terminal, not as the table."""
    return Group(Text(heading, style="bold"), table)
