"""A word in several sentences, layer by layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from encoder_models import bert, gpt, roformer
from glassformer.errors import DataError
from glassformer.tasks.context import Context, context, layer_states, places_of
from glassformer.tasks.embedding import TextEncoder

PAIR = ["money bank grows", "the river bank flows"]


@pytest.mark.parametrize("make", [bert, roformer, gpt])
def test_layers_begin_alike_and_part(make: Any) -> None:
    encoder = TextEncoder(make())
    found = context(encoder, ["a money bank grows", "the river bank flows"], "bank")
    blocks = [layer.name for layer in found.layers]
    assert blocks[:4] == ["static", "input", "block 1", "block 2"]
    assert blocks[4:] == (["last norm"] if make is gpt else [])
    assert found.layers[0].cosines[0][1] == pytest.approx(1, abs=1e-9)
    assert found.layers[2].cosines[0][1] < 0.999
    assert found.layers[0].moved == (0.0, 0.0)
    assert all(0 < moved <= 2 for moved in found.layers[2].moved)


def test_cosines_are_those_of_the_hidden_states() -> None:
    encoder = TextEncoder(bert())
    found = context(encoder, PAIR, "bank")
    last = []
    for sentence, place in zip(PAIR, (2, 3), strict=True):
        with torch.no_grad():
            last.append(encoder.model.hidden(encoder.batch(encoder.ids_of([sentence])))[0, place].double())
    expected = torch.nn.functional.cosine_similarity(*last, dim=0).item()
    assert found.layers[-1].cosines[0][1] == pytest.approx(expected, abs=1e-6)
    assert found.layers[-1].cosines[1][0] == found.layers[-1].cosines[0][1]
    before, after = (layer_states(encoder, encoder.ids_of(PAIR[:1])[0])[name][2] for name in ("block 1", "block 2"))
    moved = 1 - torch.nn.functional.cosine_similarity(before.double(), after.double(), dim=0).item()
    assert found.layers[-1].moved[0] == pytest.approx(moved, abs=1e-6)


def test_the_same_sentence_stays_the_same() -> None:
    found = context(TextEncoder(bert()), [PAIR[0], PAIR[0], PAIR[1]], "Bank")
    for layer in found.layers:
        assert np.shape(layer.cosines) == (3, 3)
        assert layer.cosines[0][1] == pytest.approx(1, abs=1e-6)
        assert layer.cosines[0][2] == pytest.approx(layer.cosines[1][2], abs=1e-6)


def test_a_word_of_several_pieces_is_their_mean() -> None:
    encoder = TextEncoder(bert())
    found = context(encoder, ["an unbelievable dog", "the unbelievable cat"], "unbelievable")
    assert found.pieces == (("un", "##believ", "##able"),) * 2
    states = layer_states(encoder, encoder.ids_of(["an unbelievable dog"])[0])["block 2"]
    other = layer_states(encoder, encoder.ids_of(["the unbelievable cat"])[0])["block 2"]
    expected = torch.nn.functional.cosine_similarity(*(x[2:5].double().mean(0) for x in (states, other)), dim=0)
    assert found.layers[-1].cosines[0][1] == pytest.approx(expected.item(), abs=1e-6)


def test_words_are_found_whole() -> None:
    encoder = TextEncoder(bert())
    assert places_of(encoder, "dogs, the Dog runs", "dog") == [5], "after [CLS] dog ##s , the"
    decoder = TextEncoder(gpt())
    ids = decoder.ids_of(["bankers river bank"])[0]
    (place,) = places_of(decoder, "bankers river bank", "bank")
    assert decoder.tokenizer.token(ids[place]) == "Ġbank"


def test_pieces_of_a_decoder_may_differ_at_the_beginning_of_a_text() -> None:
    found = context(TextEncoder(gpt()), ["bank a", "a bank"], "bank")
    assert found.pieces == (("bank",), ("▁bank",))
    assert found.layers[0].cosines[0][1] < 0.999, "then even the static vectors are two"


def test_everything_can_be_converted_to_plain_values() -> None:
    found: Context = context(TextEncoder(bert()), PAIR, "bank")
    told = found.to_dict()
    assert told["word"] == "bank"
    assert len(told["layers"]) == 4
    assert isinstance(told["layers"][0]["cosines"][0][1], float)


@pytest.mark.parametrize(
    ("sentences", "word", "told"),
    [
        (PAIR[:1], "bank", "Got 1 sentence; give two or more"),
        ([PAIR[0], "the banks"], "bank", "'the banks' does not contain the word 'bank'"),
        (PAIR, " ", "does not contain the word ' '"),
        ([PAIR[0], "dog " * 30 + "bank"], "bank", "comes after the first 23 tokens of .*; the model reads no more"),
    ],
)
def test_what_cannot_be_compared_is_refused(sentences: list[str], word: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        context(TextEncoder(bert()), sentences, word)
