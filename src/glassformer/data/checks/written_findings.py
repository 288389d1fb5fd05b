"""What was found in inputs with texts to write: the counts of `Tally`, and the sizes of each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from glassformer.data.checks.held_texts import HeldTexts, overlap_helps
from glassformer.data.checks.tally import IN_TEST, Tally, finding_dict

WRITTEN_PROBLEMS = {
    "encoding": "not UTF-8",
    "nul": "a NUL character",
    "too big": "far too long for one row",
    "blank": "a row without an input or without an output",
    "columns": "a row with a different number of columns from the others",
    "json": "not a JSON object with texts, or lists of texts, as input and output",
    "header": "the header of a table",
    "syntax": "a row that is not CSV",
    "overlap": overlap_helps("input")[0],
}
WRITTEN_NOTES = {
    "bom": "a byte order mark, dropped",
    "separator": "a character inside a text that other programs take for the end of a line; kept",
    "duplicate": "the same input with the same output was seen before",
    "another output": "the same input was seen before with another output",
    "copy": "the output is the same as the input",
    "longer": "the output is longer than the input",
    IN_TEST: overlap_helps("input")[1],
}


@dataclass
class TaskSizes:
    """The examples of one task that are used."""

    examples: int = 0
    outputs: int = 0  # an input may have several
    input_words: int = 0
    output_words: int = 0
    longest_input: int = 0  # words
    longest_output: int = 0

    def add(self, source: str, references: Sequence[str]) -> None:
        words, written = len(source.split()), [len(one.split()) for one in references]
        self.examples += 1
        self.outputs += len(references)
        self.input_words += words
        self.output_words += sum(written)
        self.longest_input = max(self.longest_input, words)
        self.longest_output = max(self.longest_output, *written)

    @property
    def mean_input(self) -> float:
        return self.input_words / max(1, self.examples)

    @property
    def mean_output(self) -> float:
        return self.output_words / max(1, self.outputs)


class WrittenFindings(Tally):
    """Filled while rows are read."""

    def __init__(self) -> None:
        super().__init__(WRITTEN_PROBLEMS, WRITTEN_NOTES)
        self.tasks: dict[str, TaskSizes] = {}
        self.held: list[HeldTexts] = []

    def size_of(self, task: str) -> TaskSizes:
        return self.tasks.setdefault(task, TaskSizes())

    @property
    def words(self) -> int:
        return sum(one.input_words + one.output_words for one in self.tasks.values())

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": "rewrite",
            "unit": "row",
            "units": self.units,
            "used": self.used,
            "dropped": dict(self.dropped),
            "refused": self.refused,
            "tasks": {name: asdict(one) for name, one in self.tasks.items()},
            "words": self.words,
            "held": [part.to_dict() for part in self.held],
            "findings": [finding_dict(finding) for finding in self.ordered()],
        }
