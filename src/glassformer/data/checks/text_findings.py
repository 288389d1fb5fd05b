"""What was found in texts for a language model: the counts of `Tally`, sizes, and lines or texts that repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from glassformer.data.checks.held_texts import HeldTexts
from glassformer.data.checks.seen import Flags, Hashes, SeenHashes, hashes_of, is_in
from glassformer.data.checks.tally import Tally, finding_dict
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
    "overlap": "the text is also among the held-out ones",
}
TEXT_NOTES = {
    "bom": "a byte order mark, dropped",
    "separator": "a character inside a line that other programs take for the end of a line; kept",
    "continued": "a very long line, read in pieces",
    "duplicate": "the same text as an earlier row",
    "repeated line": f"a line of {LONG_LINE} or more characters that was seen before",
    "held-out line": f"a line of {LONG_LINE} or more characters that is also in the held-out texts",
}


LINE, ROW = "line", "row"  # units of texts


class TextFindings(Tally):
    """Filled while texts are read. A unit is a line of running text, or a row."""

    def __init__(self, unit: str) -> None:
        super().__init__(TEXT_PROBLEMS, TEXT_NOTES)
        self.unit = unit  # LINE or ROW
        self.files = 0
        self.skipped_files: list[str] = []  # in folders: files whose names are not those of texts
        self.documents = 0  # files of running text, or rows that are used
        self.characters = 0
        self.words = 0
        self.held: list[HeldTexts] = []  # of rows

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

    def __init__(self, findings: TextFindings, *, held: Mapping[str, Hashes], repeats: bool = False) -> None:
        self.findings = findings
        self.held = held  # by the name of the part
        self.seen = SeenHashes() if repeats else None

    def check(self, lines: list[tuple[str, Place]]) -> None:
        long = [(line.strip(), place) for line, place in lines if len(line) >= LONG_LINE]
        hashes = hashes_of(line for line, _ in long)
        if self.seen is not None:
            self._note("repeated line", "seen before", self.seen.add(hashes), long)
        for name, held in self.held.items():
            self._note("held-out line", f"also in {name}", is_in(hashes, held), long)

    def _note(self, kind: str, detail: str, hits: Flags, lines: list[tuple[str, Place]]) -> None:
        for at in np.flatnonzero(hits).tolist():
            line, place = lines[at]
            self.findings.notes[kind].add(Problem(kind, detail, place), Fields((line,), place))


def long_line_hashes(texts: list[str]) -> Hashes:
    """Hashes of all long lines of the texts, sorted, each once."""
    lines = (line.strip() for text in texts for line in text.split("\n") if len(line) >= LONG_LINE)
    return np.unique(hashes_of(lines))
