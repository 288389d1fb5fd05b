"""Models from Python: one text in, one result out; a list in, a list out; and what is no text is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from encoder_models import bert
from glassformer.errors import DataError, GlassformerError, ModelError, SettingsError
from glassformer.models.captioner import Captioner, CaptionerConfig
from glassformer.models.gpt import Gpt, GptConfig
from glassformer.models.t5 import T5, T5Config
from glassformer.models.vit import Vit, VitConfig
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.generation import LanguageModel
from glassformer.tasks.vision import ImageModel
from glassformer.text import train_tokenizer

TEXTS = ["the dog sees me.", "a house"]
WORDS = train_tokenizer("word", ["the dog sees a house and me ."] * 3, vocab_size=30)
MARKS = SpecialIds(bos=2, eos=3, pad=0, unk=1, start=0)


@pytest.fixture(scope="module")
def models(trained: Path) -> dict[str, Any]:
    torch.manual_seed(0)
    shape: dict[str, Any] = {"N": 1, "d": 20, "h": 2, "d_ff": 13}
    gpt = Gpt(GptConfig(vocabulary=len(WORDS), max_length=40, **shape))
    t5 = T5(T5Config(vocabulary=len(WORDS), d_kv=7, **shape))
    vit = Vit(VitConfig(size="nano", patch=7, classes=3, **shape))
    captioner = Captioner(CaptionerConfig(size="tiny", vocabulary=len(WORDS), max_length=9, **shape))
    return {
        "translator": gf.load(trained),
        "gpt": LanguageModel(Bundle("gpt", gpt, WORDS, MARKS)),
        "t5": LanguageModel(Bundle("t5", t5, WORDS, MARKS)),
        "bert": TextEncoder(bert(head="words")),
        "vit": ImageModel(Bundle("vit", vit)),
        "captioner": ImageModel(Bundle("captioner", captioner, WORDS, MARKS)),
    }


IMAGES = list(np.random.default_rng(0).integers(0, 256, (2, 28, 28), dtype=np.uint8))
METHODS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "translate": ("translator", lambda model, x: model.translate(x)),
    "candidates": ("translator", lambda model, x: model.candidates(x, n_best=2)),
    "align": ("translator", lambda model, x: model.align(x, x)),
    "score a translation": ("translator", lambda model, x: model.score(x, x)),
    "explain a translation": ("translator", lambda model, x: model.explain(x).score if one(x) else scores(model, x)),
    "generate": ("gpt", lambda model, x: model.generate(x, max_new=5)),
    "generate by T5": ("t5", lambda model, x: model.generate(x, max_new=5)),
    "continuations": ("gpt", lambda model, x: model.continuations(x, gf.GenerateOptions(max_new=5))),
    "score": ("gpt", lambda model, x: model.score(x)),
    "hidden_states": ("gpt", lambda model, x: model.hidden_states(x)),
    "embed": ("bert", lambda model, x: model.embed(x)),
    "similar": ("bert", lambda model, x: model.similar(x, ["the dog", "a cat", "money"], top=2)),
    "fill": ("bert", lambda model, x: model.fill(x + " [MASK]" if one(x) else [text + " [MASK]" for text in x])),
    "classify": ("vit", lambda model, x: model.classify(x)),
    "caption": ("captioner", lambda model, x: model.caption(x, max_new=5)),
    "captions": ("captioner", lambda model, x: model.captions(x, gf.GenerateOptions(max_new=5))),
    "explain": ("gpt", lambda model, x: explained(model, x)),
    "explain T5": ("t5", lambda model, x: explained(model, x)),
    "explain BERT": ("bert", lambda model, x: explained(model, x)),
    "explain ViT": ("vit", lambda model, x: explained(model, x)),
    "explain captions": ("captioner", lambda model, x: explained(model, x)),
}


def one(given: Any) -> bool:
    return not isinstance(given, list)


def scores(model: Any, texts: list[str]) -> list[float]:
    return [found.score for found in model.explain(texts)]


def explained(model: Any, given: Any) -> Any:
    found = model.explain(given)
    return found.to_dict() if one(given) else [single.to_dict() for single in found]


def rounded(found: Any) -> str:
    """As text, with four decimals: the last bits depend on the batch."""
    return re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.4f}", str(found))


@pytest.mark.parametrize("name", METHODS)
def test_one_in_one_out_and_many_in_many_out(name: str, models: dict[str, Any]) -> None:
    kind, call = METHODS[name]
    given: list[Any] = IMAGES if kind in ("vit", "captioner") else TEXTS
    many = call(models[kind], given)
    assert len(many) == 2
    for single, expected in zip(given, many, strict=True):
        found = call(models[kind], single)
        if name in ("embed", "hidden_states"):
            np.testing.assert_allclose(found, expected, atol=1e-5)
        elif name == "similar":
            assert [(match.number, match.text) for match in found] == [(match.number, match.text) for match in expected]
        elif name.startswith("explain "):
            assert type(found) is type(expected)
            assert name != "explain a translation" or found == expected
        else:
            assert rounded(found)[:60] == rounded(expected)[:60]
    assert len(call(models[kind], [])) == 0


BAD = [None, 7, 2.5, b"the dog", {"a": 1}, ["the dog", None], [b"the"], [3], [["the"]]]


@pytest.mark.parametrize("name", METHODS)
def test_what_is_no_input_is_refused(name: str, models: dict[str, Any]) -> None:
    kind, call = METHODS[name]
    if name == "fill":
        call = lambda model, x: model.fill(x)  # noqa: E731
    images = kind in ("vit", "captioner")  # there a str would name a file
    for bad in [[IMAGES[0], None] if images and each == ["the dog", None] else each for each in BAD]:
        with pytest.raises(GlassformerError, match=r"[Ee]xpected|Decode"):
            call(models[kind], bad)


@pytest.mark.parametrize("bad", [None, ["a"], b"a", 3])
def test_a_stream_is_of_one_text(bad: Any, models: dict[str, Any]) -> None:
    for kind in ("translator", "gpt", "t5"):
        with pytest.raises(DataError, match="expected one text"):
            models[kind].stream(bad)


@pytest.mark.parametrize("beam", [0, -1, True, 2.5, 100_000, "2", float("nan")])
def test_a_beam_is_a_whole_number(beam: Any, models: dict[str, Any]) -> None:
    calls = [
        lambda: models["translator"].translate("the dog", beam=beam),
        lambda: models["translator"].explain("the dog", beam=beam),
        lambda: models["translator"].stream("the dog", beam=beam),
        lambda: models["gpt"].generate("the dog", beam=beam),
        lambda: models["captioner"].caption(IMAGES[0], beam=beam),
    ]
    for call in calls:
        with pytest.raises(SettingsError, match=r"beam = .*: it must be a whole number from 1 to 1,000"):
            call()


@pytest.mark.parametrize("count", [0, -1, True, 1.5, None])
def test_counts_are_whole_numbers_from_one_on(count: Any, models: dict[str, Any]) -> None:
    calls = {
        "n_best": lambda: models["translator"].candidates("the dog", n_best=count),
        "top": lambda: models["translator"].explain("the dog", top=count),
        "top ": lambda: models["bert"].similar("the dog", TEXTS, top=count),
        "top  ": lambda: models["bert"].fill("a [MASK]", top=count),
        "top   ": lambda: models["vit"].classify(IMAGES[0], top=count),
        "top    ": lambda: models["gpt"].explain("the dog", top=count),
    }
    for name, call in calls.items():
        with pytest.raises(SettingsError, match=f"{name.strip()} = .*: it must be a whole number from 1"):
            call()


def test_sources_and_translations_belong_together(models: dict[str, Any]) -> None:
    translator = models["translator"]
    with pytest.raises(DataError, match="one text and one translation, or a list of each"):
        translator.align("the dog", ["der hund"])
    with pytest.raises(DataError, match="2 texts and 1 translations"):
        translator.score(TEXTS, ["der hund"])


def test_lines_and_sentences_are_lists(models: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"expected a query .* or a list of queries"):
        models["bert"].similar(None, TEXTS)
    with pytest.raises(DataError, match="give a list of texts"):
        models["bert"].similar("a dog", "a dog")
    with pytest.raises(DataError, match="two or more"):
        models["bert"].context("a dog", "dog")
    assert models["bert"].context(["the dog", "a dog"], "dog").word == "dog"


def test_a_method_of_another_kind_is_refused_in_words(models: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=r"A bert model has no translate.*Models that have it: translators"):
        models["bert"].translate("a dog")
    assert not hasattr(models["gpt"], "embed")
    with pytest.raises(AttributeError, match="no attribute 'tranlsate'"):
        models["gpt"].tranlsate  # noqa: B018


def test_what_is_printed_of_models_and_results(models: dict[str, Any], trained: Path) -> None:
    told = repr(models["translator"])
    assert told.startswith("<Translator: transformer model, into de, 1 layers")
    assert f"from {trained}" in told
    assert "parameters" in told
    assert "gpt model, 1 layers, width 20, 2 heads" in repr(models["gpt"])
    assert len(repr(models["translator"].explain("the dog"))) < 300
    assert repr(models["gpt"].explain("the dog")).startswith("<Explanation of 'the dog' by a gpt model")


def test_load_can_insist_on_a_kind(trained: Path) -> None:
    assert isinstance(gf.load(trained, kind=gf.Translator), gf.Translator)
    assert isinstance(gf.load(trained, kind=gf.TextEncoder), gf.TextEncoder), "a translator's encoder"
    with pytest.raises(ModelError):
        gf.load(trained, kind=gf.ImageModel)
    with pytest.raises(DataError, match="expected the path"):
        gf.load(None)  # type: ignore[call-overload]
