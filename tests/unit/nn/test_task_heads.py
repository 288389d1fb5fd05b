"""Heads for the tasks, and vectors of sentences from those of their tokens."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from glassformer.nn.heads import (
    ClassHead,
    FirstTokenHead,
    MaskedWordsHead,
    PairHead,
    SimilarityHead,
    SpanHead,
    best_spans,
)
from glassformer.nn.pooling import POOLINGS, real_rows

LENGTHS = torch.tensor([3, 1, 5])


def test_masked_words_are_a_product_with_the_embedding_after_the_transform() -> None:
    table = torch.nn.Parameter(torch.randn(13, 5))
    head = MaskedWordsHead(7, 13, inner=5, activation="relu", eps=1e-3, tied_to=table)
    torch.nn.init.normal_(head.vocabulary.bias)
    x = torch.randn(2, 3, 7)
    inner = F.layer_norm(head.linear(x).clamp(min=0), (5,), eps=1e-3)
    torch.testing.assert_close(head(x), inner @ table.T + head.vocabulary.bias)
    assert head.vocabulary.weight is table


@pytest.mark.parametrize(("name", "function"), [("tanh", torch.tanh), ("gelu", F.gelu)])
def test_the_first_token_speaks_for_all(name: str, function: object) -> None:
    head, x = FirstTokenHead(7, activation=name), torch.randn(3, 5, 7)
    torch.testing.assert_close(head(x), function(head.linear(x[:, 0])))  # type: ignore[operator]


def test_classes_of_sentences_and_of_tokens() -> None:
    head = ClassHead(7, 3, dropout=0.5).eval()
    x = torch.randn(2, 5, 7)
    assert head(x).shape == (2, 5, 3)
    torch.testing.assert_close(head(x[:, 0]), head(x)[:, 0])
    assert not torch.equal(head.train()(x), head.eval()(x)), "dropout only in training"


def test_a_pair_is_read_as_both_and_their_difference() -> None:
    head, u, v = PairHead(7, 3), torch.randn(2, 7), torch.randn(2, 7)
    first, second, apart = head.linear.weight.split(7, dim=1)
    expected = u @ first.T + v @ second.T + (u - v).abs() @ apart.T + head.linear.bias
    torch.testing.assert_close(head(u, v), expected)


def test_similarity_is_the_cosine_of_every_pair() -> None:
    u, v = torch.randn(3, 7), torch.randn(5, 7)
    expected = torch.stack([F.cosine_similarity(one[None], v) for one in u])
    torch.testing.assert_close(SimilarityHead()(u, v), expected)
    torch.testing.assert_close(SimilarityHead(scale=20)(3 * u, v), 20 * expected)


def test_spans_begin_before_they_end_within_what_is_allowed() -> None:
    logits = torch.zeros(1, 6, 2)
    logits[0, 4, 0], logits[0, 1, 1] = 9.0, 9.0  # the likeliest begin stands after the likeliest end
    logits[0, 2, 0], logits[0, 5, 1], logits[0, 4, 1] = 5.0, 5.0, 3.0
    allowed = torch.ones(1, 6, dtype=torch.bool)
    assert best_spans(logits, allowed, longest=6).tolist() == [[4, 5]]
    assert best_spans(logits, allowed, longest=1).tolist() == [[4, 4]]
    allowed[0, 5] = False
    assert best_spans(logits, allowed, longest=6).tolist() == [[4, 4]]
    allowed[0, 4] = False
    assert best_spans(logits, allowed, longest=6).tolist() == [[0, 1]], "9 for an end alone, before any begin"


def test_a_span_head_has_two_logits_a_token() -> None:
    head, x = SpanHead(7), torch.randn(2, 5, 7)
    torch.testing.assert_close(head(x), head.linear(x))
    assert head(x).shape == (2, 5, 2)


@pytest.mark.parametrize("how", POOLINGS)
def test_pooling_leaves_padding_out(how: str) -> None:
    hidden = torch.randn(3, 5, 7)
    plain = {"mean": lambda x: x.mean(0), "max": lambda x: x.amax(0), "cls": lambda x: x[0], "last": lambda x: x[-1]}
    expected = torch.stack([plain[how](row[:length]) for row, length in zip(hidden, LENGTHS, strict=True)])
    torch.testing.assert_close(POOLINGS[how](real_rows(hidden, LENGTHS), LENGTHS), expected)
