"""Marks that would turn the text around them are written as escapes; those that texts use well stay."""

from __future__ import annotations

import pytest

from glassformer.printable import opening, with_article, with_visible_directions


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a \u2067b\u2069 c", "a \u2067b\u2069 c"),
        ("a \u202bb\u202c c", "a \u202bb\u202c c"),
        ("a \u202eb\u202c c", "a \\u202eb\\u202c c"),  # overrides never stay
        ("a \u2067b", "a \\u2067b"),
        ("a \u2069b", "a \\u2069b"),
        ("\u2067a\nb\u2069", "\\u2067a\nb\\u2069"),  # not on one line
        ("\u2067a\u202ab\u2069c\u202c", "\u2067a\\u202ab\u2069c\\u202c"),  # an isolate ends what is open in it
        ("\u202aa\u2069b\u202c", "\u202aa\\u2069b\u202c"),  # no isolate is open
        ("\u202aa\u2067b\u2069c\u202c", "\u202aa\u2067b\u2069c\u202c"),
    ],
)
def test_marks_that_reach_further_are_seen(text: str, shown: str) -> None:
    assert with_visible_directions(text) == shown


def test_kinds_of_models_have_the_article_that_is_spoken() -> None:
    kinds = ("bert", "lstm", "lstm_lm", "rnn_attention", "roformer", "llama", "transformer", "bilstm")
    assert [with_article(kind).split()[0] for kind in kinds] == ["a", "an", "an", "an", "a", "a", "a", "a"]
    assert opening("lstm") == "An lstm"


def test_a_line_of_nothing_else_takes_linear_time() -> None:
    """Looking at all open marks for each one that closes took hours for this line."""
    text = "\u202a" * 300_000 + "\u2069" * 300_000
    assert with_visible_directions(text) == "\\u202a" * 300_000 + "\\u2069" * 300_000
