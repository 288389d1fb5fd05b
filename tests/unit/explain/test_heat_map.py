"""Attention tables fit the terminal, survive long and hostile labels, and say the same without colour."""

from __future__ import annotations

import io

import pytest
import torch
from rich.cells import cell_len
from rich.console import Console

from glassformer.explain.heat_map import LEFT_TO_RIGHT, column_groups, fitted, heat_map, shaded_cell, visible


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


@pytest.mark.parametrize("width", [30, 60, 80, 120])
def test_a_wide_map_is_cut_into_groups_of_columns_with_all_labels(width: int) -> None:
    rows, columns = [f"row{i}" for i in range(7)], [f"word{i}" for i in range(40)]
    pattern = torch.zeros(7, 40)
    pattern[2] = 0.5
    text = rendered(heat_map(pattern, columns=columns, rows=rows), width=width)
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= width
    assert text.count(" 50") == 40
    groups = sum(line.startswith("columns ") for line in lines)
    assert groups > 1
    assert lines[0].startswith("columns 1-")
    assert lines[-9].endswith("-40 of 40"), "then a heading and seven rows"
    assert len(lines) == groups * (2 + 7) + groups - 1, "each group has its heading, all rows, and space before it"
    assert all(sum(row in line.split() for line in lines) == groups for row in rows)
    words = {word for line in lines for word in line.split()}
    assert set(columns) <= words, "no label is shortened while there is space for it"


def test_columns_are_as_wide_as_their_labels() -> None:
    assert list(column_groups([5, 5, 9, 5], 19)) == [range(3), range(3, 4)]
    assert list(column_groups([30, 30], 10)) == [range(1), range(1, 2)]
    assert list(column_groups([], 10)) == []
    text = rendered(heat_map(torch.eye(3), columns=["a", "bicycle", "c"], rows="abc"), width=80)
    assert text.splitlines()[0].rstrip() == "     a bicycle    c"
    assert "columns" not in text


def test_wide_characters_keep_the_columns_straight() -> None:
    pieces = ["我", "吃了", "一个非常大的苹果派", "👨\u200d👩\u200d👧", "שלום", "و", "\u0301", "</s>"]
    lines = rendered(heat_map(torch.eye(8), columns=pieces, rows=pieces), width=80).splitlines()
    assert len({cell_len(line.rstrip("\n")) for line in lines}) == 1


def test_colour_shows_numbers_on_one_hue_and_no_colour_shows_shades() -> None:
    assert shaded_cell(0.5, 6, colour=False).plain == "▒▒ 50 "
    assert shaded_cell(1.0, 5, colour=False).plain == "█100 "
    assert shaded_cell(0.5, 6, colour=True).plain == "   50 "
    assert "48;2;" in rendered(heat_map(torch.eye(2), columns="ab", rows="ab"), width=40, color_system="truecolor")
    assert "\x1b" not in rendered(heat_map(torch.eye(2), columns="ab", rows="ab"), width=40)


def test_pieces_cannot_act_on_the_terminal() -> None:
    assert visible("a b\x1b[31m\n") == "a␣b\\x1b[31m\\x0a"
    assert visible("a\u202eb\u2028") == "a\\u202eb\\u2028"
    assert visible("") == "∅"
    assert visible("\u0301") == "◌\u0301", "a combining mark alone would change the character before it"
    assert fitted("abcdef", 4) == "abc…"
    assert fitted("ab", 4) == "  ab"


def test_text_from_right_to_left_does_not_move_the_numbers_beside_it() -> None:
    for text in ("שלום", "سلام", "a ب"):
        shown = visible(text)
        assert shown[0] == shown[-1] == LEFT_TO_RIGHT
        assert cell_len(shown) == len(text)
    assert visible("grüße 我") == "grüße␣我"
    cut = fitted("שלוםשלום", 5)
    assert (cut[0], cut[-1], cell_len(cut)) == (LEFT_TO_RIGHT, LEFT_TO_RIGHT, 5)
