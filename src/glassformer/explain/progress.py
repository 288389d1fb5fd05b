"""What the page of a run shows about its course: the progress, and how predictions changed during training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ShownProgress:
    """The progress of a run that is not finished."""

    step: int
    steps: int
    epoch: int  # from 1
    elapsed: float  # seconds of all sessions, including validations
    left: float  # seconds, estimated
    best: str  # "best validation loss 1.234 at step 4,000"; empty before the first validation
    written: int  # seconds since 1970
    refresh: int  # seconds between reloads of the page; 0: the run was stopped
    silence: int  # seconds without an update after which the run has probably been stopped


@dataclass(frozen=True)
class Version:
    """A prediction that stayed the same from one validation to another."""

    step: int
    until: int
    text: str


@dataclass(frozen=True)
class Watched:
    """A held-out example and its predictions at the validations; equal ones in a row are merged."""

    source: str
    references: tuple[str, ...]
    versions: tuple[Version, ...]


def watched(
    questions: Sequence[tuple[str, Sequence[str]]], records: Sequence[Mapping[str, Any]], key: str = "valid_samples"
) -> list[Watched]:
    """`questions` (source and references) with their predictions at each validation in `records`.

    A validation with another number of samples is of other examples, and is left out.
    """
    rows = [(record["step"], record[key]) for record in records if key in record and len(record[key]) == len(questions)]
    if not rows:
        return []
    return [
        Watched(source, tuple(references), tuple(versions([(step, texts[i]) for step, texts in rows])))
        for i, (source, references) in enumerate(questions)
    ]


def versions(readings: Sequence[tuple[int, str]]) -> list[Version]:
    """Equal texts in a row, merged."""
    found: list[Version] = []
    for step, text in readings:
        if found and found[-1].text == text:
            found[-1] = Version(found[-1].step, step, text)
        else:
            found.append(Version(step, step, text))
    return found
