"""One model, several threads: whoever listens hears only itself, and nobody else is slowed down or disturbed."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from functools import partial
from pathlib import Path

import pytest
import torch

import glassformer as gf
from encoder_models import bert, gpt
from glassformer.nn.taps import listen
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.generation import LanguageModel
from glassformer.tasks.translation.alignment import align
from glassformer.tasks.translation.scoring import score
from glassformer.tasks.translation.translator import Translator
from threaded import Call, differing, digits

TEXTS = [
    "the dog has me.",
    "we see the house and the dog",
    "the house",
    "me",
    "the dog sees the house and the house sees the dog and me.",
    "the dog and the dog and the dog",
]


def explained(model: Translator, text: str) -> Hashable:
    found = model.explain(text)
    return digits((found.translation, found.score, found.cross_attention, found.encoder_attention, dict(found.values)))


def calls_of(model: Translator, texts: list[str]) -> list[Call]:
    """Translations, streams, explanations, alignments and scores of single texts and of several."""
    kinds: list[Call] = []
    for text in texts:
        kinds += [
            partial(lambda text: digits([vars(one) for one in model.candidates(text, beam=3)]), text),
            partial(lambda text: model.translate(text, beam=1), text),
            partial(lambda text: tuple(model.stream(text)), text),
            partial(explained, model, text),
            partial(lambda text: frozenset(align(model, [text], ["das haus und der hund"])[0]), text),
            partial(lambda text: score(model, [text], ["der hund"])[0].log_probs, text),
        ]
    return [*kinds, lambda: tuple(map(frozenset, align(model, texts, texts))), lambda: tuple(model.translate(texts))]


def test_threads_give_what_one_gives(trained: Path) -> None:
    assert differing(calls_of(gf.load(trained), TEXTS), times=120) == []


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_the_first_use_may_be_by_eight_threads_at_once(kind: str) -> None:
    texts = ["the dog", "a river bank and the dog", "money"]
    if kind == "gpt":
        writer = LanguageModel(gpt())
        calls: list[Call] = [partial(lambda text: writer.generate(text, max_new=6), text) for text in texts] + [
            partial(lambda text: digits(dict(writer.explain(text).values)), text) for text in texts
        ]
        calls += [partial(lambda text: digits(writer.score(text).log_probs), text) for text in texts]
    else:
        reader = TextEncoder(bert(head="words"))
        calls = [partial(lambda text: reader.embed(text).tobytes(), text) for text in texts]
        calls += [partial(lambda text: reader.fill(text + " [MASK]"), text) for text in texts]
        calls += [partial(lambda text: digits(dict(reader.explain(text).values)), text) for text in texts]
        calls += [lambda: str(reader.context(["the dog", "a river and the dog"], "dog"))]
    assert differing(calls, times=80) == []


@pytest.mark.long
def test_a_thousand_calls_of_eight_threads(trained: Path) -> None:
    model = gf.load(trained)
    assert differing(calls_of(model, [*TEXTS, *(" ".join([text] * 4) for text in TEXTS)]), times=1000) == []


@torch.inference_mode()
def test_other_threads_keep_the_compiled_way(trained: Path) -> None:
    model = gf.load(trained).model
    listening, done = threading.Event(), threading.Event()

    def listens() -> None:
        with listen(model):
            listening.set()
            done.wait(60)

    thread = threading.Thread(target=listens)
    thread.start()
    listening.wait(60)
    try:
        before = model.tapes.ready(model)
        assert not model.heard
        assert not model.decoder.heard
        with listen(model):
            assert not model.tapes.ready(model)
    finally:
        done.set()
        thread.join()
    assert before == model.tapes.ready(model)
