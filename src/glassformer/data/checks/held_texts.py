"""Hashes of the held-out texts, to find those that are also in the training data.

Training reads the validation files and leaves out what they have. It does not know the test files, so what is also in
them is used, and reported as something to fix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from glassformer.data.checks.seen import Flags, Hashes, hashes_of, is_in
from glassformer.data.checks.tally import IN_TEST
from glassformer.data.readers.records import Place, Problem
from glassformer.text.folding import folded

TEST = "test"  # the name of the part that training does not know
LEFT_OUT = "Training leaves these out: nothing to do"
LEARNED = (
    "Training does not read the test data, so the model would learn these and score too high: remove them from the "
    "training data"
)
FOLDED = "case, punctuation and spaces aside"
OVERLAP = "overlap"  # the kind of a unit that is left out because it is also in the validation data


class Marked(Protocol):
    """A unit that may be also in a held-out part."""

    problem: Problem | None
    notes: tuple[Problem, ...]

    @property
    def place(self) -> Place: ...


class HeldTexts:
    """One held-out part, "valid" or "test". Case, punctuation and spaces do not matter, unless it is `exact`.

    `unit` and `units` are what is held out; `part` is what of it is compared, if not all of it.
    """

    def __init__(
        self,
        name: str,
        texts: Iterable[str],
        *,
        unit: str = "text",
        units: str = "texts",
        part: str = "",
        exact: bool = False,
    ) -> None:
        self.name, self.unit, self.units, self.part, self.exact = name, unit, units, part, exact
        hashes = self._hashed(texts)
        self.examples = len(hashes)
        self._hashes, self._counts = np.unique(hashes, return_counts=True)
        self._met = np.zeros(len(self._hashes), dtype=np.bool_)

    def _hashed(self, texts: Iterable[str]) -> Hashes:
        return hashes_of(texts if self.exact else map(folded, texts))

    def met(self, hashes: Hashes) -> Flags:
        """Which of these are held out. The part remembers which of its own texts were found."""
        hits = is_in(hashes, self._hashes)
        self._met |= is_in(self._hashes, np.sort(hashes[hits]))
        return hits

    def mark(self, units: Sequence[Marked], texts: Sequence[str]) -> None:
        """Gives every unit whose text is held out a problem, or a note if training would use it all the same."""
        for at in np.flatnonzero(self.met(self._hashed(texts))).tolist():
            unit = units[at]
            if self.name == TEST:
                unit.notes += (self.note(IN_TEST, unit.place),)
            else:
                unit.problem = self.note(OVERLAP, unit.place)

    def note(self, kind: str, place: Place) -> Problem:
        return Problem(kind, f"the {self.part or self.unit} is also in the {data_of(self.name)}", place)

    @property
    def in_train(self) -> int:
        """How many held-out examples have a text that is in the training data."""
        return int(self._counts[self._met].sum())

    def __str__(self) -> str:
        """In one sentence: how many of how many are in the training data."""
        return held_sentence(
            self.name,
            self.in_train,
            self.examples,
            self.units,
            part=self.part,
            compared="" if self.exact else FOLDED,
        )

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "examples": self.examples, "texts_in_train": self.in_train}


def data_of(part: str) -> str:
    return f"{'validation' if part == 'valid' else part} data"


def held_sentence(name: str, met: int, total: int, units: str, *, part: str = "", compared: str = "") -> str:
    """`test: 6 of 10 questions have a passage that is also in the training data`."""
    if not met:
        return f"{name}: {total:,} {units}, none of them in the training data"
    is_, has = ("is", "has") if met == 1 else ("are", "have")
    which = f"{has} a {part} that is" if part else is_
    return f"{name}: {met:,} of {total:,} {units} {which} also in the training data{compared and f' ({compared})'}"


def overlap_helps(what: str) -> tuple[str, str]:
    """What it means that something of the training data is held out, and what to do: valid, test."""
    return (
        f"the {what} is also in the validation data. {LEFT_OUT}",
        f"the {what} is also in the test data. {LEARNED}",
    )
