"""The colours of the report can be read and told apart, in every theme (WCAG 2: 4.5 for text, 3 for graphics)."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

STYLE = files("glassformer.explain").joinpath("assets", "style.css").read_text(encoding="utf-8")
BACKGROUNDS = ("paper", "card")
TEXT = ("ink", "soft", "good", "bad")
GRAPHICS = ("first", "second", "third", "ramp", "negative", "positive")
LEVELS = 21


def themes() -> dict[str, dict[str, str]]:
    """The custom properties of each theme; dark and print change those of light."""
    light, dark, printed = re.findall(r":root \{(.*?)\}", STYLE, flags=re.S)
    found = [dict(re.findall(r"--([\w-]+): ([^;]+);", block)) for block in (light, dark, printed)]
    return {"light": found[0], "dark": found[0] | found[1], "print": found[0] | found[2]}


def channels(colour: str) -> tuple[float, ...]:
    digits = colour.removeprefix("#")
    digits = "".join(2 * sign for sign in digits) if len(digits) == 3 else digits
    return tuple(int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))


def luminance(colour: tuple[float, ...]) -> float:
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(one: str, other: str, share: float) -> tuple[float, ...]:
    return tuple(share * a + (1 - share) * b for a, b in zip(channels(one), channels(other), strict=True))


@pytest.mark.parametrize("theme", themes())
def test_text_and_graphics_can_be_read(theme: str) -> None:
    colours = themes()[theme]
    wanted = [(name, ground, 4.5) for name in TEXT for ground in BACKGROUNDS]
    wanted += [(name, ground, 3.0) for name in GRAPHICS for ground in BACKGROUNDS]
    wanted += [("ink", "mark", 4.5), ("paper", "ink", 4.5), ("faint", "paper", 3.0), ("faint", "card", 3.0)]
    found = {(a, b): contrast(channels(colours[a]), channels(colours[b])) for a, b, _ in wanted}
    assert {(a, b): found[a, b] for a, b, least in wanted if found[a, b] < least} == {}


@pytest.mark.parametrize("theme", themes())
def test_the_darkest_shade_of_a_table_leaves_its_numbers_readable(theme: str) -> None:
    colours = themes()[theme]
    ground = mixed(colours["ramp"], colours["paper"], float(colours["shade"]))
    assert contrast(channels(colours["ink"]), ground) >= 4.5


@pytest.mark.parametrize("theme", themes())
@pytest.mark.parametrize("end", ["ramp", "negative", "positive"])
def test_black_or_white_can_be_read_on_every_cell_of_a_matrix(theme: str, end: str) -> None:
    """The rule of `inkOn` in draw.js, with the limit that it has there."""
    script = files("glassformer.explain").joinpath("assets", "draw.js").read_text(encoding="utf-8")
    limit = re.search(r"luminance\(channels\) > ([\d.]+) \? \"#000000\" : \"#ffffff\"", script)
    assert limit
    colours = themes()[theme]
    for i in range(LEVELS):
        cell = mixed(colours[end], colours["card"], i / (LEVELS - 1))
        ink = "#000000" if luminance(cell) > float(limit[1]) else "#ffffff"
        assert contrast(channels(ink), cell) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_negative_and_positive_are_blue_and_orange(theme: str) -> None:
    red, _, blue = channels(themes()[theme]["negative"])
    assert blue > red
    red, _, blue = channels(themes()[theme]["positive"])
    assert red > blue
