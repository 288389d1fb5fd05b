"""Which words a head reads, on patterns whose answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from glassformer.errors import SettingsError
from glassformer.explain.explanation import Attention, Tokens
from glassformer.explain.head_roles import PLACES, Best, asking, best_roles, class_masks, place_masks, roles_of
from glassformer.explain.lessons import compute
from glassformer.explain.lessons.trained_heads import Sentence, check_reader, roles_in, standing_out

PIECES = (0, 1, 1, 2, None)  # the ap|ple . </s>
CLASSES = ("article", "noun", "noun", "punctuation", "")
LABELS = ("article", "noun", "punctuation")
EVEN = torch.full((5, 5), 0.2)


def reads(*keys: int) -> Tensor:
    """A pattern in which each query reads its key."""
    return torch.eye(5)[list(keys)]


def best_of(pattern: Tensor, names: Sequence[str], masks: Tensor, *, times: int = 12) -> Best:
    return best_roles([roles_of(pattern[None, None], asking(PIECES), masks)] * times, names)[0]


def test_pieces_of_a_word_count_together_and_the_end_mark_does_not_ask() -> None:
    assert asking(PIECES).tolist() == [[1, 0, 0, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0, 0, 1, 0]]
    found = roles_of(reads(2, 2, 0, 1, 0)[None, None], asking(PIECES), class_masks(CLASSES, LABELS, 3))
    assert found.shares[0, 0].tolist() == [0.5, 2.5, 0]  # the reads "ple", "apple" half of each, the stop "ap"
    assert found.even == pytest.approx([0.6, 1.2, 0.6])
    assert found.asked.tolist() == [3, 3, 3]


def test_the_class_that_a_head_reads_is_named_with_its_share_and_chance() -> None:
    best = best_of(reads(0, 0, 0, 0, 3), LABELS, class_masks(CLASSES, LABELS, 3))
    assert (best.role, best.share, best.sentences) == ("article", 1, 12)
    assert (best.even, best.ratio) == pytest.approx((0.2, 5))
    assert best_of(EVEN, LABELS, class_masks(CLASSES, LABELS, 3)).ratio == pytest.approx(1)


@pytest.mark.parametrize(
    ("keys", "place", "share"),
    [
        ((3, 0, 0, 2, 0), "previous word", 1.0),  # the first word has none
        ((0, 2, 1, 3, 0), "same word", 1.0),
        ((1, 3, 3, 0, 0), "next word", 1.0),  # the end mark is not the next word of the stop
        ((4, 4, 4, 4, 4), "end mark", 1.0),
    ],
)
def test_places_are_those_of_words(keys: tuple[int, ...], place: str, share: float) -> None:
    best = best_of(reads(*keys), PLACES, place_masks(PIECES, 3, own=True))
    assert (best.role, best.share) == (place, share)
    assert place_masks(PIECES, 2, own=False).shape == (2, 2, 5)


def test_a_class_in_few_sentences_is_not_named() -> None:
    usual, rare = (class_masks(row, LABELS, 3) for row in (("noun", "noun", "noun", "noun", ""), CLASSES))
    pattern = torch.stack([reads(0, 0, 0, 0, 0)])[None]
    found = [roles_of(pattern, asking(PIECES), usual)] * 20 + [roles_of(pattern, asking(PIECES), rare)] * 3
    assert best_roles(found, LABELS)[0].role == "noun"


def test_the_interval_is_over_the_sentences() -> None:
    masks = class_masks(CLASSES, LABELS, 3)
    mixed = [
        roles_of(one[None, None], asking(PIECES), masks) for one in (reads(0, 0, 0, 0, 0), EVEN) for _ in range(10)
    ]
    best = best_roles(mixed, LABELS)[0]
    assert best.ratio == pytest.approx(3)
    assert 1.5 < best.low < 2.6 < 3.4 < best.high < 4.5


def test_a_model_that_reads_backwards_is_labelled_in_the_order_of_the_text() -> None:
    sentence = Sentence(("the", "apple", "."), ("article", "noun", "punctuation"), PIECES)
    pattern = reads(0, 0, 0, 0, 0)
    found = []
    for ids, seen in (((5, 6, 7, 8, 2), pattern), ((2, 8, 7, 6, 5), pattern.flip(-1, -2))):
        tokens = Tokens("source", tuple("abcde"), ids)
        one = Attention("encoder", tokens, tokens, seen[None, None])
        found.append(roles_in(one, sentence, asking(PIECES), LABELS, end=2))
    for one, other in zip(*found, strict=True):
        assert one.shares.tolist() == other.shares.tolist()
    assert found[0][0].shares[0, 0].tolist() == [3, 0, 0]


def test_what_stands_out_is_said_only_if_it_is_above_chance() -> None:
    best = Best(0, 1, "article", share=0.6, even=0.2, sentences=12, ratio=3.0, low=2.5, high=3.5)
    assert standing_out([best]) == (
        "The clearest: head 1.2 has 60% of its attention on “article”, 3.0 times chance (2.5 to 3.5)."
    )
    assert "No head" in standing_out(
        [Best(0, 0, "noun", share=0.2, even=0.2, sentences=12, ratio=1.0, low=0.9, high=1.1)]
    )


def test_models_of_other_languages_are_refused_by_name() -> None:
    other = SimpleNamespace(explain=None, source=None, target=None, source_language="de")
    with pytest.raises(SettingsError, match="translates from de"):
        check_reader(other)
    with pytest.raises(SettingsError, match="not a translator"):
        check_reader(SimpleNamespace(candidates=None))


def test_sentences_belong_to_a_model() -> None:
    with pytest.raises(SettingsError, match="--model"):
        compute("heads", {"sentences": 30})
