"""The classes that a model distinguishes: their names and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Guess:
    """A class and its probability."""

    number: int
    label: str
    probability: float


def likeliest(probabilities: Tensor, labels: Sequence[str], *, top: int) -> list[list[Guess]]:
    """(B, classes) -> the `top` classes of each row, most likely first."""
    best = probabilities.topk(min(top, probabilities.size(-1)), dim=-1)
    return [
        [Guess(number, label_of(number, labels), value) for number, value in zip(numbers, values, strict=True)]
        for numbers, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def label_of(number: int, labels: Sequence[str]) -> str:
    return labels[number] if number < len(labels) else f"class {number}"
