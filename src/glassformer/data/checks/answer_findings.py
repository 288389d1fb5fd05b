"""What was found in questions and answers: the counts of `Tally`, articles, passages, and questions without answer."""

from __future__ import annotations

from typing import Any

from glassformer.data.checks.held_texts import HeldTexts, overlap_helps
from glassformer.data.checks.tally import IN_TEST, Example, Finding, Tally, place_dict

ANSWER_PROBLEMS = {
    "encoding": "not UTF-8",
    "nul": "a NUL character",
    "too big": "far too long for one row",
    "blank": "no question, or no passage",
    "columns": "a row with a different number of columns from the others",
    "json": "an entry with the wrong shape",
    "header": "the header of a table",
    "syntax": "a row that is not CSV",
    "answer": "none of its answers is in the passage",
    "overlap": overlap_helps("passage")[0],
}
ANSWER_NOTES = {
    "bom": "a byte order mark, dropped",
    "separator": "a character inside a text that other programs take for the end of a line; kept",
    "offset": "the text at the answer's offset is another one; the nearest place of the answer is used",
    "no answer": "one of several answers is not in the passage; it is not used",
    "ambiguous": "an answer without an offset that is several times in the passage; the first place is used",
    "unmarked": "no answers, but not marked as is_impossible; taken as a question without an answer",
    "duplicate": "the same question on the same passage was seen before",
    "conflict": "the same question on the same passage was seen before with another answer",
    "inside a token": "an answer that begins or ends inside a token, so it can never be predicted exactly",
    IN_TEST: overlap_helps("passage")[1],
}


class AnswerFindings(Tally):
    """Filled while questions are read. A unit is a question, or a row."""

    def __init__(self) -> None:
        super().__init__(ANSWER_PROBLEMS, ANSWER_NOTES)
        self.titles: set[str] = set()
        self.passages = 0  # different ones
        self.impossible = 0  # questions that their passage does not answer
        self.characters = 0  # of the different passages
        self.words = 0  # of the questions
        self.longest = 0  # characters of the longest passage
        self.held: list[HeldTexts] = []

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": "answer",
            "unit": "question",
            "units": self.units,
            "used": self.used,
            "dropped": dict(self.dropped),
            "refused": self.refused,
            "articles": len(self.titles),
            "passages": self.passages,
            "impossible": self.impossible,
            "characters": self.characters,
            "words": self.words,
            "longest_passage": self.longest,
            "held": [part.to_dict() for part in self.held],
            "findings": [_finding_dict(finding) for finding in self.ordered()],
        }


def _finding_dict(finding: Finding) -> dict[str, Any]:
    examples = [_example_dict(one) for one in finding.examples]
    return {**vars(finding), "examples": examples}


def _example_dict(one: Example) -> dict[str, Any]:
    id = getattr(one.problem.place, "id", "")
    return {**place_dict(one.problem), **({"id": id} if id else {}), "texts": list(one.texts)}
