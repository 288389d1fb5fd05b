"""`glassformer explain` on a tiny random model of every kind: tokens, vectors, blocks, attention, predictions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.cells import cell_len
from rich.console import Console

from glassformer.errors import DataError
from glassformer.explain.view import explanation_view
from glassformer.models.registry import build
from glassformer.store.bundle import Bundle, SpecialIds, save_bundle
from glassformer.tasks.explaining import explain
from glassformer.tasks.generation import GenerateOptions, LanguageModel
from glassformer.tasks.loading import load_bundle
from glassformer.tasks.vision import ImageModel
from glassformer.text import Tokenizer, train_tokenizer
from glassformer.text.framing import Frame, with_frame

SENTENCE = "the dog eats bread and the cat sees two eggs"
SMALL = {"N": 3, "d": 24, "h": 2, "d_ff": 11}
LABELS = ["good", "bad", "so-so"]
CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {**SMALL, "head": "words"},
    "bert-sentence": {**SMALL, "head": "sentence", "classes": 3},
    "bert-tokens": {**SMALL, "head": "tokens", "classes": 3},
    "bert-span": {**SMALL, "head": "span"},
    "bert-none": {**SMALL},
    "roformer": {**SMALL, "head": "words"},
    "gpt": {**SMALL, "size": "nano", "max_length": 40},
    "llama": {**SMALL, "size": "tiny", "experts": 3, "max_length": 40},
    "t5": {**SMALL, "d_kv": 5},
    "vit": {**SMALL, "size": "nano", "patch": 7, "classes": 3},
    "captioner": {**SMALL, "size": "tiny", "max_length": 12},
}
TEXTS = [name for name in CONFIGS if name not in ("vit", "captioner")]


def tokenizer_for(kind: str) -> Tokenizer | None:
    plain = train_tokenizer("word", [SENTENCE] * 3, vocab_size=60)
    end = (plain.eos_id,)
    frames = {"bert": Frame((plain.bos_id,), end, end), "t5": Frame((), end, end)}
    return None if kind == "vit" else with_frame(plain, frames.get(kind, Frame()))


def make(name: str) -> Bundle:
    kind, tokenizer = name.partition("-")[0], tokenizer_for(name.partition("-")[0])
    torch.manual_seed(3)
    words = {} if tokenizer is None else {"vocabulary": len(tokenizer) + 2}
    model = build(kind, {**CONFIGS[name], **words})
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if parameter.dim() > 1 and not key.startswith("inputs"):
                parameter.normal_(std=0.4)
    marks = SpecialIds()
    if tokenizer is not None:
        marks = SpecialIds(bos=2, eos=3, pad=0, unk=1, start=0, cls=2, sep=3, mask=1)
    return Bundle(kind, model.eval(), tokenizer, marks, extras={"labels": LABELS})


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("family")
    for name in CONFIGS:
        save_bundle(make(name), root / name)
    pixels = np.random.default_rng(1).integers(0, 256, (4, 4), dtype=np.uint8).repeat(7, 0).repeat(7, 1)
    np.save(root / "image.npy", pixels)
    np.save(root / "two.npy", np.stack([pixels, pixels])[..., None])
    return {name: root / name for name in (*CONFIGS, "image.npy", "two.npy")}


def shown_to(name: str, folders: dict[str, Path]) -> str:
    return SENTENCE if name in TEXTS else str(folders["image.npy"])


@pytest.mark.parametrize("name", CONFIGS)
def test_the_whole_is_shown_and_fits_the_terminal(name: str, folders: dict[str, Path], command: Callable) -> None:
    outcome = command("explain", folders[name], shown_to(name, folders))
    assert outcome.code == 0, outcome.err
    for part in ("Input vectors", "What each block does", "feed-forward", "What each head of the"):
        assert part in outcome.out
    if name in TEXTS:
        assert "bread·" in outcome.out
    found = explain(load_bundle(folders[name]), shown_to(name, folders))
    for width in (40, 100):
        console = Console(width=width, color_system=None, force_terminal=False)
        with console.capture() as captured:
            console.print(explanation_view(found, attention="all"))
        assert max(map(cell_len, captured.get().splitlines())) <= width


@pytest.mark.parametrize("name", CONFIGS)
def test_as_json_it_holds_every_number(name: str, folders: dict[str, Path], command: Callable) -> None:
    found = json.loads(command("explain", folders[name], shown_to(name, folders), "--json", "--top", "2").out)
    assert found["kind"] == name.partition("-")[0]
    stacks = ["encoder", "decoder"] if name in ("t5", "captioner") else [""]
    assert list(found["tokens"]) == list(found["inputs"]) == stacks
    kinds = {"encoder", "decoder", "cross"} if len(stacks) == 2 else {"self"}
    assert set(found["attention"]) == kinds
    for patterns in found["attention"].values():
        assert np.array(patterns).sum(-1) == pytest.approx(1, abs=0.01)
    for stack in stacks:
        count = len(found["tokens"][stack]["tokens"])
        assert len(found["inputs"][stack]["sum"]) == count
        assert all(len(one["after"]) == count for one in found["blocks"] if one["stack"] == stack)
    assert all(len(one["top"]) == 2 for one in found["predictions"])
    assert bool(found["predictions"]) == (name != "bert-none")
    assert found["values"]["logits" if name != "bert-none" else "inputs.sum"]


def test_a_decoder_expects_what_it_scores(folders: dict[str, Path]) -> None:
    for name in ("gpt", "llama"):
        bundle = load_bundle(folders[name])
        scored = LanguageModel(bundle).score(SENTENCE)
        found = explain(bundle, SENTENCE).predictions
        assert [one.chosen for one in found[:-1]] == list(scored.tokens)
        assert np.log([one.probability for one in found[:-1]]) == pytest.approx(scored.log_probs, abs=1e-4)


def test_an_encoder_decoder_is_shown_writing_its_answer(folders: dict[str, Path]) -> None:
    bundle = load_bundle(folders["t5"])
    for beam in (1, 3):
        options = GenerateOptions(max_new=7, beam=beam)
        (best,) = LanguageModel(bundle).continuations([SENTENCE], options)[0]
        found = explain(bundle, SENTENCE, options=options)
        assert found.answer == best.text
        assert np.log([one.probability for one in found.predictions]) == pytest.approx(best.log_probs, abs=1e-4)
        assert found.tokens["decoder"].pieces[0] == "<pad>", "what it begins from"
        assert found.attention().name == "cross"
        assert found.attention().patterns.shape == (3, 2, len(best.log_probs), len(found.tokens["encoder"].pieces))


def test_masks_are_filled_where_they_stand(folders: dict[str, Path]) -> None:
    for name in ("bert", "roformer"):
        found = explain(load_bundle(folders[name]), "the [MASK] eats [MASK]", top=3)
        assert len(found.predictions) == 2
        assert all(one.at == "<unk>" and one.probability is None for one in found.predictions), "mask and unknown"
    every = explain(load_bundle(folders["bert"]), SENTENCE)
    assert [one.at for one in every.predictions] == list(every.tokens[""].pieces)
    assert every.predictions[2].chosen == "▁dog"


def test_heads_of_encoders_are_read_as_they_are_meant(folders: dict[str, Path]) -> None:
    sentence = explain(load_bundle(folders["bert-sentence"]), SENTENCE)
    assert [one.at for one in sentence.predictions] == ["whole"]
    assert {one.piece for one in sentence.predictions[0].top} == set(LABELS)
    tokens = explain(load_bundle(folders["bert-tokens"]), SENTENCE)
    assert [one.at for one in tokens.predictions] == SENTENCE.split()  # one label for each word
    span = explain(load_bundle(folders["bert-span"]), SENTENCE, top=100)
    assert [one.at for one in span.predictions] == ["begin", "end"]
    assert sum(one.probability for one in span.predictions[0].top) == pytest.approx(1)


def test_images_are_shown_as_grids(folders: dict[str, Path], command: Callable) -> None:
    image = folders["image.npy"]
    seeing = ImageModel(load_bundle(folders["vit"]))
    guesses = seeing.classify(str(image), top=3)
    found = explain(load_bundle(folders["vit"]), str(image), top=3)
    assert [one.piece for one in found.predictions[0].top] == [guess.label for guess in guesses]
    assert found.tokens[""].grid == (4, 4)
    assert len(found.tokens[""].pieces) == 17
    assert "4 x 4 patches" in command("explain", folders["vit"], image).out
    caption = command("explain", folders["captioner"], image, "--beam", "2").out
    assert "The patches that each token reads most" in caption
    assert "7 x 7 patches" in caption


@pytest.mark.parametrize("attention", ["encoder", "decoder", "cross"])
def test_one_attention_layer_and_head_are_chosen(attention: str, folders: dict[str, Path], command: Callable) -> None:
    outcome = command("explain", folders["t5"], SENTENCE, "--attention", attention, "--layer", 3, "--head", 2)
    assert "layer 3, head 2" in outcome.out
    title = "Cross-attention" if attention == "cross" else f"Self-attention of the {attention}"
    assert title in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bert", " "), "Nothing to explain"),
        (("gpt", "the dog", "--layer", "4"), "no layer 4: the self-attention has 3"),
        (("gpt", "the dog", "--layer", "4", "--json"), "no layer 4"),
        (("bert", "the dog", "--attention", "cross"), "no attention 'cross'"),
        (("llama", "the dog", "--tree"), "--tree shows a translator's beam search"),
        (("vit", "the dog"), "the dog: no such file"),
        (("gpt", "dog " * 50), "reads at most 40"),
    ],
)
def test_impossible_requests_are_errors_of_one_line(
    arguments: tuple[str, ...], message: str, folders: dict[str, Path], command: Callable
) -> None:
    outcome = command("explain", folders.get(arguments[0], arguments[0]), *arguments[1:])
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_one_image_at_a_time(folders: dict[str, Path]) -> None:
    with pytest.raises(DataError, match="holds 2 images; explain one at a time"):
        explain(load_bundle(folders["vit"]), str(folders["two.npy"]))
    assert explain(load_bundle(folders["vit"]), f"{folders['two.npy']}:1").text.endswith("two.npy:1")


def test_odd_texts(folders: dict[str, Path]) -> None:
    """One token, unknown ones, what would act on the terminal."""
    for name in ("gpt", "bert", "t5", "llama"):
        for text in ("dog", "zebra \x1b[31m ünï", "dog\n\ndog"):
            found = explain(load_bundle(folders[name]), text, options=GenerateOptions(max_new=3))
            assert "\x1b" not in str(found)
            json.dumps(found.to_dict(), allow_nan=False)


def test_a_model_that_says_nothing_is_shown_saying_nothing(folders: dict[str, Path]) -> None:
    bundle = load_bundle(folders["t5"])
    first = LanguageModel(bundle).continuations([SENTENCE], GenerateOptions(max_new=1))[0][0].ids[0]
    found = explain(replace(bundle, extras={"ends": [first]}), SENTENCE)
    assert found.answer == ""
    assert [one.chosen for one in found.predictions] == [bundle.tokenizer.pieces_of([first])[0]]
