"""Texts as they come into being: whole letters only, and nothing lost."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.text import Tokenizer, train_tokenizer
from glassformer.text.sentencepiece import BPE, BYTE, CONTROL, UNKNOWN, Piece, SentencePieceModel, tokenizer_of
from glassformer.text.unfolding import HALF, Unfolding, text_after

LINES = ["the cat sat on the mat", "a naïve café in Zürich", "cats and mats, and that is that"] * 3


@cache
def tokenizer(kind: str) -> Tokenizer:
    if kind != "sentencepiece":
        return train_tokenizer(kind, LINES, vocab_size=300 if kind == "bpe" else 60)
    marks = [Piece("<unk>", 0.0, UNKNOWN), Piece("<s>", 0.0, CONTROL), Piece("</s>", 0.0, CONTROL)]
    bytes_ = [Piece(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    words = [Piece(text, -float(i)) for i, text in enumerate(["▁t", "▁th", "▁a", "at", *"▁theasmct"])]
    return Tokenizer(tokenizer_of(SentencePieceModel((*marks, *bytes_, *words), kind=BPE, byte_fallback=True)))


KINDS = ["bpe", "word", "wordpiece", "char", "sentencepiece"]


def pieces(tokenizer: Tokenizer, ids: list[int], before: list[int]) -> list[str]:
    unfolding = Unfolding(tokenizer, before)
    return [*(unfolding.add([number]) for number in ids), unfolding.rest()]


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_the_text_after_the_tokens_before(kind: str) -> None:
    found = tokenizer(kind)
    ids = found.encode("the cat sat on a mat")
    for cut in range(len(ids)):
        before, after = ids[:cut], ids[cut:]
        expected = found.decode(ids)[len(found.decode(before)) :]
        assert "".join(pieces(found, after, before)) == expected
        assert text_after(found, after, before) == expected


@pytest.mark.parametrize("kind", ["bpe", "sentencepiece"])
def test_half_a_letter_waits(kind: str) -> None:
    found = tokenizer(kind)
    shown = pieces(found, found.encode("a 🙂 ü!"), [])
    assert "".join(shown) == "a 🙂 ü!"
    assert not any(HALF in piece for piece in shown)
    assert "" in shown[:-1], "some tokens are only part of a letter"


def test_bytes_that_never_become_a_letter_are_returned_at_the_end() -> None:
    found = tokenizer("bpe")
    ids = found.encode("a🙂")
    shown = pieces(found, ids[:-1], [])
    assert shown[0] == "a"
    assert shown[-1].startswith(HALF)
    assert "".join(shown) == found.decode(ids[:-1])


@given(st.lists(st.integers(4, 299), max_size=12))
def test_any_tokens_unfold_to_their_text(ids: list[int]) -> None:
    """Whatever a model may say: bytes in any order."""
    found = tokenizer("bpe")
    ids = [number for number in ids if number < len(found)]
    before = found.encode("the")
    assert "".join(pieces(found, ids, before)) == text_after(found, ids, before)
    assert "".join(pieces(found, ids, [])) == found.decode(ids)
