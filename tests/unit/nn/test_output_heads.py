"""Heads: what they predict, and their losses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from glassformer.nn.heads import ClassHead, FirstTokenHead, MaskedWordsHead, SpanHead, VocabularyHead


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


def test_a_span_head_has_two_logits_a_token() -> None:
    head, x = SpanHead(7), torch.randn(2, 5, 7)
    torch.testing.assert_close(head(x), head.linear(x))
    assert head(x).shape == (2, 5, 2)


HEADS = {
    "vocabulary": lambda: VocabularyHead(7, 11, bias=True),
    "masked words": lambda: MaskedWordsHead(7, 11),
    "classes": lambda: ClassHead(7, 11),
}


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("make", HEADS.values(), ids=HEADS)
def test_the_loss_of_a_head_is_the_summed_cross_entropy_of_its_logits(
    make: Callable[[], torch.nn.Module], smoothing: float, gradients: bool
) -> None:
    head, labels = make(), torch.tensor([3, 0, 10, 10, 5])
    hidden = torch.randn(5, 7, requires_grad=gradients)
    with torch.set_grad_enabled(gradients):
        got = head.loss(hidden, labels, label_smoothing=smoothing)
        expected = F.cross_entropy(head(hidden), labels, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)
    if gradients:
        inputs = [hidden, *head.parameters()]
        for mine, theirs in zip(torch.autograd.grad(got, inputs), torch.autograd.grad(expected, inputs), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)
