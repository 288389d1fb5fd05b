"""What a reader gives: one record for every unit of its input, with a sentence pair or the reason why there is none.

A unit is a line of two aligned files, a row of a table, an object of JSON lines, an entry of a .po file, a
translation unit of a TMX file. There are always as many records as units. Every problem has a place.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file. Lines and units count from 1, bytes from 0 in the unpacked file."""

    file: str
    number: int
    byte: int
    unit: str = "line"  # or row, entry, unit

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.number:,}, byte {self.byte:,}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something odd: a name for code (`kind`) and a message for people (`detail`)."""

    kind: str
    detail: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place}: {self.detail}"


@dataclass(slots=True)
class Record:
    """One unit of the input. A unit with a `problem` cannot be used; its texts are what could still be read."""

    source: str  # white space at the ends removed
    target: str
    place: Place  # of the unit, or of the source's line
    problem: Problem | None = None
    notes: tuple[Problem, ...] = ()  # oddities; the unit can still be used
    target_at: tuple[str, int] | None = None  # file and byte of the target, if different from `place`

    @property
    def texts(self) -> tuple[str, str]:
        return self.source, self.target

    def flaw(self, kind: str, detail: str) -> Problem:
        """A problem of this unit. A detail that begins with `target:` gets the place of the target."""
        place = self.place
        if self.target_at is not None and detail.startswith("target:"):
            place = Place(self.target_at[0], place.number, self.target_at[1], place.unit)
        return Problem(kind, detail, place)
