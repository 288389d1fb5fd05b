"""Why attention divides by the square root of d_k, measured."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.errors import SettingsError
from glassformer.explain.lessons.lesson import Asked, Correction, Lab, Lesson, Section, table

WIDTHS = (4, 16, 64, 256, 1024)
PAIRS = 10_000  # random (query, key) pairs for each variance
QUERIES, KEYS = 250, 32  # for the softmax: 250 queries, each with 32 keys
SEED = 512
MODEL_WIDTH = 512
LAB_QUERIES = 16  # of a page: fewer, because their vectors are in it


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


def measurements(*, seed: int = SEED, largest: int = WIDTHS[-1]) -> list[Measured]:
    generator = torch.Generator().manual_seed(seed)
    return [measure(width, generator) for width in (*(w for w in WIDTHS if w < largest), largest)]


def run(asked: Asked) -> list[Section]:
    measured = measurements(seed=asked.seed, largest=asked.width)
    variance = [(m.width, m.variance[0], m.variance[1]) for m in measured]
    columns = ("d", "highest weight, raw", "scaled", "gradient, raw", "scaled")
    softmax = [(m.width, *m.highest, *m.gradient) for m in measured]
    return [
        Section(
            "The variance of a dot product grows with d",
            "Each of the d products adds its own variance, so q·k of independent values of variance 1 has variance d. "
            "Var(c X) = c² Var(X): divided by √d, it has variance 1 again, whatever the width.",
            (table("variance", ("d", "variance of q·k", "of q·k / √d"), variance, "", ".1f", ".2f"),),
        ),
        Section(
            "Large scores saturate the softmax",
            f"Among {KEYS} random keys, unscaled scores give nearly all weight to one key, and the softmax's "
            "derivative, through which W_Q and W_K learn, vanishes. With scaling, both stay the same at every width.",
            (table("softmax", columns, softmax),),
        ),
        heads_section(asked.heads, asked.seed),
    ]


def heads_section(heads: int, seed: int) -> Section:
    """Heads in a model of 512: which width the scores must be divided by."""
    if MODEL_WIDTH % heads:
        raise SettingsError(f"--heads {heads} does not divide {MODEL_WIDTH}. Give 1, 2, 4, 8, 16, 32 or 64.")
    width = MODEL_WIDTH // heads
    raw = measure(width, torch.Generator().manual_seed(seed)).variance[0]
    rows = [(f"√d_k = √{width}", raw / width), (f"√d_model = √{MODEL_WIDTH}", raw / MODEL_WIDTH)]
    several = f"{heads} heads" if heads > 1 else "1 head"
    cost = f"; with {several} √d_model makes the variance {heads} times too small, and the weights too even"
    return Section(
        "The width of a head, not of the model",
        f"With {several} in a model of width {MODEL_WIDTH}, each product has {width} terms.",
        (table("divided", ("divided by", "variance of the scores"), rows),),
        (
            Correction(
                "softmax(Q Kᵀ / √d_model)",
                "softmax(Q Kᵀ / √d_k), d_k the width of one head. The two are equal with one head only"
                f"{cost if heads > 1 else ''}.",
            ),
        ),
    )


def lab(asked: Asked) -> Lab:
    """Queries and keys whose first d dimensions are those of width d."""
    generator = torch.Generator().manual_seed(asked.seed)
    queries = torch.randn(LAB_QUERIES, asked.width, generator=generator)
    keys = torch.randn(KEYS, asked.width, generator=generator)
    widths = [*(width for width in WIDTHS if width < asked.width), asked.width]
    right: dict[str, list[float]] = {}
    for width in widths:
        scores = queries[:, :width].double() @ keys[:, :width].double().T
        for name, factor in (("raw", 1.0), ("scaled", width**-0.5)):
            right.setdefault(f"variance, {name}", []).append(float((factor * scores).var(correction=0)))
            right.setdefault(f"highest, {name}", []).append(highest_weight(factor * scores))
            right.setdefault(f"gradient, {name}", []).append(jacobian_norm(factor * scores))
    tensors = {name: torch.tensor(values, dtype=torch.float64) for name, values in right.items()}
    settings = {"width": min(512, asked.width), "widths": widths}
    return Lab("scaling", settings, {"queries": queries, "keys": keys}, tensors)


LESSON = Lesson(
    "scaling",
    "Why divide by √d_k",
    "Dot products grow with the width and saturate the softmax.",
    run,
    source="Vaswani et al. 2017, section 3.2.1, footnote 4",
    files=("nn/attention.py:ScaledDotProduct",),
    takes={"width": WIDTHS[-1], "heads": 8, "seed": SEED},
    examples=("--width 128 --seed 1", "--heads 4"),
    lab=lab,
)
