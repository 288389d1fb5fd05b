"""Placeholders where the model has said their masks; without all of them, the word alignment places them."""

from __future__ import annotations

import pytest

from glassformer.tasks.translation.mask_places import filled_masks, mask_groups, masked_text
from glassformer.tasks.translation.masking import masked
from glassformer.text.masks import MASKS


def numbered(text: str) -> str:
    """Masks written as digits."""
    for digit, mask in zip("123", MASKS, strict=True):
        text = text.replace(mask, digit)
    return text


def with_mask_characters(text: str) -> str:
    for digit, mask in zip("123", MASKS, strict=True):
        text = text.replace(digit, mask)
    return text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("is riding {vehicle}.", "is riding 1."),
        ("{name} eats %s now", "1 eats 2 now"),
        ("a {x} {y} b", "a 1 b"),  # several in a row are one
        ("see ({x}) now", "see 1 now"),
        ("{a}, {b}", "1, 2"),
        ("see <b>{name}</b>", "see 1"),
    ],
)
def test_the_text_with_masks(source: str, text: str) -> None:
    part = masked(source)
    assert numbered(masked_text(part.plain, mask_groups(part))) == text


@pytest.mark.parametrize(
    "source",
    [
        "a <b>red car</b> {x}",
        "{n}px wide",
        "a {x} b {x} c {x} d {x}",
        "{x}",
        "no such thing",
        "a <b> c {x} d",
        "a </i> c",
        "a <p>{x}</p> b",
        f"a {MASKS[1]} {{x}} b",
    ],
)
def test_what_masks_cannot_do(source: str) -> None:
    assert not mask_groups(masked(source))


@pytest.mark.parametrize(
    ("source", "said", "result"),
    [
        ("is riding {vehicle}.", "fährt 1.", "fährt {vehicle}."),
        ("I saw {x} and {y}.", "2 und 1 sah ich.", "{y} und {x} sah ich."),
        ("see {x} {y} now", "sieh jetzt 1.", "sieh jetzt {x} {y}."),
        ("see ({x}) now", "sieh 1 jetzt", "sieh ({x}) jetzt"),
        ("{a}, see {b} now", "Sieh 2 1", "Sieh {b} {a}"),
        ("Hello, {x}", "1, hallo", "{x}, hallo"),
        ("Hello, {x}", "Hallo, 1", "Hallo, {x}"),
        ("see {x} now", "今 1を", "今{x}を"),
        ("see {x} now", "sieh jetzt", None),
        ("see {x} now", "sieh 1 jetzt 1", None),
        ("see {x} now", "sieh 2 jetzt", None),
        ("see {x} now", "sieh 1 2 jetzt", None),
        ("%s sees %d here", "2 sieht 1", None),  # their order must stay
        ("%s sees {x} here", "2 sieht 1", "{x} sieht %s"),
    ],
)
def test_placeholders_come_where_their_masks_are(source: str, said: str, result: str | None) -> None:
    assert filled_masks(with_mask_characters(said), mask_groups(masked(source))) == result
