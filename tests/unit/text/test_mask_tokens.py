"""Mask tokens: one id each with every kind of tokenizer, and never confused with text."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from glassformer.text import SPECIAL_TOKENS, TOKENIZERS, Tokenizer, train_tokenizer
from glassformer.text.masks import MASK_TOKENS, MASKS, MaskCodec, has_masks, mask_codecs, mask_ids

ONE, TWO, THREE = MASKS
TEXTS = ["the dog sees a cat, the dog eats.", "a cat (the dog) sees the cat!", "eats the dog? a cat eats <mask1> "] * 3
MASKED = [
    f"the {ONE} sees a {TWO}, the dog {THREE}.",
    f"{ONE} sees the cat",
    f"the dog {ONE} {TWO} eats {THREE}",
    f"{TWO}",
    "the dog sees a cat",
]


@pytest.fixture(scope="module", params=sorted(TOKENIZERS))
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(request.param, TEXTS, vocab_size=300, extra=MASK_TOKENS)


@pytest.mark.parametrize("text", MASKED)
def test_each_mask_is_one_token_and_comes_back(tokenizer: Tokenizer, text: str) -> None:
    codec, ids = MaskCodec(tokenizer), mask_ids(tokenizer)
    row = codec.encode(text)
    assert [MASKS[ids.index(i)] for i in row if i in ids] == [letter for letter in text if letter in MASKS]
    assert codec.decode(row) == text


def test_words_beside_a_mask_are_the_tokens_that_they_are_beside_a_word(tokenizer: Tokenizer) -> None:
    plain, masked = tokenizer.encode("the dog sees a cat, the"), MaskCodec(tokenizer).encode(f"{ONE} sees a cat, the")
    assert masked[1:] == plain[len(tokenizer.encode("the dog")) :]


def test_a_sign_before_a_mask_gets_a_space_that_its_place_in_the_text_must_decide(tokenizer: Tokenizer) -> None:
    codec = MaskCodec(tokenizer)
    assert codec.decode(codec.encode(f"a cat ({ONE})")) == f"a cat ( {ONE})"


def test_many_at_once_are_the_same_ids(tokenizer: Tokenizer) -> None:
    codec = MaskCodec(tokenizer)
    for texts in (MASKED, MASKED[:1], MASKED[-1:], []):
        flat, lengths = codec.encode_flat(texts)
        assert flat.tolist() == [i for text in texts for i in codec.encode(text)]
        assert lengths.tolist() == [len(codec.encode(text)) for text in texts]
        assert flat.dtype == np.uint32


def test_text_is_never_a_mask(tokenizer: Tokenizer) -> None:
    for text in (*MASK_TOKENS, *MASKS, "the <mask1> dog"):
        rows = [tokenizer.encode(text), *tokenizer.encode_batch([text]), tokenizer.encode_flat([text])[0].tolist()]
        assert not any(set(row) & set(mask_ids(tokenizer)) for row in rows)
    assert tokenizer.decode([mask_ids(tokenizer)[0], *tokenizer.encode("the dog")]) == "the dog"


def test_they_are_in_the_file_and_in_copies_and_count_among_the_tokens(tokenizer: Tokenizer) -> None:
    again = Tokenizer.from_json(tokenizer.to_json(), origin="memory")
    for one in (again, copy.deepcopy(tokenizer)):
        assert mask_ids(one) == mask_ids(tokenizer)
        assert MaskCodec(one).encode(MASKED[0]) == MaskCodec(tokenizer).encode(MASKED[0])
    assert len(train_tokenizer("bpe", TEXTS, vocab_size=265, extra=MASK_TOKENS)) <= 265


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
def test_without_them_a_vocabulary_is_as_before(kind: str) -> None:
    plain = train_tokenizer(kind, TEXTS, vocab_size=300)
    assert mask_ids(plain) == ()
    assert mask_codecs(plain, plain) is None
    assert [one["content"] for one in json.loads(plain.to_json())["added_tokens"]] == list(SPECIAL_TOKENS)


def test_mask_characters_are_seen() -> None:
    assert has_masks(f"a {TWO}")
    assert not has_masks("a <mask2> \ufdcf \ufdd3")
