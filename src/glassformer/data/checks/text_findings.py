"""What was found in texts for a language model: the counts of `Tally`, sizes, and lines or texts that repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from glassformer.data.checks.held_texts import TEST, HeldTexts, overlap_helps
from glassformer.data.checks.seen import Flags, SeenHashes, hashes_of
from glassformer.data.checks.tally import IN_TEST, Tally, finding_dict
from glassformer.data.readers.fields import Fields
from glassformer.data.readers.records import Place, Problem

LONG_LINE = 40  # characters: shorter lines often repeat by chance
TEXT_PROBLEMS = {
    "encoding": "not UTF-8",
    "nul": "a NUL character",
    "too big": "far too long for one row",
    "empty": "an empty file",
    "blank": "a row without text",
    "columns": "a row with a different number of columns from the others",
    "json": "not a JSON object with the text",
    "header": "the header of a table",
    "syntax": "a row that is not CSV",
    "overlap": overlap_helps("text")[0],
}
TEXT_NOTES = {
    "bom": "a byte order mark, dropped",
    "separator": "a character inside a line that other programs take for the end of a line; kept",
    "continued": "a very long line, read in pieces",
    "duplicate": "the same text as an earlier row",
    "repeated line": f"a line of {LONG_LINE} or more characters that was seen before",
    "held-out line": f"a line of {LONG_LINE} or more characters that is also in the validation data. Training uses "
    "both, so the validation scores would be too good: remove these from one of the two",
}


LINE, ROW = "line", "row"  # units of texts


class TextFindings(Tally):
    """Filled while texts are read. A unit is a line of running text, or a row."""

    def __init__(self, unit: str) -> None:
        super().__init__(TEXT_PROBLEMS, {**TEXT_NOTES, IN_TEST: overlap_helps("line" if unit == LINE else "text")[1]})
        self.unit = unit  # LINE or ROW
        self.files = 0
        self.skipped_files: list[str] = []  # in folders: files whose names are not those of texts
        self.documents = 0  # files of running text, or rows that are used
        self.characters = 0
        self.words = 0
        self.held: list[HeldTexts] = []

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": "generate",
            "unit": self.unit,
            "units": self.units,
            "used": self.used,
            "dropped": dict(self.dropped),
            "refused": self.refused,
            "files": self.files,
            "skipped_files": self.skipped_files,
            "documents": self.documents,
            "characters": self.characters,
            "words": self.words,
            "held": [part.to_dict() for part in self.held],
            "findings": [finding_dict(finding) for finding in self.ordered()],
        }


class LineCheck:
    """Compares long lines with those of the held-out texts and, if the data is examined, with earlier lines."""

    def __init__(self, findings: TextFindings, *, held: Sequence[HeldTexts], repeats: bool = False) -> None:
        self.findings = findings
        self.findings.held = list(held)
        self.seen = SeenHashes() if repeats else None

    def check(self, lines: list[tuple[str, Place]]) -> None:
        long = [(line.strip(), place) for line, place in lines if len(line) >= LONG_LINE]
        hashes = hashes_of(line for line, _ in long)
        if self.seen is not None:
            self._note(self.seen.add(hashes), long, lambda place: Problem("repeated line", "seen before", place))
        for part in self.findings.held:
            kind = IN_TEST if part.name == TEST else "held-out line"
            self._note(part.met(hashes), long, partial(part.note, kind))

    def _note(self, hits: Flags, lines: list[tuple[str, Place]], problem_at: Callable[[Place], Problem]) -> None:
        for at in np.flatnonzero(hits).tolist():
            line, place = lines[at]
            problem = problem_at(place)
            self.findings.notes[problem.kind].add(problem, Fields((line,), place))


def held_lines(name: str, texts: Iterable[str]) -> HeldTexts:
    """The long lines of held-out texts."""
    lines = (line.strip() for text in texts for line in text.split("\n") if len(line) >= LONG_LINE)
    return HeldTexts(name, lines, unit="line", units=f"lines of {LONG_LINE} or more characters", exact=True)
