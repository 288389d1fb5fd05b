"""The 6 by 6 attention matrix of YOUR CAT IS A LOVELY CAT."""

from __future__ import annotations

import torch
from torch import Tensor

from glassformer.explain.heat_map import heat_map
from glassformer.explain.lessons.lesson import Lesson, Section, number_table, text_table
from glassformer.nn.attention import attend
from glassformer.nn.positions import sinusoidal

WORDS = ("YOUR", "CAT", "IS", "A", "LOVELY", "CAT")
WIDTH = 512
SEED = 2017
SPREAD = 0.25  # of the random embeddings: small enough that no word looks only at itself


def embeddings() -> Tensor:
    """One random vector per distinct word, so that both CATs get the same: (6, 512)."""
    generator = torch.Generator().manual_seed(SEED)
    vocabulary = sorted(set(WORDS))
    table = SPREAD * torch.randn(len(vocabulary), WIDTH, generator=generator, dtype=torch.float64)
    return table[[vocabulary.index(word) for word in WORDS]]


def attention_matrix() -> tuple[Tensor, Tensor]:
    """Q = K = V = embedding + position, one head, d_k = d = 512: the outputs (6, 512) and the pattern (6, 6)."""
    inputs = with_positions(embeddings())
    return attend(inputs, inputs, inputs)


def with_positions(vectors: Tensor) -> Tensor:
    return vectors + sinusoidal(len(WORDS), WIDTH)


def run() -> list[Section]:
    static = embeddings()
    inputs = with_positions(static)
    output, pattern = attention_matrix()
    return [
        Section(
            "softmax(Q Kᵀ / √d_k), with Q = K = V = embedding + position",
            f"Embeddings are random (seed {SEED}), d = d_k = {WIDTH}, one head. Each row shows how much that word "
            "reads from every word. Each row sums to 1; the diagonal is largest.",
            (
                number_table(pattern, rows=WORDS, columns=WORDS, sums=True),
                heat_map(pattern, columns=WORDS, rows=WORDS),
            ),
        ),
        cats_section(static, inputs, output),
    ]


def cats_section(static: Tensor, inputs: Tensor, output: Tensor) -> Section:
    stages = (("embedding", static), ("embedding + position", inputs), ("after attention", output))
    rows = [
        (name, f"{(x[1] - x[5]).norm():.3f}", f"{torch.cosine_similarity(x[1], x[5], dim=0):.4f}") for name, x in stages
    ]
    return Section(
        "The two CATs",
        "They share one embedding; positions make them two different inputs, and attention gives each its own output.",
        (text_table(("CAT at 2 against CAT at 6", "distance", "cosine"), rows),),
    )


LESSON = Lesson(
    "cat",
    "YOUR CAT IS A LOVELY CAT",
    "The 6 × 6 self-attention matrix of the lecture notes, computed; and what distinguishes the two CATs.",
    run,
)
