"""Why attention divides by the square root of d_k, measured."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.explain.lessons.lesson import Lesson, Section, text_table

WIDTHS = (4, 16, 64, 256, 1024)
PAIRS = 10_000  # random (query, key) pairs for each variance
QUERIES, KEYS = 250, 32  # for the softmax: 250 queries, each with 32 keys
SEED = 512


@dataclass(frozen=True)
class Measured:
    """One width, with scores as they are (raw) and divided by sqrt(d) (scaled)."""

    width: int
    variance: tuple[float, float]
    highest: tuple[float, float]  # mean of the largest softmax weight among 32 keys
    gradient: tuple[float, float]  # mean norm of the softmax's Jacobian: how much learning signal passes


def measure(width: int, generator: torch.Generator) -> Measured:
    """Queries and keys with independent values of variance 1."""
    pairs = torch.randn(2, PAIRS, width, generator=generator).prod(0).sum(-1)  # (PAIRS,) independent products q.k
    queries = torch.randn(QUERIES, 1, width, generator=generator)
    keys = torch.randn(QUERIES, KEYS, width, generator=generator)
    scores = (queries * keys).sum(-1)  # (QUERIES, KEYS)
    scale = width**-0.5
    return Measured(
        width=width,
        variance=(float(pairs.var()), float((scale * pairs).var())),
        highest=(highest_weight(scores), highest_weight(scale * scores)),
        gradient=(jacobian_norm(scores), jacobian_norm(scale * scores)),
    )


def highest_weight(scores: Tensor) -> float:
    return float(scores.softmax(-1).max(-1).values.mean())


def jacobian_norm(scores: Tensor) -> float:
    """Mean Frobenius norm of diag(p) - p p^T, the derivative of softmax; 0 where it is saturated."""
    p = scores.softmax(-1)
    jacobian = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    return float(jacobian.flatten(1).norm(dim=1).mean())


def measurements() -> list[Measured]:
    generator = torch.Generator().manual_seed(SEED)
    return [measure(width, generator) for width in WIDTHS]


def run() -> list[Section]:
    measured = measurements()
    variance = [(f"{m.width}", f"{m.variance[0]:.1f}", f"{m.variance[1]:.2f}") for m in measured]
    columns = ("d", "highest weight, raw", "scaled", "gradient, raw", "scaled")
    softmax = [(f"{m.width}", *(f"{x:.3f}" for x in (*m.highest, *m.gradient))) for m in measured]
    return [
        Section(
            "The variance of a dot product grows with d",
            "Each of the d products adds its own variance, so q·k of independent values of variance 1 has variance d. "
            "Divided by √d, it has variance 1 again, whatever the width.",
            (text_table(("d", "variance of q·k", "of q·k / √d"), variance),),
        ),
        Section(
            "Large scores saturate the softmax",
            f"Among {KEYS} random keys, unscaled scores give nearly all weight to one key, and the softmax's "
            "derivative, through which W_Q and W_K learn, vanishes. With scaling, both stay the same at every width.",
            (text_table(columns, softmax),),
        ),
    ]


LESSON = Lesson("scaling", "Why divide by √d_k", "Dot products grow with the width and saturate the softmax.", run)
