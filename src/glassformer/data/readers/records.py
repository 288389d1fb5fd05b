"""What a reader gives: one record for every unit of its input, a sentence pair or the reason why there is none.

A unit is a line of two aligned files, a row of a table, an object of JSON lines, an entry of a .po file, a
translation unit of a TMX file. Units in = records out, always; what is wrong with one is told with its place.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands. Lines and units count from 1, bytes from 0 and in the unpacked file."""

    file: str
    number: int
    byte: int
    unit: str = "line"  # or row, entry, unit

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.number:,}, byte {self.byte:,}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something odd, named for code (`kind`) and told for people (`detail`)."""

    kind: str
    detail: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place}: {self.detail}"


@dataclass(slots=True)
class Record:
    """One unit of the input. With a `problem` it cannot be used, and the texts hold what could still be read."""

    source: str  # white space at the ends removed
    target: str
    place: Place  # of the unit, or of the source's line
    problem: Problem | None = None
    notes: tuple[Problem, ...] = ()  # oddities that do not keep it from being used
    target_at: tuple[str, int] | None = None  # file and byte of the target, if it is not where `place` is

    @property
    def texts(self) -> tuple[str, str]:
        return self.source, self.target

    def flaw(self, kind: str, detail: str) -> Problem:
        """A problem of this unit. A detail that begins with `target:` is about the target, and placed there."""
        place = self.place
        if self.target_at is not None and detail.startswith("target:"):
            place = Place(self.target_at[0], place.number, self.target_at[1], place.unit)
        return Problem(kind, detail, place)
