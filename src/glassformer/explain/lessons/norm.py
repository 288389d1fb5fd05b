"""Why LayerNorm and not BatchNorm: padding changes the statistics of a batch, but never those of a token."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from glassformer.explain.lessons.lesson import Asked, Cell, Lab, Lesson, Section, matrix, table
from glassformer.nn.norms import LayerNorm

# The five samples with features f1, f2 and z1 to z3.
SAMPLES = (
    ("s1", (2, 3, 7, 5, 4)),
    ("s2", (1, 1, 2, 3, 4)),
    ("s3", (5, 4, 1, 2, 3)),
    ("s4", (6, 1, 7, 5, 6)),
    ("s5", (7, 1, 3, 3, 4)),
)
FEATURES = ("f1", "f2", "z1", "z2", "z3")
PADDING = (0, 3, 10, 100)  # zero vectors added after the five tokens


def tokens() -> Tensor:
    """(5, 5): five tokens of five features."""
    return torch.tensor([values for _, values in SAMPLES], dtype=torch.float64)


def padded(count: int) -> Tensor:
    """The tokens followed by `count` zero vectors: (5 + count, 5)."""
    return torch.cat([tokens(), torch.zeros(count, len(FEATURES), dtype=torch.float64)])


def batch_norm(x: Tensor) -> Tensor:
    """BatchNorm as in training: each feature by its mean and variance over all rows, padding included."""
    return nn.BatchNorm1d(len(FEATURES), affine=False, dtype=torch.float64)(x)


def layer_norm(x: Tensor) -> Tensor:
    """LayerNorm: each row by its own mean and variance."""
    with torch.no_grad():
        return LayerNorm(len(FEATURES)).double()(x)


def run(_: Asked) -> list[Section]:
    names = [name for name, _ in SAMPLES]
    x = tokens()
    named = (("tokens", x), ("batch_norm", batch_norm(x)), ("layer_norm", layer_norm(x)))
    tables = [matrix(key, values, rows=names, columns=FEATURES, digits=2) for key, values in named]
    return [
        Section("Five tokens", "Five rows, five features: f1, f2, z1, z2, z3.", (tables[0],)),
        Section("BatchNorm: down each column", "Each feature gets mean 0 over the batch.", (tables[1],)),
        Section(
            "LayerNorm: along each row",
            "Each token gets mean 0 and deviation 1 over its own features: (x − μ) / σ. Then come a learned gain and "
            "bias, (x − μ) / σ · γ + β, so that a layer can undo what does not help it.",
            (tables[2],),
        ),
        padding_section(),
    ]


def padding_section() -> Section:
    real = len(SAMPLES)
    batch, layer = batch_norm(tokens()), layer_norm(tokens())
    rows: list[tuple[Cell, ...]] = []
    for count in PADDING:
        x = padded(count)
        moved = [(norm(x)[:real] - alone).abs().max() for norm, alone in ((batch_norm, batch), (layer_norm, layer))]
        mean, variance = float(x[:, 0].mean()), float(x[:, 0].var(correction=0))
        rows.append((count, mean, variance, *(float(one) for one in moved)))
    columns = ("padding", "mean of f1", "variance of f1", "BatchNorm moves by", "LayerNorm by")
    return Section(
        "The same tokens, more padding",
        "Padding changes the batch's mean and variance, so the same real tokens get different outputs (largest change "
        "shown). LayerNorm looks at one token at a time: its outputs stay the same.",
        (table("padding", columns, rows, "", ".2f", ".2f", ".3f", ".3f"),),
    )


def lab(_: Asked) -> Lab:
    right: dict[str, Tensor] = {}
    for count in PADDING:
        x, real = padded(count), len(SAMPLES)
        right |= {f"batch norm {count}": batch_norm(x)[:real], f"layer norm {count}": layer_norm(x)[:real]}
    settings = {
        "names": [name for name, _ in SAMPLES],
        "features": list(FEATURES),
        "values": tokens().tolist(),
        "padding": list(PADDING),
        "eps": LayerNorm(len(FEATURES)).eps,
    }
    return Lab("norm", settings, right=right)


LESSON = Lesson(
    "norm",
    "LayerNorm, not BatchNorm",
    "Padding moves BatchNorm's real tokens, never LayerNorm's.",
    run,
    source="Ba, Kiros and Hinton 2016, arXiv 1607.06450",
    files=("nn/norms.py:LayerNorm",),
    lab=lab,
)
