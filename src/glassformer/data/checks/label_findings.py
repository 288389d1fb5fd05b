"""What was found in labelled examples: the counts of `Tally`, how often each label occurs, and labels that conflict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from glassformer.data.checks.held_texts import HeldTexts, data_of, overlap_helps
from glassformer.data.checks.tally import IN_TEST, Tally, finding_dict
from glassformer.printable import counted, printable, shortened

MOST_LABELS = 1000
SHOWN = 3  # labels that a warning names
LABEL_PROBLEMS = {
    "encoding": "not UTF-8",
    "nul": "a NUL character",
    "too big": "far too long for one row",
    "blank": "a row without text",
    "label": "a row without a label",
    "score": "a row without a number",
    "columns": "a row with a different number of columns from the others",
    "json": "not a JSON object with the text and the label",
    "header": "the header of a table",
    "syntax": "a row that is not CSV",
    "overlap": overlap_helps("text")[0],
    "new label": "a held-out example with a label that training does not have",
}
LABEL_NOTES = {
    "bom": "a byte order mark, dropped",
    "separator": "a character inside a text that other programs take for the end of a line; kept",
    "duplicate": "the same text with the same label was seen before",
    "conflict": "the same text was seen before with another label",
    IN_TEST: overlap_helps("text")[1],
}


class LabelFindings(Tally):
    """Filled while labelled examples are read. A unit is a row, or a line of a file with one class."""

    task = "classify"
    most_labels: int | None = MOST_LABELS

    def __init__(self) -> None:
        super().__init__(LABEL_PROBLEMS, LABEL_NOTES)
        self.labels = Counter[str]()  # of the examples that are used
        self.characters = 0
        self.words = 0
        self.held: list[HeldTexts] = []
        self.missing: dict[str, list[str]] = {}  # held-out part: the labels that none of its examples has

    def ordered_labels(self) -> list[str]:
        return label_order(self.labels)

    def balance(self) -> dict[str, int]:
        """How many examples each label has."""
        return {label: self.labels[label] for label in self.ordered_labels()}

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "unit": "row",
            "units": self.units,
            "used": self.used,
            "dropped": dict(self.dropped),
            "refused": self.refused,
            "labels": self.balance(),
            "characters": self.characters,
            "words": self.words,
            "held": [part.to_dict() for part in self.held],
            "missing_labels": self.missing,
            "findings": [finding_dict(finding) for finding in self.ordered()],
        }


class ScoreFindings(LabelFindings):
    """The same for examples with a number instead of a label."""

    task = "similar"
    most_labels = None

    def __init__(self) -> None:
        super().__init__()
        self.notes.helps = {**LABEL_NOTES, "conflict": "the same text was seen before with another number"}

    def range(self) -> tuple[float, float, float]:
        """The smallest, the mean and the largest number of the examples that are used."""
        values = {float(label): count for label, count in self.labels.items()}
        mean = sum(value * count for value, count in values.items()) / max(1, sum(values.values()))
        return min(values, default=0.0), mean, max(values, default=0.0)

    def to_dict(self) -> dict[str, Any]:
        least, mean, largest = self.range()
        return {**super().to_dict(), "labels": {}, "scores": {"least": least, "mean": mean, "largest": largest}}


def note_missing(missing: dict[str, list[str]], part: str, known: Iterable[str], held: Iterable[str]) -> None:
    """Notes the known labels that a held-out part does not have."""
    there = set(held)
    if found := [label for label in known if label not in there]:
        missing[part] = found


def missing_lines(missing: Mapping[str, Sequence[str]]) -> list[str]:
    """A warning for each held-out part that lacks labels."""
    lines = []
    for part, labels in missing.items():
        named = ", ".join(repr(shortened(printable(label), width=40)) for label in labels[:SHOWN])
        more = f" and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else ""
        lines.append(
            f"Warning: the {data_of(part)} has no example of {counted(len(labels), 'label')} ({named}{more}), so its "
            "scores say nothing about them. Give more examples, or hold out more: --valid 20%, or --valid FILE"
        )
    return lines


def label_order(labels: Iterable[str]) -> list[str]:
    """Sorted: by value if all are numbers, otherwise alphabetically."""
    names = list(labels)
    values = [_number(name) for name in names]
    if any(value is None for value in values):
        return sorted(names)
    return [name for _, name in sorted(zip(values, names, strict=True))]


def _number(label: str) -> float | None:
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
