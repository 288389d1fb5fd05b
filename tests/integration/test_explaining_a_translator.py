"""`explain`, `context` and `embed` of a translator: everything that other kinds of models offer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.data.batches import SourceBatch

TEXT = "the dog eats bread."
TITLES = {
    "encoder": "Self-attention of the encoder, layer 1, head 2",
    "decoder": "Self-attention of the decoder, layer 1, head 2",
    "cross": "Cross-attention, layer 1, head 2",
}


@pytest.mark.parametrize("name", [*TITLES, "all"])
def test_every_attention_can_be_shown(name: str, trained: Path, command: Callable[..., Any]) -> None:
    outcome = command("explain", trained, TEXT, "--attention", name, "--layer", 1, "--head", 2)
    assert (outcome.code, outcome.err) == (0, "")
    shown = {one for one, title in TITLES.items() if title in outcome.out}
    assert shown == (set(TITLES) if name == "all" else {name})
    for part in ("Input vectors (source)", "Input vectors (target)", "encoder 1", "decoder 1", "Decoding, step"):
        assert part in outcome.out


def test_json_has_the_keys_of_all_kinds(trained: Path, command: Callable[..., Any]) -> None:
    found = json.loads(command("explain", trained, TEXT, "--json").out)
    assert found["kind"] == "transformer"
    assert found["answer"] == found["translation"]
    assert set(found["attention"]) == set(found["tokens"]) | {"cross"} == {"encoder", "decoder", "cross"}
    assert np.shape(found["attention"]["cross"])[2:] == (len(found["target"]), len(found["source"]))
    assert found["score"] == pytest.approx(sum(step["log_probability"] for step in found["steps"]), abs=1e-3)
    for stack in ("encoder", "decoder"):
        count = len(found["tokens"][stack]["tokens"])
        assert len(found["inputs"][stack]["sum"]) == count
        assert all(len(one["after"]) == count for one in found["blocks"] if one["stack"] == stack)


def test_an_attention_that_is_not_there_is_refused(trained: Path, command: Callable[..., Any]) -> None:
    outcome = command("explain", trained, TEXT, "--attention", "self")
    assert outcome.code == 2
    assert "no attention 'self' in this model. It has: encoder, decoder, cross." in outcome.err


def test_the_tree_of_a_greedy_search_is_widened(trained: Path, command: Callable[..., Any]) -> None:
    outcome = command("explain", trained, TEXT, "--tree", "--beam", 1, "--json")
    assert outcome.err == "Note: a beam of 1 has no branches; the tree is of a beam of 5.\n"
    tree = json.loads(outcome.out)
    assert (tree["beam"], tree["widened"]) == (5, True)
    assert sum(one["parent"] == 0 for one in tree["beginnings"]) == 5
    translator = gf.load(trained)
    greedy = translator.recipe.decode.model_copy(update={"beam": 1})
    translator.recipe = translator.recipe.model_copy(update={"decode": greedy})
    assert translator.beam_tree(TEXT).beam == 5
    assert not translator.beam_tree(TEXT, beam=2).widened


def memory(translator: gf.Translator, text: str) -> torch.Tensor:
    row = [*translator.source.encode(text), translator.source_marks.eos]
    with torch.no_grad():
        return translator.model.encode(SourceBatch(torch.tensor([row]), torch.tensor([len(row)])))[0][0]  # (T, D)


def test_vectors_are_what_the_decoder_reads(trained: Path, command: Callable[..., Any]) -> None:
    translator, texts = gf.load(trained), [TEXT, "the dog"]
    found = translator.embed(texts)
    for text, vector in zip(texts, found, strict=True):
        np.testing.assert_allclose(vector, memory(translator, text).mean(0), atol=1e-5)
    np.testing.assert_allclose(translator.embed(TEXT, pooling="cls"), memory(translator, TEXT)[0], atol=1e-5)
    shown = command("embed", trained, "--text", TEXT, "--json").out
    np.testing.assert_allclose(json.loads(shown)["vector"], found[0], atol=1e-5)
    nearest = command("embed", trained, "--text", "the boy", "--text", TEXT, "--similar", TEXT).out.splitlines()[1]
    assert nearest.split()[:2] == ["1.000", "2"]


def test_its_encoder_alone_explains_the_whole_translator(trained: Path) -> None:
    found = gf.load(trained, kind=gf.TextEncoder).explain(TEXT)
    assert (found.kind, found.answer) == ("transformer", gf.load(trained).explain(TEXT).answer)


def test_a_source_word_is_followed_through_the_encoder(trained: Path, command: Callable[..., Any]) -> None:
    translator, sentences = gf.load(trained), [TEXT, "a cat sees the dog."]
    found = translator.context(sentences, "dog")
    names = [layer.name for layer in found.layers]
    assert names == ["static", "input", "block 1", "last norm"]
    assert found.layers[0].cosines[0][1] == pytest.approx(1)
    ends = [memory(translator, text)[place].double() for text, place in zip(sentences, (1, 4), strict=True)]
    assert found.layers[-1].cosines[0][1] == pytest.approx(float(torch.cosine_similarity(*ends, dim=0)), abs=1e-6)
    shown = command("context", trained, *sentences, "--word", "dog", "--json").out
    assert [layer["name"] for layer in json.loads(shown)["layers"]] == names
