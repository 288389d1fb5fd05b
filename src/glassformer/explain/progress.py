"""What the page of a run shows of its course: how far a training is, and how its translations came to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ShownProgress:
    """A training that is not at its end."""

    step: int
    steps: int
    epoch: int  # from 1
    elapsed: float  # seconds of all sittings, validations included
    left: float  # seconds, about
    best: str  # "best validation loss 1.234 at step 4,000", or nothing yet
    written: int  # seconds since 1970
    refresh: int  # seconds until the page looks for news; 0: it was stopped, there will be none
    silence: int  # seconds without news after which it has probably been stopped


@dataclass(frozen=True)
class Version:
    """How a sentence read from one validation to another."""

    step: int
    until: int
    text: str


@dataclass(frozen=True)
class Watched:
    """A held-out example and its predictions at each validation; equal ones in a row are one."""

    source: str
    references: tuple[str, ...]
    versions: tuple[Version, ...]


def watched(
    questions: Sequence[tuple[str, Sequence[str]]], records: Sequence[Mapping[str, Any]], key: str = "valid_samples"
) -> list[Watched]:
    """`questions` (source and references) with what each validation among the `records` made of them.

    A validation of another number of sentences is not of these, and left out.
    """
    rows = [(record["step"], record[key]) for record in records if key in record and len(record[key]) == len(questions)]
    if not rows:
        return []
    return [
        Watched(source, tuple(references), tuple(versions([(step, texts[i]) for step, texts in rows])))
        for i, (source, references) in enumerate(questions)
    ]


def versions(readings: Sequence[tuple[int, str]]) -> list[Version]:
    """Runs of the same text as one."""
    found: list[Version] = []
    for step, text in readings:
        if found and found[-1].text == text:
            found[-1] = Version(found[-1].step, step, text)
        else:
            found.append(Version(step, step, text))
    return found
