"""What a page holds: the subject (one model and how it is used) and traces (what happened to one text or image in it).

Arrays have no batch axis. Sequences have the names that the program gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.explain.explanation import Prediction, Tokens
from glassformer.explain.program import Program

Array = NDArray[Any]
Arrays = Mapping[str, Array]

NO_WORD = -1  # of a piece that belongs to no word of the text


@dataclass(frozen=True)
class ReadBy:
    """How texts become the ids of one sequence."""

    file: str  # tokenizer.json, in which text is only text
    shown: tuple[str, ...]  # each piece as a reader sees it
    before: tuple[int, ...] = ()  # ids around those of the text
    after: tuple[int, ...] = ()
    probes: tuple[tuple[str, tuple[int, ...]], ...] = ()  # texts and their ids, to compare with
    silent: tuple[int, ...] = ()  # ids that are left out of a text
    why: str = ""  # why a page cannot do it; empty: it can
    details: Mapping[str, Any] = field(default_factory=dict)  # stripped, longest, mask, reversed

    def to_dict(self) -> dict[str, Any]:
        """Everything except the two long texts, which are kept in chunks."""
        return {
            "before": list(self.before),
            "after": list(self.after),
            "probes": [[text, list(ids)] for text, ids in self.probes],
            "silent": list(self.silent),
            "typed": not self.why,
            **({"why": self.why} if self.why else {}),
            **self.details,
        }


@dataclass(frozen=True)
class Subject:
    """A model, and everything needed to use it."""

    title: str
    kind: str
    settings: Mapping[str, Any]
    program: Program
    weights: Arrays  # float32, by their names in the state dict
    task: Mapping[str, Any]  # verb, head, classes
    tokenizers: Mapping[str, ReadBy]  # by sequence
    decoding: Mapping[str, Any] | None  # None: the model does not write
    provenance: Mapping[str, str]


@dataclass(frozen=True)
class Side:
    """How the tokens of one sequence look to a reader."""

    pieces: tuple[str, ...]
    words: tuple[int, ...]  # the number of the word of each piece, or NO_WORD
    spans: tuple[tuple[int, int], ...] = ()  # of each piece in the text, in UTF-16 units; (-1, -1): none


@dataclass(frozen=True)
class Trace:
    """What happened to one input."""

    text: str
    answer: str
    inputs: Arrays  # what the program reads: ids, or an image
    sides: Mapping[str, Side]
    values: Arrays  # at every tap, float32
    written: Tokens | None = None
    predictions: Sequence[Prediction] = ()
    score: float | None = None
    merges: Mapping[str, Any] = field(default_factory=dict)  # by sequence: how each word became its pieces
    search: Mapping[str, Any] | None = None

    def to_dict(self, program: Program) -> dict[str, Any]:
        """Everything except the arrays."""
        found: dict[str, Any] = {
            "text": self.text,
            "answer": self.answer,
            "ids": {name: self.inputs[name].tolist() for name, what in program.sequences.items() if what != "image"},
            "pieces": {name: list(side.pieces) for name, side in self.sides.items()},
            "words": {name: list(side.words) for name, side in self.sides.items()},
            "spans": {name: [list(one) for one in side.spans] for name, side in self.sides.items() if side.spans},
            "predictions": [one.to_dict() for one in self.predictions],
        }
        if self.written is not None:
            found["written"] = {"ids": list(self.written.ids), "pieces": list(self.written.pieces)}
        optional = {"score": self.score, "merges": self.merges or None, "search": self.search}
        return found | {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class Watched:
    """A trace with the value of every step: the model's own at the taps, the program's in float64 elsewhere."""

    trace: Trace
    values: Arrays
    worst: str  # the tap at which model and program differ most
    error: float  # by how much, relative to the largest magnitude of the value

    @classmethod
    def of(cls, trace: Trace, subject: Subject) -> Watched:
        computed = subject.program.run(trace.inputs, subject.weights)
        errors = {name: relative_error(value, computed[name]) for name, value in trace.values.items()}
        worst = max(errors, key=lambda name: errors[name])
        return cls(trace, computed | dict(trace.values), worst, errors[worst])


def relative_error(value: Array, expected: Array) -> float:
    """inf where shapes, or the places of values that are not finite, differ."""
    if value.shape != expected.shape:
        return float("inf")
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(value)):
        return float("inf")
    largest = np.abs(expected[finite]).max(initial=0.0)
    difference = np.abs(value[finite].astype(np.float64) - expected[finite]).max(initial=0.0)
    return float(difference / (largest or 1.0))
