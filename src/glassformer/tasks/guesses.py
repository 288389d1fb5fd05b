"""What text models answer: classes and words with their probabilities, and similar lines."""

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


@dataclass(frozen=True)
class Word:
    """A candidate for a gap: its piece of the vocabulary, and its probability there."""

    text: str
    probability: float
    id: int


@dataclass(frozen=True)
class Filled:
    """A text with the most likely word in each gap, and the most likely words for every gap."""

    text: str
    gaps: tuple[tuple[Word, ...], ...]


@dataclass(frozen=True)
class Match:
    """A line that is similar to a query: its number (from 0), its text, and the cosine."""

    number: int
    text: str
    cosine: float


def likeliest(probabilities: Tensor, labels: Sequence[str], *, top: int) -> list[list[Guess]]:
    """(B, classes) -> the `top` classes of each row, most likely first."""
    best = probabilities.topk(min(top, probabilities.size(-1)), dim=-1)
    return [
        [Guess(number, label_of(number, labels), value) for number, value in zip(numbers, values, strict=True)]
        for numbers, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def label_of(number: int, labels: Sequence[str]) -> str:
    return labels[number] if number < len(labels) else f"class {number}"
