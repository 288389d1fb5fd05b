"""Windows of pieces: each word is labelled once, where it has context; documents share windows; words are hidden."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
import torch

from glassformer.data.columns import Columns, Ragged
from glassformer.data.tagged_windows import IGNORED, Hiding, TaggedWindows, WordPieces, cut, windows_of
from glassformer.text import Tokenizer, train_tokenizer
from glassformer.text.framing import Frame

FRAME = Frame((2,), (3,), (3,))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer("wordpiece", ["the cat sat on the mat", "a dog ran to the park"], vocab_size=60)


@pytest.mark.parametrize("space", [5, 7, 16])
def test_a_long_sentence_is_cut_so_that_no_word_is_lost(space: int) -> None:
    random = Random(space)
    for _ in range(50):
        sizes = np.array([random.randint(1, 3) for _ in range(random.randint(space, 90))])
        spans = cut(sizes, space)
        owned = [word for _, _, first, last in spans for word in range(first, last)]
        assert owned == list(range(len(sizes)))
        for first, last, own_first, own_last in spans:
            assert first <= own_first < own_last <= last
            assert sizes[first:last].sum() <= space


def test_words_in_the_middle_of_a_cut_have_context_on_both_sides() -> None:
    spans = cut(np.ones(100, dtype=np.int64), 20)
    for first, last, own_first, own_last in spans:
        assert own_first == 0 or own_first - first >= 4
        assert own_last == 100 or last - own_last >= 4


def test_sentences_of_a_document_share_windows_and_others_do_not(tokenizer: Tokenizer) -> None:
    sentences = [["the", "cat"], ["a", "dog"], ["the", "mat"], ["a", "park"]]
    pieces = WordPieces(tokenizer)
    for documents, count in [([0, 0, 0, 0], 1), ([0, 0, 1, 1], 2), ([-1, -1, -1, -1], 4)]:
        found = windows_of(sentences, documents, pieces, FRAME, most=40)
        assert len(found) == count
        assert [(s, w) for one in found for _, s, w in one.own] == [(s, w) for s in range(4) for w in range(2)]
        for one in found:
            assert one.ids[0] == 2
            assert one.ids[-1] == 3
            assert len(one.ids) == len(one.casing)


def test_every_own_place_is_the_first_piece_of_its_word(tokenizer: Tokenizer) -> None:
    words = ["the", "parkcat", "ran", "x" * 30, "\u200b", "mat"] * 4
    pieces = WordPieces(tokenizer)
    found = windows_of([words], [-1], pieces, FRAME, most=14)
    assert len(found) > 2
    for one in found:
        assert len(one.ids) <= 14
        for place, _, word in one.own:
            assert one.ids[place] == pieces.of(words)[word][0]


def test_a_byte_level_vocabulary_gets_the_space_before_a_word() -> None:
    inner = train_tokenizer("bpe", ["the cat sat on the mat"] * 3, vocab_size=300)
    pieces = WordPieces(inner)
    joined = [i for ids in pieces.of(["the", "cat", "sat"]) for i in ids]
    assert joined == inner.encode("the cat sat")


def batch_of(hiding: Hiding | None) -> tuple[torch.Tensor, torch.Tensor]:
    rows, targets = [[2, *range(10, 22), 3]] * 40, [[0, *[1, 0, 2] * 4, 0]] * 40
    columns = Columns({"text": Ragged.of(rows), "casing": Ragged.of(targets), "target": Ragged.of(targets)})
    pool = TaggedWindows(columns, 0, False, hiding)
    found = pool.batch(np.arange(40), np.random.default_rng(1))
    return found.ids, found.targets


def test_hidden_words_lose_all_their_pieces_and_nothing_else() -> None:
    ids, targets = batch_of(Hiding(0.5, 9, 1, 1))
    plain, same = batch_of(None)
    assert torch.equal(targets, same)
    hidden = ids != plain
    assert torch.equal(ids[hidden], torch.full_like(ids[hidden], 9))
    assert not hidden[:, 0].any()
    assert not hidden[:, -1].any()
    assert torch.equal(hidden[:, 1:13:3], hidden[:, 2:13:3])  # the second piece of a word shares its fate
    begins = hidden[targets != IGNORED].float().mean()
    assert 0.4 < begins < 0.6
