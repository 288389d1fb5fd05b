"""Pieces as pages show them."""

from __future__ import annotations

import pytest

from glassformer.text.pieces import on_page, visible


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        ("▁the", "␣the"),
        ("▁▁", "␣␣"),
        ("##ing", "##ing"),
        ("</s>", "‹end›"),
        ("<s>", "‹start›"),
        ("[CLS]", "‹start›"),
        ("[SEP]", "‹end›"),
        ("[MASK]", "‹mask›"),
        ("<|endoftext|>", "‹end›"),
        ("<unk>", "‹unknown›"),
        ("</s", "</s"),
        ("a</s>", "a</s>"),
        ("", ""),
    ],
)
def test_spaces_are_visible_and_special_tokens_have_names(piece: str, shown: str) -> None:
    assert on_page(piece) == shown


def test_marks_that_reorder_the_text_around_them_are_escapes() -> None:
    assert visible("a\u202eb\u2066\u200f c\x07") == "a\\u202eb\\u2066\u200f▁c\\x07"
