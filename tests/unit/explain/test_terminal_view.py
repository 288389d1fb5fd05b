"""The terminal's view fits its width, survives long and hostile pieces, and says the same without colour."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
import torch
from rich.cells import cell_len
from rich.console import Console

from glassformer.explain.terminal import explanation_view, fitted, heat_map, shaded_cell, visible
from glassformer.explain.trace import Explanation


def rendered(shown: object, *, width: int, color_system: str | None = None) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        color_system=color_system,
        force_terminal=bool(color_system),
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(explanation: Explanation, width: int) -> None:
    lines = rendered(explanation, width=width).splitlines()
    assert max(map(cell_len, lines)) <= width


def test_the_view_holds_every_token_id_and_probability(explanation: Explanation) -> None:
    text = str(explanation)
    for piece, i in zip(
        explanation.source + explanation.target, explanation.source_ids + explanation.target_ids, strict=True
    ):
        assert f"{piece}·{i}" in text
    for step in explanation.steps:
        assert f"{step.probability:.1%}" in text
    assert f"{explanation.score:.3f}" in text


def test_a_head_can_be_chosen(explanation: Explanation) -> None:
    assert "layer 2, head 1" in rendered(explanation_view(explanation, layer=1, head=0), width=100)
    layer, head = explanation.best_head()
    assert f"layer {layer + 1}, head {head + 1}" in str(explanation)


def test_a_wide_map_wraps_into_panels_with_every_column() -> None:
    pieces = [f"w{i}" for i in range(40)]
    text = rendered(heat_map(torch.eye(40), columns=pieces, rows=pieces), width=60)
    assert max(map(cell_len, text.splitlines())) <= 60
    assert text.count("100") == 40
    heading_words = {word for line in text.splitlines() for word in line.split()}
    assert set(pieces) <= heading_words


def test_wide_characters_keep_the_columns_straight() -> None:
    pieces = ["我", "吃了", "一个非常大的苹果派", "</s>"]
    lines = rendered(heat_map(torch.eye(4), columns=pieces, rows=pieces), width=80, color_system=None).splitlines()
    assert len({cell_len(line.rstrip("\n")) for line in lines}) == 1


def test_colour_shows_numbers_on_one_hue_and_no_colour_shows_shades() -> None:
    assert "▒" in shaded_cell(0.5, 6, colour=False).plain
    assert "█" in shaded_cell(1.0, 6, colour=False).plain
    assert "50" in shaded_cell(0.5, 6, colour=True).plain
    assert "48;2;" in rendered(heat_map(torch.eye(2), columns="ab", rows="ab"), width=40, color_system="truecolor")
    assert "\x1b" not in rendered(heat_map(torch.eye(2), columns="ab", rows="ab"), width=40)


def test_pieces_cannot_act_on_the_terminal() -> None:
    assert visible("a b\x1b[31m\n") == "a␣b\\x1b[31m\\x0a"
    assert visible("") == "∅"
    assert fitted("abcdef", 4) == "abc…"
    assert fitted("ab", 4, right=True) == "  ab"


def test_markup_in_pieces_stays_text(explain: Callable[..., Explanation]) -> None:
    shown = explain(piece=lambda _, i: "[bold]" if i != 2 else "</s>", text="[red]x[/red]")
    assert "[bold]·5" in str(shown)
    assert "[red]x[/red]" in str(shown)
