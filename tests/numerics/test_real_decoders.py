"""Trained models of others, read from their files: the story that plain numpy tells, and recorded activations.

The files are not part of the project: GLASSFORMER_DATA names the folder that has stories260k/ and gpt-nano-sort/.
"""

from __future__ import annotations

import base64
import json
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.hub.llama2c import read_llama2c
from glassformer.hub.mingpt import read_mingpt
from glassformer.nn.taps import listen
from glassformer.tasks.generation import GenerateOptions, LanguageModel
from glassformer.tasks.generation.inputs import TokenBatch
from llama2c_in_numpy import NumpyLlama, NumpyVocabulary

TEXTS = ["", " ", "Once upon a time", 'Lily\'s mom said, "No!"\n', "  two spaces", "Zoë 🙂 naïve", "aaaaaaaaaaaa"]


def data(*parts: str) -> Path:
    place = Path(os.environ.get("GLASSFORMER_DATA", "/nonexistent"), *parts)
    if not place.exists():
        pytest.skip(f"GLASSFORMER_DATA names no folder with {'/'.join(parts)}: real weights are not tested")
    return place


def unpacked(file: Path) -> bytes:
    return lzma.decompress(file.read_bytes())


# stories260k


def test_a_story_is_token_identical_to_a_plain_reading_of_the_weights() -> None:
    folder = data("stories260k")
    content, words = (unpacked(folder / name) for name in ("stories260K.bin.xz", "tok512.bin.xz"))
    prompt = NumpyVocabulary(words, 512).encode("Once upon a time")
    expected, logits = NumpyLlama(content).greedy(prompt, 250)
    model = LanguageModel(read_llama2c(folder))
    found = model.continuations("Once upon a time", GenerateOptions(max_new=250))[0]
    assert list(found.ids) == expected
    assert found.text.startswith(", there was a little girl named Lily.")
    assert "".join(model.stream("Once upon a time", GenerateOptions(max_new=250))) == found.text
    with torch.no_grad():
        ours = model.model(TokenBatch.of([[*prompt, *expected[:-1]]]))[0, len(prompt) - 1 :]
    np.testing.assert_allclose(ours.numpy(), np.array(logits), atol=2e-4)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_cut_as_llama2c_cuts_them(text: str) -> None:
    folder = data("stories260k")
    vocabulary = NumpyVocabulary(unpacked(folder / "tok512.bin.xz"), 512)
    assert LanguageModel(read_llama2c(folder)).inputs.ids(text) == vocabulary.encode(text)


# gpt-nano-sort


def recorded() -> dict[str, Tensor]:
    content = json.loads(unpacked(data("gpt-nano-sort") / "gpt-nano-sort-t0-partials.json.xz"))
    return {
        name: torch.from_numpy(np.frombuffer(base64.b64decode(entry["data"]), "<f4").reshape(entry["shape"]).copy())
        for name, entry in content.items()
        if name != "config"
    }


FIRST = "blocks.0"
POINTS = {  # recorded name: tap
    "tok_emb": "inputs.token",
    "x": "inputs.sum",
    "q": f"{FIRST}.attention.q",
    "k": f"{FIRST}.attention.k",
    "v": f"{FIRST}.attention.v",
    "att": f"{FIRST}.attention.core.masked",
    "attSm": f"{FIRST}.attention.core.pattern",
    "yProj": f"{FIRST}.attention_residual.added",
    "attnResid": f"{FIRST}.attention_residual.after",
    "fc": f"{FIRST}.feed_forward.pre",
    "gelu": f"{FIRST}.feed_forward.post",
    "mlp": f"{FIRST}.feed_forward_residual.added",
    "mlpResid": f"{FIRST}.feed_forward_residual.after",
    "block0": "blocks.0.feed_forward_residual.after",
    "block1": "blocks.1.feed_forward_residual.after",
    "block2": "blocks.2.feed_forward_residual.after",
    "lm_head": "logits",
}


@torch.no_grad()
def test_recorded_activations_are_heard_at_the_taps_point_by_point() -> None:
    expected = recorded()
    model = read_mingpt(data("gpt-nano-sort")).model
    with listen(model) as heard:
        logits = model(TokenBatch(expected["idx"].long(), torch.full((3,), 11)))
    values = {name: heard[tap][0] for name, tap in POINTS.items()}
    values["pos_emb"] = heard["inputs.position"][0][None]
    values["y"] = heard[f"{FIRST}.attention.out.z"][0].transpose(1, 2).flatten(2)
    values["qkv"] = torch.cat([values[name].transpose(1, 2).flatten(2) for name in "qkv"], dim=-1)
    for name, place in (("ln1", "attention"), ("ln2", "feed_forward")):
        norm = getattr(model.blocks[0], f"{place}_residual").norm
        values[name] = heard[f"{FIRST}.{place}_residual.norm.normalized"][0] * norm.gain + norm.bias
    values["ln_f"] = heard["final_norm.normalized"][0] * model.final_norm.gain + model.final_norm.bias
    values["probs"] = logits.softmax(dim=-1)
    assert values.keys() == expected.keys() - {"idx"}
    for name, value in values.items():
        torch.testing.assert_close(
            value, expected[name], rtol=1e-5, atol=2e-5, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("digits", ["0 0 2 1 0 1", "2 1 0 2 1 0", "1 1 1 1 1 0", "2 2 2 2 2 2"])
def test_it_sorts(digits: str) -> None:
    model = LanguageModel(read_mingpt(data("gpt-nano-sort")))
    assert model.generate(digits, max_new=6).split() == sorted(digits.split())
