"""Texts to vectors, nearest lines, masked words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from encoder_models import MARKS, PIECES, bert, gpt, roberta, roformer
from glassformer.errors import ModelError, SettingsError
from glassformer.models.t5 import T5, T5Config
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.tasks.embedding import TextBatch, TextEncoder, by_length

TEXTS = ["the dog runs", "a", "", "unbelievable dogs, the capital of france is paris.", "The DOG runs", "the cat runs"]


def hidden_of(encoder: TextEncoder, text: str) -> Tensor:
    """One text alone, without padding: (T, D)."""
    ids = torch.tensor([encoder.ids_of([text])[0]])
    with torch.no_grad():
        return encoder.model.hidden(TextBatch(ids, torch.tensor([ids.size(1)])))[0]


POOLED = {
    "mean": lambda x: x.mean(0),
    "max": lambda x: x.amax(0),
    "cls": lambda x: x[0],
    "last": lambda x: x[-1],
}


@pytest.mark.parametrize("make", [bert, roformer, gpt])
@pytest.mark.parametrize("pooling", POOLED)
def test_vectors_are_those_of_each_text_alone(make: Any, pooling: str) -> None:
    encoder = TextEncoder(make())
    expected = torch.stack([POOLED[pooling](hidden_of(encoder, text)) for text in TEXTS]).numpy()
    found = encoder.embed(TEXTS, pooling=pooling)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert not np.allclose(found[0], found[1], atol=0.1)
    units = encoder.embed(TEXTS, pooling=pooling, normalise=True)
    np.testing.assert_allclose(units, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-5, atol=1e-5)


def test_the_folder_says_how_and_can_be_overruled() -> None:
    bundle = bert(extras={"pooling": "cls", "normalise": True})
    encoder = TextEncoder(bundle)
    plain = TextEncoder(replace(bundle, extras={}))
    first = plain.embed(TEXTS, pooling="cls")
    np.testing.assert_allclose(encoder.embed(TEXTS), first / np.linalg.norm(first, axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(encoder.embed(TEXTS, normalise=False), first, atol=1e-6)
    np.testing.assert_allclose(plain.embed(TEXTS), plain.embed(TEXTS, pooling="mean"))


@pytest.mark.parametrize("tokens", [1, 7, 1000])
def test_batches_change_nothing_and_progress_counts_every_text(tokens: int) -> None:
    encoder, done = TextEncoder(bert()), []
    many = TEXTS * 3
    found = encoder.embed(many, batch_tokens=tokens, progress=done.append)
    assert sum(done) == len(many)
    np.testing.assert_allclose(found, encoder.embed(many), rtol=1e-5, atol=1e-6)


def test_no_texts_give_no_vectors() -> None:
    assert TextEncoder(bert()).embed([]).shape == (0, 30)


def test_texts_of_like_length_stand_together() -> None:
    rows = [[0] * n for n in (3, 9, 4, 9, 1, 4)]
    assert list(by_length(rows, 18)) == [[1, 3], [2, 5, 0, 4]]
    assert list(by_length(rows, 1)) == [[1], [3], [2], [5], [0], [4]]


def test_long_texts_are_cut_as_model_and_folder_allow() -> None:
    words = " ".join(["dog"] * 40)
    assert len(TextEncoder(bert()).ids_of([words])[0]) == 23
    encoder = TextEncoder(bert(extras={"max_length": 7}))
    assert encoder.ids_of([words])[0] == [2, *[PIECES.index("dog")] * 5, 3], "the end mark stays"
    assert TextEncoder(bert(extras={"max_length": 1})).ids_of([words])[0] == [2, 3], (
        "and if there is room for nothing else"
    )


def test_what_stands_before_every_text() -> None:
    bundle = bert(extras={"prompt": "the "})
    plain = TextEncoder(replace(bundle, extras={}))
    np.testing.assert_allclose(TextEncoder(bundle).embed(["dog"]), plain.embed(["the dog"]))


def test_frames_come_from_the_marks_where_the_tokenizer_says_nothing() -> None:
    encoder = TextEncoder(roberta())
    marks = encoder.marks
    assert encoder.ids_of(["a"])[0] == [marks.cls, encoder.tokenizer.encode("a")[0], marks.sep]


def test_an_empty_text_is_something_to_a_decoder_too() -> None:
    encoder = TextEncoder(gpt())
    assert encoder.ids_of([""]) == [[encoder.marks.eos]]
    assert np.isfinite(encoder.embed([""])).all()


def test_what_cannot_serve_is_told() -> None:
    t5 = Bundle("t5", T5(T5Config(vocabulary=11, N=1, d=8, h=2, d_kv=4, d_ff=7)), bert().tokenizer)
    with pytest.raises(ModelError, match="A t5 model cannot embed texts"):
        TextEncoder(t5)
    with pytest.raises(ModelError, match="no tokenizer"):
        TextEncoder(replace(bert(), tokenizer=None))
    with pytest.raises(SettingsError, match=r"pooling = 'median' is not known. Allowed: mean, max, cls, last"):
        TextEncoder(bert()).embed(["a"], pooling="median")


def test_the_nearest_lines_first() -> None:
    encoder = TextEncoder(bert())
    lines = ["the dog runs", "money grows", "the river flows", "a dog runs"]
    (first, second), *_ = encoder.similar(["the dog runs", "money"], lines, top=2)
    assert (first.number, first.text) == (0, "the dog runs")
    assert first.cosine == pytest.approx(1, abs=1e-5)
    vectors = encoder.embed(lines, normalise=True)
    cosines = vectors @ vectors[0]
    assert second.number == int(np.argsort(-cosines)[1])
    assert second.cosine == pytest.approx(float(cosines[second.number]), abs=1e-5)
    assert len(encoder.similar(["a"], lines, top=50)[0]) == 4


# Masked words


@pytest.mark.parametrize("make", [bert, roformer])
def test_gaps_are_filled_with_the_likeliest_words(make: Any) -> None:
    encoder = TextEncoder(make())
    found = encoder.fill("The capital of [MASK] is [MASK].", top=3)
    ids = [2, *(PIECES.index(word) for word in ("the", "capital", "of", "[MASK]", "is", "[MASK]", ".")), 3]
    with torch.no_grad():
        logits = encoder.model(TextBatch(torch.tensor([ids]), torch.tensor([9])))[0]
    assert len(found.gaps) == 2
    for words, place in zip(found.gaps, (4, 6), strict=True):
        chances = logits[place].softmax(-1)
        best = chances.argsort(descending=True)[:3].tolist()
        assert [word.id for word in words] == best
        assert [word.text for word in words] == [PIECES[i] for i in best]
        assert [word.probability for word in words] == pytest.approx(chances[best].tolist(), rel=1e-4)
    first, second = (words[0].text for words in found.gaps)
    assert found.text == f"The capital of {first} is {second}."


def test_a_mask_may_be_spelled_as_others_do_and_takes_the_space_before_it() -> None:
    encoder = TextEncoder(roberta())
    assert encoder.mask_text == "<mask>"
    encode, marks = encoder.tokenizer.encode, encoder.marks
    ids, gaps = encoder.with_gaps("river <mask> a[MASK]!")
    expected = [*encode("river"), marks.mask, *encode(" a"), marks.mask, *encode("!")]
    assert ids == [marks.cls, *expected, marks.sep]
    assert [ids[gap] for gap in gaps] == [marks.mask] * 2
    words = encoder.fill("river <mask>", top=1000).gaps[0]
    assert len(words) == len(encoder.tokenizer), "all there are"
    assert sum(word.probability for word in words) == pytest.approx(1, abs=1e-4)
    assert {"bank", "river"} <= {word.text for word in words}, "without the mark of the space"


def test_gaps_that_cannot_be_filled_are_told() -> None:
    with pytest.raises(SettingsError, match=r"Nothing is masked in 'a dog'. Write \[MASK\]"):
        TextEncoder(bert()).fill("a dog")
    for bundle in (bert(head="none"), gpt(), replace(bert(), marks=SpecialIds(pad=0))):
        with pytest.raises(ModelError, match="cannot fill in masked words"):
            TextEncoder(bundle).fill("a [MASK]")
    with pytest.raises(ModelError, match="has 24 tokens; this model reads at most 23"):
        TextEncoder(bert()).fill("[MASK]" + " dog" * 21)


def test_a_model_that_has_learned_capitals_fills_them_in() -> None:
    bundle = bert(d=48, N=1, d_ff=64)
    encoder, model = TextEncoder(bundle), bundle.model.train()
    pairs = [("france", "paris"), ("germany", "berlin"), ("spain", "madrid")]
    texts = [f"the capital of {land} is {city}." for land, city in pairs]
    ids = torch.tensor(encoder.ids_of(texts))
    places = torch.tensor([[4, 6]] * 3).flatten()
    rows = torch.arange(3).repeat_interleave(2)
    asked = ids.repeat_interleave(2, 0)
    asked[torch.arange(6), places] = MARKS.mask
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(60):
        logits = model(TextBatch(asked, torch.full((6,), ids.size(1))))[torch.arange(6), places]
        loss = torch.nn.functional.cross_entropy(logits, ids[rows, places])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    assert encoder.fill("The capital of Spain is [MASK].").text == "The capital of Spain is madrid."
    best = encoder.fill("The capital of [MASK] is Berlin.").gaps[0][0]
    assert best.text == "germany"
    assert best.probability > 0.5


def test_texts_that_are_cut_are_told() -> None:
    encoder = TextEncoder(bert())
    assert encoder.max_length is not None
    cut: list[int] = []
    encoder.embed(["the cat", "cat " * (encoder.max_length + 5), ""], cut=cut)
    assert cut == [1]
