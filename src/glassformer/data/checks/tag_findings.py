"""What was found in tagged sentences: the counts of `Tally`, labels, entities, and sequences that break the rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

from glassformer.data.checks.held_texts import HeldTexts, overlap_helps
from glassformer.data.checks.label_findings import label_order
from glassformer.data.checks.tally import IN_TEST, Tally, finding_dict

TAG_PROBLEMS = {
    "encoding": "not UTF-8",
    "nul": "a NUL character",
    "too big": "far too long for one line",
    "label": "a word or a label is missing",
    "columns": "a line with a different number of columns from the others",
    "json": "not a JSON object with words and labels, or with a text and spans",
    "empty": "no words",
    "overlap": overlap_helps("sentence")[0],
}
TAG_NOTES = {
    "bom": "a byte order mark, dropped",
    "separator": "a character inside a line that other programs take for the end of a line; kept",
    "duplicate": "the same sentence with the same labels was seen before",
    "conflict": "the same sentence was seen before with other labels",
    "invalid": "labels that break the rules of their scheme; read as the CoNLL evaluation does",
    "widened": "an entity that begins or ends inside a word; the whole word is labelled",
    IN_TEST: overlap_helps("sentence")[1],
}


class TagFindings(Tally):
    """Filled while tagged sentences are read. A unit is a sentence."""

    def __init__(self) -> None:
        super().__init__(TAG_PROBLEMS, TAG_NOTES)
        self.scheme = ""
        self.labels = Counter[str]()  # of the words that are used
        self.entities = Counter[str]()  # by type; none for plain labels
        self.groups: set[tuple[int, int]] = set()  # documents: file and number
        self.marked = False  # whether a file marks its documents
        self.words = 0
        self.longest = 0  # words of a sentence
        self.held: list[HeldTexts] = []

    def counted(self) -> dict[str, int]:
        """How often each type, or each plain label, occurs."""
        found = self.entities if self.has_spans else self.labels
        return {name: found[name] for name in label_order(found)}

    @property
    def documents(self) -> int:
        """How many documents the files mark; 0 if they mark none."""
        return len(self.groups) if self.marked else 0

    @property
    def has_spans(self) -> bool:
        return self.scheme != "plain"

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": "tag",
            "unit": "sentence",
            "units": self.units,
            "used": self.used,
            "dropped": dict(self.dropped),
            "refused": self.refused,
            "scheme": self.scheme,
            "documents": self.documents,
            "words": self.words,
            "longest_sentence": self.longest,
            "labels": {name: self.labels[name] for name in label_order(self.labels)},
            "entities": {name: self.entities[name] for name in label_order(self.entities)},
            "held": [part.to_dict() for part in self.held],
            "findings": [finding_dict(finding) for finding in self.ordered()],
        }
