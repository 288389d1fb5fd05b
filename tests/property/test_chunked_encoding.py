"""Encoding by chunks gives the ids that the library gives, whatever the text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from glassformer.text import Tokenizer, chunks, train_tokenizer
from glassformer.text.chunks import ChunkEncoder, can_be_chunked

TEXTS = ["the house is old", "das Haus, das alt ist", "Привет, мир", "中文 漢字 かな", "don't they're 3.14 %s </s>"] * 3
SIGNS = (
    " \t\n\r\x0b\x1c\x85\xa0\u2003\u2028\u3000\u200b\u0301\u0323\u00b4\u0600\u0130ΣΑςaAéß'd's.,1²</s>{}中👩\u200d🦰🇩🇪"
)
ANY = st.text(st.one_of(st.sampled_from(SIGNS), st.characters(exclude_categories=("Cs",))), max_size=40)
WORDY = st.lists(st.text("aéΣ'. 1\u0301\u00a0", max_size=6), max_size=8).map(" ".join)


def tokenizers() -> list[Tokenizer]:
    forms = ("NFC", "NFD", "NFKC", "NFKD", "none")
    return [
        train_tokenizer("bpe", TEXTS, vocab_size=320, normalization=form, lowercase=lowercase)
        for form in forms
        for lowercase in (False, True)
    ]


ALL = tokenizers()


@pytest.mark.parametrize("tokenizer", ALL, ids=lambda t: str(t.normalize("´É")))
@given(texts=st.lists(st.one_of(ANY, WORDY), max_size=6))
@example(texts=["", " ", "  ", " a", "a ", "a  b", "a\u00a0 b", "a \u0301b", "´ a", "ΑΣ ΑΣ", "</s> <s>"])
@settings(deadline=None, max_examples=60)
def test_chunks_give_the_ids_of_the_whole_text(tokenizer: Tokenizer, texts: list[str]) -> None:
    flat, lengths = tokenizer.encode_flat(texts)
    expected = [tokenizer.encode(text) for text in texts]
    assert lengths.tolist() == [len(ids) for ids in expected]
    assert flat.tolist() == [number for ids in expected for number in ids]


@given(texts=st.lists(WORDY, min_size=1, max_size=30))
@settings(deadline=None, max_examples=30)
def test_forgetting_changes_nothing(texts: list[str]) -> None:
    tokenizer = ALL[0]
    before, chunks.MOST = chunks.MOST, 3
    try:
        encoder = ChunkEncoder(tokenizer.encode_batch, tokenizer.normalize)
        assert encoder(texts)[0].tolist() == [number for text in texts for number in tokenizer.encode(text)]
    finally:
        chunks.MOST = before


@pytest.mark.parametrize("kind", ["word", "char", "wordpiece"])
def test_other_kinds_go_to_the_library(kind: str) -> None:
    tokenizer = train_tokenizer(kind, TEXTS, vocab_size=200)
    assert not can_be_chunked(tokenizer._inner)
    flat, lengths = tokenizer.encode_flat(TEXTS)
    assert flat.tolist() == [number for text in TEXTS for number in tokenizer.encode(text)]
    assert lengths.tolist() == [len(tokenizer.encode(text)) for text in TEXTS]


def test_an_added_token_may_hold_a_space_so_nothing_is_chunked() -> None:
    tokenizer = train_tokenizer("bpe", TEXTS, vocab_size=320)
    assert can_be_chunked(tokenizer._inner)
    tokenizer._inner.add_tokens([AddedToken("house is", normalized=False)])
    assert not can_be_chunked(tokenizer._inner)


def test_another_thread_may_empty_the_table_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its call comes here while the first text, which cannot be chunked, is in the library."""
    monkeypatch.setattr(chunks, "MOST", 0)
    tokenizer, others = ALL[0], []

    def encode_batch(texts: Sequence[str]) -> list[list[int]]:
        if list(texts) == ["a\tb"]:
            others.append(encoder(["das Haus"])[0].tolist())
        return tokenizer.encode_batch(texts)

    encoder = ChunkEncoder(encode_batch, tokenizer.normalize)
    assert encoder(["a\tb", "the house"])[0].tolist() == [*tokenizer.encode("a\tb"), *tokenizer.encode("the house")]
    assert others == [tokenizer.encode("das Haus")]
