"""Lower layers surface, higher layers meaning: what can be read from the vectors of each encoder layer.

A linear probe (least squares on one half of the texts, measured on the other) reads three things: which word is here
(surface), whether a noun is subject or object (syntax), and which of the two nouns "it" means (meaning). The last two
are not in a word's own vector: an animal can be both, and only a later adjective says what "it" is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from glassformer.data.batches import source_batch
from glassformer.nn.taps import listen
from glassformer.tasks.experiments.claims.bench import SHORT, Bench
from glassformer.tasks.experiments.claims.claim import (
    CONFIRMED,
    DEPENDS,
    NOT_CONFIRMED,
    Finding,
    is_above,
    plain_values,
)
from glassformer.tasks.experiments.claims.transformer import SINUSOIDAL
from glassformer.tasks.experiments.repeated import Repeated, shown
from glassformer.tasks.experiments.small_language import AGENTS, OTHER, SmallText, small_texts

PROBED = 300  # texts
RIDGE = 1e-2
ANIMALS = frozenset(noun[0] for noun in AGENTS)
QUESTIONS = ("word", "role", "it")
NAMES = {"word": "which word it is", "role": "subject or object", "it": 'what "it" means'}


@dataclass(frozen=True)
class Asked:
    """Places of a question, (text, word), with the right answers as numbers."""

    places: tuple[tuple[int, int], ...]
    answers: tuple[int, ...]


def asked(texts: Sequence[SmallText], question: str) -> Asked:
    found: list[tuple[tuple[int, int], str]] = []
    for number, text in enumerate(texts):
        for place, (word, role) in enumerate(zip(text.words, text.roles, strict=True)):
            if question == "word":
                found.append(((number, place), word))
            elif role != OTHER and (word == "it") == (question == "it") and (word == "it" or word in ANIMALS):
                found.append(((number, place), role))
    names = sorted({answer for _, answer in found})
    return Asked(tuple(place for place, _ in found), tuple(names.index(answer) for _, answer in found))


@torch.inference_mode()
def vectors_by_layer(translator: Any, texts: Sequence[SmallText]) -> list[list[NDArray[np.float64]]]:
    """[layer][text] (words, D): the embeddings with their positions, then the output of every encoder block."""
    rows = translator.source.encode_batch([one.phrase.source for one in texts])
    if any(len(row) != len(text.words) for row, text in zip(rows, texts, strict=True)):
        raise ValueError("the probes need one token for each word")
    names = ["inputs.sum", *(f"blocks.{i}.feed_forward_residual.after" for i in range(translator.model.config.N))]
    with listen(translator.model.encoder, lambda name: name in names) as heard:
        translator.model.encode(source_batch(rows, translator.source_marks))
    layers = [heard[name][0].double().numpy() for name in names]
    return [[layer[i, : len(row)] for i, row in enumerate(rows)] for layer in layers]


def probe(vectors: Sequence[NDArray[np.float64]], question: Asked) -> float:
    """The share of right answers in the second half of the texts, in percent."""
    x = np.stack([vectors[text][place] for text, place in question.places])  # (n, D)
    y = np.array(question.answers)
    second = np.array([text for text, _ in question.places]) >= len(vectors) // 2
    x = (x - x[~second].mean(axis=0)) / (x[~second].std(axis=0) + 1e-6)
    x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    one_hot = np.eye(int(y.max()) + 1)[y]
    gram = x[~second].T @ x[~second]
    weights = np.linalg.solve(gram + RIDGE * len(gram) * np.eye(len(gram)), x[~second].T @ one_hot[~second])
    right = (x[second] @ weights).argmax(axis=1) == y[second]
    return float(100 * right.mean())


def surface_and_meaning(bench: Bench) -> Finding:
    texts = small_texts(PROBED, clauses=(2, 2), seed=99)
    questions = {name: asked(texts, name) for name in QUESTIONS}
    per_seed = []
    for seed in bench.numbers:
        layers = vectors_by_layer(bench.translator(SINUSOIDAL, seed, SHORT), texts)
        per_seed.append({name: [probe(layer, one) for layer in layers] for name, one in questions.items()})
    count = len(per_seed[0]["word"])
    found = {
        name: [Repeated(tuple(one[name][layer] for one in per_seed)) for layer in range(count)] for name in QUESTIONS
    }
    rows = tuple(
        ("inputs" if layer == 0 else f"layer {layer}", *(shown(found[name][layer]) for name in QUESTIONS))
        for layer in range(count)
    )
    gained = {name: found[name][-1].minus(found[name][0]) for name in QUESTIONS}
    meaning = is_above(gained["role"]) and is_above(gained["it"])
    fades = is_above(found["word"][0].minus(found["word"][-1]))
    verdict = CONFIRMED if meaning and fades else DEPENDS if meaning else NOT_CONFIRMED
    why = (
        f"From the inputs to the last layer, what can be read changes by {shown(gained['word'])} points for the word "
        f'itself, {shown(gained["role"])} for its role and {shown(gained["it"])} for the meaning of "it".'
    )
    values = {f"{name} {layer}": one for name, own in found.items() for layer, one in enumerate(own)}
    return Finding(verdict, why, ("", *(NAMES[name] for name in QUESTIONS)), rows, plain_values(values))
