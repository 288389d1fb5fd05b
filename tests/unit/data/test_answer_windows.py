"""Windows of long passages, answers in tokens, and back to the characters of the passage."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import encoder_models
from glassformer.data.answer_windows import (
    Layout,
    SpanWindows,
    encode_questions,
    folded_in_place,
    pieces_of,
    text_at,
    tokens_at,
    window_places,
)
from glassformer.data.sources.answers import Question
from glassformer.errors import ModelError
from glassformer.text import train_tokenizer
from glassformer.text.framing import Frame

PASSAGE = "Über  Zürich:\nthe river-bank (42 km) flows… 東京 is far 😀 away."
FRAME = Frame((2,), (3,), (3,))


def test_windows_cover_everything_evenly_and_overlap() -> None:
    for length in range(1, 200):
        for room, overlap in ((10, 0), (10, 3), (17, 8), (30, 29)):
            places = window_places(length, room, overlap)
            assert places[0][0] == 0
            assert places[-1][1] == length
            sizes = {end - begin for begin, end in places}
            assert len(sizes) == 1
            assert max(sizes) <= room
            shared = [one[1] - other[0] for one, other in pairwise(places)]
            assert all(count >= overlap for count in shared)
            needed = 1 if length <= room else -(-(length - overlap) // (room - overlap))
            assert len(places) == needed  # as few as possible


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "char", "word"])
def test_every_piece_of_a_passage_comes_back_exactly(kind: str) -> None:
    """Whatever lower case, accents, spaces and emoji do, places are those of the original text."""
    tokenizer = train_tokenizer(kind, [PASSAGE] * 3, vocab_size=300, lowercase=True)
    pieces = pieces_of([PASSAGE], tokenizer)[PASSAGE]
    assert len(pieces.ids) == len(pieces.spans)
    words = [(at, word) for word in PASSAGE.split() for at in [PASSAGE.index(word)]]
    for start, word in words:
        place = tokens_at(pieces.spans, start, start + len(word))
        assert place is not None
        begin, end = text_at(PASSAGE, pieces.spans, *place)
        assert word in PASSAGE[begin:end]
        assert PASSAGE[begin:end] == PASSAGE[begin:end].strip()
        if kind == "char":
            assert PASSAGE[begin:end] == word


def test_an_answer_inside_a_token_takes_the_whole_token() -> None:
    spans = np.array([[0, 4], [5, 9], [9, 9], [10, 16]])
    assert tokens_at(spans, 6, 8) == (1, 1)
    assert tokens_at(spans, 3, 6) == (0, 1)
    assert tokens_at(spans, 4, 5) is None  # a space
    assert text_at("gold 1955  twenty", spans, 1, 3) == (5, 16)


def questions() -> list[Question]:
    passage = "the river bank flows . money grows . the dog run . paris is the capital of france ."
    given = [("where ?", "paris", True), ("what ?", "river bank", True), ("why ?", "", False)]
    return [
        Question(str(i), "", text, passage, (passage.index(answer),) if has else (), (answer,) if has else ())
        for i, (text, answer, has) in enumerate(given)
    ]


def test_answers_are_where_the_columns_say() -> None:
    tokenizer, layout = encoder_models.wordpiece(), Layout(FRAME, longest=16, overlap=4, max_question=3)
    encoded = encode_questions(questions(), tokenizer, layout)
    columns, expected = encoded.columns, {"paris", "river bank"}
    found = set()
    for i in range(len(columns)):
        ids = columns["text"][i].tolist()
        begin, end, first = (int(columns[name].flat[i]) for name in ("begin", "end", "first"))
        assert len(ids) <= 16
        assert (ids[0], ids[first - 1], ids[-1]) == (2, 3, 3)
        assert (begin == 0) == (end == 0)
        if begin:
            assert first <= begin <= end < len(ids) - 1
            found.add(tokenizer.decode(ids[begin : end + 1]))
    assert found == expected
    assert len(columns) > len(questions())
    one = encode_questions(questions(), tokenizer, Layout(FRAME, longest=200, overlap=4, max_question=64))
    assert len(one.columns) == len(questions())  # one window where it fits


def test_an_answer_may_begin_only_in_the_passage_or_at_the_first_token() -> None:
    tokenizer, layout = encoder_models.wordpiece(), Layout(FRAME, longest=16, overlap=4, max_question=3)
    pool = SpanWindows(encode_questions(questions(), tokenizer, layout).columns, pad=0, after=1)
    batch = pool.batch(np.arange(len(pool)))
    for row in range(len(pool)):
        first, length = int(pool.columns["first"].flat[row]), int(batch.lengths[row])
        assert batch.allowed[row].nonzero()[:, 0].tolist() == [0, *range(first, length - 1)]
        assert bool(batch.allowed[row, batch.begins[row]])
        assert batch.segments[row].tolist() == [int(first <= i < length) for i in range(batch.ids.size(1))]


def test_few_positions_do_not_make_windows_advance_by_single_tokens() -> None:
    layout = Layout(FRAME, longest=128, overlap=128, max_question=64)
    found = layout.windows([5] * 10, [6] * 300)
    assert len(found) == 5
    assert {one.begin + i for one in found for i in range(one.size)} == set(range(300))


def test_long_questions_are_cut_and_counted() -> None:
    long = questions()[0]._replace(question="the dog run " * 9)
    encoded = encode_questions([long], encoder_models.wordpiece(), Layout(FRAME, 40, 4, max_question=5))
    assert encoded.cut == 1
    assert int(encoded.columns["first"].flat[0]) == 1 + 5 + 1


def test_a_tokenizer_without_marks_is_refused() -> None:
    with pytest.raises(ModelError, match="which special tokens are before and between"):
        Layout(Frame(), 40, 4, 5)


def test_lower_case_keeps_places() -> None:
    assert folded_in_place("İstanbul ÄB") == "İstanbul äb"
