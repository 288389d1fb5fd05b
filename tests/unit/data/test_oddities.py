"""Oddities that are told, and the honest uses of the same signs."""

from __future__ import annotations

import pytest

from glassformer.data.checks.blocks import Block
from glassformer.data.checks.oddities import ODDITIES, found_in


def odd(text: str) -> dict[str, str]:
    """The oddities of a text, here as a source."""
    return {name: detail for name, _, detail in found_in(Block([text], ["gut"]))}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("no-break-space", "Gib\xa0mir dein Geld"),
        ("no-break-space", "geschähe,\xa0was dann"),
        ("zero-width", "so \u200b\u200bgroß"),
        ("zero-width", "wo\u200crd"),
        ("zero-width", "\ufeffstart"),
        ("direction-mark", "left\u200f right"),
        ("soft-hyphen", "Pe\xadni\xadzil\xadlin"),
        ("html-entity", "red &amp; black"),
        ("html-entity", "it&#39;s"),
        ("html-entity", "&#x2019;"),
        ("decomposed", "a\u0308hnlich"),
        ("lone-mark", "\u0301accent"),
        ("lone-mark", "an \u0301 accent"),
        ("private-use", "a \ue000 sign"),
        ("private-use", "a \uffff sign"),
        ("tab", "a\tb"),
        ("double-space", "two  spaces"),
    ],
)
def test_an_oddity_is_found_and_reported_with_its_side(kind: str, text: str) -> None:
    assert list(odd(text)) == [kind]
    assert odd(text)[kind].startswith("source: ")


@pytest.mark.parametrize(
    "text",
    [
        "plain text, nothing odd: 100 % & more; R&D; AT&T; fish &chips;",
        "« Bonjour\xa0!\xa0»",
        "10\u202f000\xa0€, 5\xa0kg, 4.\xa0Juli, Oberst a.\u202fD., Wort —\xa0Wort",
        "w\xa0domu",
        "می\u200cخواهم",
        "क्\u200dष",
        "👩\u200d💻",
        "មិន\u200bអាច",
        "שלום\u200f world",
        "ähnlich, été, Việt Nam",
        "שָׁלוֹם",
        "हिन्दी में",
        "ภาษาไทย",
        "한국어",
    ],
)
def test_honest_uses_are_left_alone(text: str) -> None:
    assert odd(text) == {}


def test_a_pair_has_an_oddity_once() -> None:
    found = list(found_in(Block(["a  b", "c", "d\te"], ["x  y", "z  z", "f"])))
    assert found == [
        ("tab", 2, "source: U+0009"),
        ("double-space", 0, "source: two spaces"),
        ("double-space", 1, "target: two spaces"),
    ]


def test_every_oddity_has_its_name_and_help() -> None:
    assert all(name == one.name and len(one.help) > 10 for name, one in ODDITIES.items())
