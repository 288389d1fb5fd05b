"""Byte-level BPE: words of any script stay whole, and text without combining marks is cut as GPT-2 cuts it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from glassformer.text import train_tokenizer
from glassformer.text.byte_level import byte_level_entries, byte_level_words

HINDI = "मुझे आइसक्रीम खाना पसंद है"
OTHERS = ["எனக்கு ஐஸ்கிரீம் பிடிக்கும்", "ฉันชอบกินไอศกรีม", "أحبُّ أكلَ المثلَّجات", "می‌خواهم", "क्\u200dष"]
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
UNMARKED = st.text(st.characters(exclude_categories=["Cs", "Mn", "Mc", "Me"], exclude_characters="\u200c\u200d"))


@given(UNMARKED)
def test_text_without_marks_is_cut_as_gpt2_cuts_it(text: str) -> None:
    assert byte_level_words().pre_tokenize_str(text) == GPT2.pre_tokenize_str(text)


@given(st.text())
def test_no_text_is_lost(text: str) -> None:
    tokenizer = train_tokenizer("bpe", [HINDI, *OTHERS, "a text"], vocab_size=300, normalization="none")
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("text", [HINDI, *OTHERS])
def test_a_word_is_letters_with_their_marks(text: str) -> None:
    assert len(byte_level_words().pre_tokenize_str(text)) == len(text.split())


def test_frequent_words_of_any_script_become_one_piece() -> None:
    tokenizer = train_tokenizer("bpe", [HINDI, *OTHERS] * 5, vocab_size=600)
    assert tokenizer.pieces(HINDI) == ["मुझे", "▁आइसक्रीम", "▁खाना", "▁पसंद", "▁है"]
    assert all(len(tokenizer.encode(text)) <= len(text.split()) for text in OTHERS)


def test_pieces_end_between_characters() -> None:
    """Merges of bytes alone would make pieces such as the end of one character with the start of the next."""
    tokenizer = train_tokenizer("bpe", ["ฉันชอบกินไอศกรีมมาก"] * 9 + ["ขอบคุณมาก"] * 5, vocab_size=330)
    pieces = {tokenizer.token(number) for number in tokenizer.encode("ฉันชอบขอบคุณ")}
    surfaces = [tokenizer.surfaces[number] for number in tokenizer.encode("ฉันชอบขอบคุณ")]
    assert len(pieces) < len("ฉันชอบขอบคุณ")
    assert [piece.decode() for piece in surfaces]  # every piece is whole characters


def test_characters_share_the_bytes_they_begin_with() -> None:
    entries = byte_level_entries(["ก", "ข"], [("ก", "ข"), ("ข", "?"), ("ค", "ก")], size=261)
    tokens, merges = [*entries.tokens], entries.merges
    assert len(tokens) == 261
    assert len(merges) == 5  # the first two bytes, each character, the two pieces made of known characters
    assert merges[0] == ("à", "¸")
    assert [left for left, _ in merges[1:3]] == ["à¸", "à¸"]
    assert len(byte_level_entries(["ก", "ข"], [("ก", "ข")], size=258).merges) == 2  # there is space for no more


def test_rare_characters_are_bytes() -> None:
    """An entry for each would leave no space for words."""
    rare = [chr(0x4E00 + i) for i in range(400)]
    tokenizer = train_tokenizer("bpe", ["дом дома домой " * 50, *rare], vocab_size=300)
    assert tokenizer.pieces("домой") == ["домой"] or len(tokenizer.encode("домой")) <= 2
    assert len(tokenizer.encode(rare[0])) == 3
    assert tokenizer.decode(tokenizer.encode(rare[0])) == rare[0]
