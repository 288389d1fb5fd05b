"""The 6 by 6 attention matrix of YOUR CAT IS A LOVELY CAT, or the matrix of any sentence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.explain.lessons.inputs import numbered, one_text, words_of
from glassformer.explain.lessons.lesson import Asked, Correction, Lab, Lesson, Section, matrix, table
from glassformer.nn.attention import attend
from glassformer.nn.positions import sinusoidal

WORDS = ("YOUR", "CAT", "IS", "A", "LOVELY", "CAT")
WIDTH = 512
SEED = 2017
MOST_IN_A_LAB = 12  # words: more do not fit beside each other
SPREAD = 0.25  # of the random embeddings: small enough that no word looks only at itself


def embeddings(words: Sequence[str] = WORDS, *, width: int = WIDTH, seed: int = SEED) -> Tensor:
    """One random vector per distinct word, so that both CATs get the same: (T, D)."""
    generator = torch.Generator().manual_seed(seed)
    vocabulary = sorted(set(words))
    table = SPREAD * torch.randn(len(vocabulary), width, generator=generator, dtype=torch.float64)
    return table[[vocabulary.index(word) for word in words]]


def attention_matrix(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Q = K = V = embedding + position, one head, d_k = d: the outputs (T, D) and the pattern (T, T)."""
    inputs = with_positions(vectors)
    return attend(inputs, inputs, inputs)


def with_positions(vectors: Tensor) -> Tensor:
    return vectors + sinusoidal(*vectors.shape)


def run(asked: Asked) -> list[Section]:
    words = words_of(one_text(asked.texts, "cat"))
    names = numbered(words)
    static = embeddings(words, width=asked.width, seed=asked.seed)
    output, pattern = attention_matrix(static)
    largest = int((pattern.argmax(-1) == torch.arange(len(words))).sum())
    return [
        sum_section(names, static),
        Section(
            "softmax(Q Kᵀ / √d_k), with Q = K = V = embedding + position",
            f"Embeddings are random (seed {asked.seed}), d = d_k = {asked.width}, one head. Each row shows how much "
            f"that word reads from every word, and sums to 1. The diagonal is the largest in {largest} of "
            f"{len(words)} rows.",
            (matrix("pattern", pattern, rows=names, columns=names, sums=True, shaded=True),),
            (
                Correction(
                    "The values on the diagonal are the highest.",
                    "Only while Q = K: a vector then has its largest product with itself, if all have about the same "
                    "length. With learned W_Q and W_K a word often reads more from others; the lesson learning shows "
                    "it.",
                ),
            ),
        ),
        *repeats(words, static, output),
    ]


def sum_section(names: Sequence[str], static: Tensor) -> Section:
    """Embedding + position = input, in the first dimensions."""
    place, shown = sinusoidal(*static.shape), min(4, static.size(1))
    parts = (("embedding", static), ("+ position", place), ("= input", static + place))
    rows = [f"{name}, dim {i}" for name, _ in parts for i in range(shown)]
    values = torch.cat([vectors[:, :shown].T for _, vectors in parts])
    return Section(
        "Embedding + position = input",
        "Each word's vector is added to the vector of its position, number by number. The position vectors are "
        "computed once and used for every sentence.",
        (matrix("sums", values, rows=rows, columns=names),),
    )


def repeats(words: Sequence[str], static: Tensor, output: Tensor) -> list[Section]:
    """The first word that occurs twice, at both places."""
    double = next((word for word in words if words.count(word) > 1), None)
    if double is None:
        return []
    one = words.index(double)
    other = words.index(double, one + 1)
    stages = (("embedding", static), ("embedding + position", with_positions(static)), ("after attention", output))
    rows = [
        (name, float((x[one] - x[other]).norm()), float(torch.cosine_similarity(x[one], x[other], dim=0)))
        for name, x in stages
    ]
    columns = (f"{double} at {one + 1} against {double} at {other + 1}", "distance", "cosine")
    return [
        Section(
            f"The two {double}{'S' if double.isupper() and double.isascii() else 's'}",
            "They share one embedding; positions make them two different inputs, and attention gives each its own "
            "output.",
            (table("repeated", columns, rows, ".3f", ".3f", ".4f"),),
        )
    ]


def lab(asked: Asked) -> Lab:
    words = words_of(one_text(asked.texts, "cat"))[:MOST_IN_A_LAB]
    static = embeddings(words, width=asked.width, seed=asked.seed)
    inputs = with_positions(static)
    right = {
        "scores": inputs @ inputs.mT / asked.width**0.5,
        "shares": attention_matrix(static)[1],
        "shares without positions": attend(static, static, static)[1],
    }
    return Lab("cat", {"words": list(words), "spread": SPREAD}, {"embeddings": static}, right)


LESSON = Lesson(
    "cat",
    "YOUR CAT IS A LOVELY CAT",
    "The attention matrix of a sentence; what sets two CATs apart.",
    run,
    source="Vaswani et al. 2017, equation 1, with Q = K = V = X and d_k = d",
    files=("nn/attention.py:attend", "nn/positions.py:sinusoidal"),
    takes={"texts": (" ".join(WORDS),), "width": WIDTH, "seed": SEED},
    examples=('"the cat saw the other cat" --width 64',),
    lab=lab,
)
