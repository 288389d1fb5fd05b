"""Word alignments of a translator, read off its cross-attention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.data.phrasebook import Phrase
from glassformer.tasks.translation import Translator, alignment

PAIRS = [
    ("the dog eats bread.", "der Hund isst Brot."),
    ("a cat has us.", "eine Katze hat uns."),
    ("my boy sees old red wine.", "mein Junge sieht alten roten Wein."),
]


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return gf.load(trained)


def phrase(source: str, target: str) -> Phrase:
    links = frozenset((i, i) for i in range(len(source.replace(".", " .").split())))
    return Phrase(source, (target,), links, links, "present", ())


def test_attention_of_a_batch_is_that_of_each_pair_alone_without_padding(translator: Translator) -> None:
    found = alignment.cross_attentions(translator, [s for s, _ in PAIRS], [t for _, t in PAIRS])
    for (source, target), attention in zip(PAIRS, found, strict=True):
        alone = torch.from_numpy(alignment.cross_attentions(translator, [source], [target])[0])
        assert attention.shape == alone.shape == (1, 2, len(alone[0, 0]), len(alone[0, 0, 0]))
        torch.testing.assert_close(torch.from_numpy(attention), alone, rtol=0, atol=1e-5)
        np.testing.assert_allclose(attention.sum(-1), 1, atol=1e-5)


def test_every_piece_knows_its_word_and_the_end_mark_none(translator: Translator) -> None:
    assert alignment.piece_words(translator.source, "the dog eats bread.") == [0, 1, 2, 3, 4, None]


def test_the_best_head_is_chosen_on_one_part_and_measured_on_the_other(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    valid, test = [phrase(*PAIRS[0])], [phrase(*PAIRS[1])]
    errors = {id(valid): np.array([[0.9, 0.2]]), id(test): np.array([[0.1, 0.5]])}
    monkeypatch.setattr(alignment, "head_errors", lambda _translator, phrases: errors[id(phrases)])
    assert alignment.best_alignment_head(translator, valid, test) == alignment.AlignmentHead(0, 1, 0.2, 0.5)


def test_a_head_that_looks_where_it_should_has_no_error(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = phrase(*PAIRS[0])
    straight, last = np.eye(6), np.eye(6)[:, [5, 4, 3, 2, 1, 0]]
    monkeypatch.setattr(alignment, "cross_attentions", lambda *_: [np.stack([straight, last])[None]])
    errors = alignment.head_errors(translator, [one])
    assert errors.shape == (1, 2)
    assert errors[0, 0] == 0
    assert errors[0, 1] > 0.5
