"""Words of running texts, and the pattern of their capitals."""

from __future__ import annotations

import pytest

from glassformer.text.casing import (
    BEGINNING,
    CAPITALS,
    DIGITS,
    FIRST,
    LOWER,
    MIXED,
    NONE,
    ONE,
    PATTERNS,
    WITH_DIGITS,
    pattern,
    patterns,
)
from glassformer.text.word_spans import word_spans


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Angela Merkel visited Paris.", "Angela|Merkel|visited|Paris|."),
        ("The U.S. bought AT&T's shares, for $3,000.", "The|U.S.|bought|AT&T|'s|shares|,|for|$|3,000|."),
        ('He said: "No!" (twice)...', 'He|said|:|"|No|!|"|(|twice|)|.|.|.'),
        ("Mr. Smith met J. Doe.", "Mr.|Smith|met|J.|Doe|."),
        ("techno-based music—loud", "techno-based|music|—|loud"),
        ("東京へ行く", "東|京|へ|行|く"),
        ("नमस्ते दुनिया।", "नमस्ते|दुनिया|।"),
        ("  -  ", "-"),
        ("", ""),
    ],
)
def test_punctuation_at_the_ends_is_a_word_of_its_own(text: str, words: str) -> None:
    assert [text[start:end] for start, end in word_spans(text)] == (words.split("|") if words else [])


def test_only_white_space_is_between_words() -> None:
    text = "«Où est-il?» 'a' ''b'' x.y.z. \u200bz e\u0301a 5% #tag @me ;;;\n\tend"
    end = 0
    for start, after in word_spans(text):
        assert not text[end:start].strip()
        assert after > start
        end = after
    assert not text[end:].strip()


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("paris", LOWER),
        ("Paris", FIRST),
        ("Jean-paul", FIRST),
        ("NATO", CAPITALS),
        ("J.", ONE),
        ("McDonald", MIXED),
        ("iPhone", MIXED),
        ("1,000", DIGITS),
        ("F16", WITH_DIGITS),
        (".", NONE),
        ("東", LOWER),
    ],
)
def test_the_pattern_of_a_word(word: str, found: int) -> None:
    assert pattern(word) == found
    assert found < len(PATTERNS)


def test_a_capital_at_the_start_of_a_sentence_says_less() -> None:
    words = ["The", "Louvre", "burned", ".", '"', "Nobody", "Died"]
    assert list(patterns(words)) == [BEGINNING, FIRST, LOWER, NONE, NONE, BEGINNING, FIRST]
