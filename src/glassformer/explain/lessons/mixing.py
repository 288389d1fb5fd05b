"""Attention without parameters: softmax(E E^T) E gives one static vector two meanings, from its neighbours alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from glassformer.explain.lessons.lesson import Lesson, Section, number_table, text_table
from glassformer.nn.attention import parameter_free_attention

SENTENCES = (("money", "bank", "grows"), ("river", "bank", "flows"))
# The mixtures of the lecture notes, which "bank" must become.
BANK_MIXES = ((0.25, 0.70, 0.05), (0.20, 0.78, 0.02))
AXES = ("finance", "water", "motion")
BANK_LENGTH = 2.0


def chosen_vectors() -> dict[str, Tensor]:
    """Toy vectors (3,) for which bank's mixtures come out as in the notes: solved for, not learned.

    bank's weights are the softmax of its products with each word, so word.bank = bank.bank + log(weight / bank's own).
    bank is halfway between finance and water; each neighbour is on its own side; the verbs also have a third dimension.
    """
    side = BANK_LENGTH / math.sqrt(2)
    vectors = {"bank": torch.tensor([side, side, 0.0], dtype=torch.float64)}
    for axis, (words, mix) in enumerate(zip(SENTENCES, BANK_MIXES, strict=True)):
        for place, word in ((0, words[0]), (2, words[2])):
            vector = torch.zeros(3, dtype=torch.float64)
            vector[axis] = (BANK_LENGTH**2 + math.log(mix[place] / mix[1])) / side
            vector[2] = 1.0 if place == 2 else 0.0
            vectors[word] = vector
    return vectors


def mix(words: tuple[str, ...], vectors: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The context vectors (3, 3) of a sentence and the weights (3, 3) they are mixed with."""
    return parameter_free_attention(torch.stack([vectors[word] for word in words]))


def as_mixture(word: str, words: tuple[str, ...], weights: Tensor) -> str:
    """`bank = .25 money + .70 bank + .05 grows`."""
    parts = (f"{weight:.2f}".removeprefix("0") + f" {other}" for weight, other in zip(weights, words, strict=True))
    return f"{word} = " + " + ".join(parts)


def run() -> list[Section]:
    vectors = chosen_vectors()
    static = number_table(torch.stack(list(vectors.values())), rows=list(vectors), columns=AXES)
    sections = [
        Section(
            "One static vector per word",
            "These vectors are chosen, not learned: solved so that bank's mixtures are those of the lecture notes. "
            "bank has one vector, the same in both sentences.",
            (static,),
        )
    ]
    return [*sections, *(mixture_section(words, vectors) for words in SENTENCES), contexts_section(vectors)]


def mixture_section(words: tuple[str, ...], vectors: dict[str, Tensor]) -> Section:
    mixed, weights = mix(words, vectors)
    lines = "\n".join(as_mixture(word, words, row) for word, row in zip(words, weights, strict=True))
    return Section(
        f"“{' '.join(words)}”: softmax(E Eᵀ) E",
        "Similarity (a dot product) decides how much of each word goes into each new vector. No parameter is involved, "
        "and every row of weights sums to 1.",
        (
            number_table(weights, rows=words, columns=words, sums=True),
            lines,
            number_table(mixed, rows=words, columns=AXES),
        ),
    )


def cosine(one: Tensor, other: Tensor) -> float:
    return float(torch.cosine_similarity(one, other, dim=0))


def contexts_section(vectors: dict[str, Tensor]) -> Section:
    by_money, by_river = (mix(words, vectors)[0][1] for words in SENTENCES)
    rows = [
        ("bank, static, in both sentences", f"{cosine(vectors['bank'], vectors['bank']):.3f}"),
        ("bank near money, bank near river", f"{cosine(by_money, by_river):.3f}"),
    ]
    return Section(
        "The same word, two vectors",
        f"After mixing, bank is closer to finance next to money ({by_money[0]:.2f} against {by_money[1]:.2f}) and to "
        f"water next to river ({by_river[1]:.2f} against {by_river[0]:.2f}). E Eᵀ is symmetric, so no choice of "
        "vectors gives all three rows of the notes' tables at once; learned W_Q and W_K remove that limit.",
        (text_table(("vectors compared", "cosine"), rows),),
    )


LESSON = Lesson(
    "mixing",
    "Attention without parameters",
    "One static vector for “bank” becomes two, mixed from its neighbours: softmax(E Eᵀ) E.",
    run,
)
