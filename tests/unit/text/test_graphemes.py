"""Grapheme clusters: what a reader calls one character."""

from __future__ import annotations

import pytest

from glassformer.text import graphemes


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("👨‍👩‍👧‍👦👍🏽", ["👨‍👩‍👧‍👦", "👍🏽"]),
        ("🇩🇪🇮🇳🇫", ["🇩🇪", "🇮🇳", "🇫"]),
        ("1️⃣#️⃣", ["1️⃣", "#️⃣"]),
        ("e\u0301a\u0308\u0323", ["e\u0301", "a\u0308\u0323"]),
        ("\u1112\u1161\u11ab\u1100\u1173", ["\u1112\u1161\u11ab", "\u1100\u1173"]),  # Hangul jamo
        ("நிலா", ["நி", "லா"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("a\r\nb\n\nc", ["a", "\r\n", "b", "\n", "\n", "c"]),
        ("", []),
    ],
)
def test_clusters(text: str, clusters: list[str]) -> None:
    assert graphemes(text) == clusters


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("क्षि", ["क्षि"]),
        ("हिन्दी", ["हि", "न्दी"]),
        ("क\u094d\u094dत", ["क\u094d\u094dत"]),
        ("क\u094d\u200dत", ["क\u094d\u200dत"]),
        ("क\u093c\u200d\u094dत", ["क\u093c\u200d\u094dत"]),
        ("क्त्य", ["क्त्य"]),
        ("क\u094da", ["क\u094d", "a"]),
        ("क\u094d\u200cत", ["क\u094d\u200c", "त"]),  # the non-joiner breaks the conjunct
        ("কত", ["ক", "ত"]),
        ("ല്ലി", ["ല്ലി"]),
        ("\u0d4eക\u0d4dക", ["\u0d4eക\u0d4dക"]),
    ],
)
def test_conjuncts_stay_together(text: str, clusters: list[str]) -> None:
    """Rule GB9c, with the lines of Unicode's own GraphemeBreakTest among the cases."""
    assert graphemes(text) == clusters
