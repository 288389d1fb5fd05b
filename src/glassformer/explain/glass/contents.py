"""The contents of a page: the header, and the chunks that it refers to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.explain.glass.chunks import Chunks
from glassformer.explain.glass.proof import proof_of, rounded
from glassformer.explain.glass.tiers import KINDS, Plan, Stored
from glassformer.explain.glass.trace import Arrays, ReadBy, Subject, Watched
from glassformer.explain.ops import OPS, ops_to_dict
from glassformer.printable import counted, embedded

FORMAT = 1
NAMED = 3  # steps that are named in a note


@dataclass(frozen=True)
class Contents:
    """What a page is made of."""

    header: Mapping[str, Any]
    chunks: tuple[str, ...]

    @property
    def size(self) -> int:
        """In bytes, without the parts that all pages share."""
        return len(embedded(self.header).encode()) + sum(map(len, self.chunks))


def contents_of(subject: Subject, traces: Sequence[Watched], plan: Plan, *, notes: Sequence[str] = ()) -> Contents:
    """Writes what the plan says; `notes` are more lines about what is missing or inexact."""
    chunks, kind = Chunks(), KINDS[plan.precision]
    weights = {name: chunks.add(subject.weights[name], kind).to_dict() for name in plan.weights}
    header = {
        "format": FORMAT,
        "title": subject.title,
        "kind": subject.kind,
        "tier": plan.tier,
        "precision": plan.precision,
        "settings": dict(subject.settings),
        "program": subject.program.to_dict(),
        "ops": {name: op for name, op in ops_to_dict().items() if name in {one.op for one in subject.program.steps}},
        "weights": weights,
        "task": dict(subject.task),
        "tokenizers": {name: tokenizer_of(part, chunks) for name, part in subject.tokenizers.items()},
        "decoding": None if subject.decoding is None else dict(subject.decoding),
        "traces": [record_of(*each, subject, chunks) for each in zip(traces, plan.values, strict=True)],
        "left_out": [*left_out(subject, traces, plan), *notes],
        "provenance": dict(subject.provenance),
    }
    return Contents({name: one for name, one in header.items() if one is not None}, tuple(chunks.packed()))


def tokenizer_of(part: ReadBy, chunks: Chunks) -> dict[str, Any]:
    shown = json.dumps(part.shown, ensure_ascii=True, separators=(",", ":"))
    return {"file": chunks.add_text(part.file).to_dict(), "shown": chunks.add_text(shown).to_dict(), **part.to_dict()}


def record_of(one: Watched, stored: Stored, subject: Subject, chunks: Chunks) -> dict[str, Any]:
    found = one.trace.to_dict(subject.program)
    values = from_rounded(one, stored, subject) if "f16" in stored.kinds.values() else one.values
    found["values"] = {name: chunks.add(values[name], kind).to_dict() for name, kind in stored.kinds.items()}
    found["rounding"] = rounded(one.error)
    found["proof"] = {
        name: proof_of(name, value, samples=stored.kinds.get(name) != "f32") for name, value in values.items()
    }
    for name, what in subject.program.sequences.items():
        if what == "image":
            found["image"] = chunks.add(one.trace.inputs[name]).to_dict()
    return found


def from_rounded(one: Watched, stored: Stored, subject: Subject) -> Arrays:
    """The values if those that are stored with 16 bits are what the steps after them compute with, as in the page."""
    values: dict[str, Any] = dict(one.trace.inputs)
    for step in subject.program.steps:
        given = (*(values[name] for name in step.inputs), *(subject.weights[name] for name in step.weights))
        kind = stored.kinds.get(step.name)
        value = one.values[step.name] if kind else OPS[step.op].function(*given, **step.settings)
        values[step.name] = value.astype(np.float16).astype(np.float64) if kind == "f16" else value.astype(np.float64)
    return {step.name: values[step.name] for step in subject.program.steps}


def left_out(subject: Subject, traces: Sequence[Watched], plan: Plan) -> Iterator[str]:
    """In words: what a larger page would have."""
    lacking = [name for name in subject.program.weights() if name not in plan.weights]
    if lacking:
        numbers = sum(subject.weights[name].size for name in lacking)
        yield f"{counted(len(lacking), 'weight')} with {numbers:,} numbers: what needs them is recorded, not computed"
    for one, stored in zip(traces, plan.values, strict=True):
        if stored.left_out:
            first = ", ".join(stored.left_out[:NAMED])
            more = f" and {len(stored.left_out) - NAMED:,} more" if len(stored.left_out) > NAMED else ""
            yield f"values of {counted(len(stored.left_out), 'step')} for {one.trace.text!r}: {first}{more}"
        if "f16" in stored.kinds.values():
            yield f"the recorded values for {one.trace.text!r} are rounded to 16 bits"
        if plan.tier == "live" and not stored.kinds:
            yield f"the recorded values for {one.trace.text!r}: samples of every step are there, to compare with"
