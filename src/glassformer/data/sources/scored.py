"""Examples with a number each: one or two texts and a score per row, such as how similar two sentences are.

The files are those of labelled examples; the last column holds a number instead of a label.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from glassformer import limits
from glassformer.data.checks.held_texts import HeldTexts
from glassformer.data.checks.label_findings import ScoreFindings
from glassformer.data.readers.fields import Fields
from glassformer.data.readers.inputs import fingerprint
from glassformer.data.readers.naming import refuse_repeated
from glassformer.data.readers.records import Problem
from glassformer.data.selection import HELD, LEFT_OUT, NO_NUMBER, TRAIN, HoldOut, divided, picked
from glassformer.data.settings import LabelledDataSettings
from glassformer.data.sources.examples import (
    FILES,
    Examples,
    Listener,
    decision_digest,
    refuse_changed,
    refuse_unreadable,
    stamps,
    texts_digest,
)
from glassformer.data.sources.labelled import SEPARATOR, LabelledSource, Progress, labelled_source, screened
from glassformer.errors import DataError
from glassformer.printable import counted, printable, shortened


class Scored(NamedTuple):
    """One or two texts and their score."""

    texts: tuple[str, ...]
    score: float


def scored_source(names: Sequence[str], columns: tuple[str, ...] | None) -> LabelledSource:
    source = labelled_source(names, columns, scored=True)
    if source.labels is not None:
        raise DataError("One text file per class has no numbers. Give .tsv, .csv or .jsonl files with a score column.")
    return source


def read_scored_examples(data: LabelledDataSettings, *, seed: int, listener: Listener) -> Examples[Scored]:
    """The training and validation examples."""
    source = scored_source(data.files, data.columns)
    seen = stamps(source.paths)
    held = read_held_scored(data.valid_files, source.columns, listener, beside=source.paths)
    hold_out = None if held is not None else HoldOut(seed=seed, share=data.valid_share)
    findings, used, numbers, scores = ScoreFindings(), array("B"), array("I"), array("d")
    parts_held = [] if held is None else [held_texts("valid", held)]
    for row in screened(numeric(source.rows(progress=listener.on_count)), findings, parts_held):
        ok = row.problem is None
        used.append(TRAIN if ok else LEFT_OUT)
        joined = SEPARATOR.join(row.texts[:-1])
        numbers.append(hold_out.number(joined) if ok and hold_out is not None else NO_NUMBER)
        scores.append(float(row.texts[-1]) if ok else 0.0)
    refuse_unusable(findings, source)
    parts = divided(used, numbers, hold_out)
    learnt = np.frombuffer(scores)[parts == TRAIN]
    refuse_constant(learnt, source)
    valid = held if held is not None else [example_of(row) for row in picked(source.rows(), parts, HELD)]
    report(findings, listener, first=example_of(next(picked(source.rows(), parts, TRAIN))))
    listener.on_stage(f"{counted(len(learnt), 'training example')}, {counted(len(valid), 'validation example')}")
    files = fingerprint(source.inputs)
    marks = {
        "train": decision_digest(files, source.columns, "scores", parts=parts.tobytes()),
        "valid": texts_digest((*texts, repr(score)) for texts, score in valid),
        FILES: files,
    }
    refuse_changed(source.paths, seen)

    def train() -> Iterator[Scored]:
        yield from map(example_of, picked(source.rows(), parts, TRAIN))
        refuse_changed(source.paths, seen)

    facts: dict[str, Any] = {"findings": findings, "columns": source.columns}
    facts |= {"centre": float(learnt.mean()), "spread": float(learnt.std())}
    return Examples(train, len(learnt), valid, marks, facts)


def numeric(rows: Iterator[Fields]) -> Iterator[Fields]:
    """The rows; one whose last field is not a number has a problem."""
    for row in rows:
        if row.problem is None and row.texts[-1].strip() and number_in(row.texts[-1]) is None:
            what = shortened(printable(row.texts[-1].strip()), width=30)
            row.problem = Problem("score", f"not a number: {what!r}", row.place)
        yield row


def number_in(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) < limits.RATIO else None


def example_of(row: Fields) -> Scored:
    return Scored(tuple([text.strip() for text in row.texts[:-1]]), float(row.texts[-1]))


def held_texts(name: str, examples: Sequence[Scored]) -> HeldTexts:
    return HeldTexts(name, (SEPARATOR.join(example.texts) for example in examples))


def read_held_scored(
    names: Sequence[str], columns: tuple[str, ...] | None, listener: Listener, *, beside: Sequence[Path] = ()
) -> list[Scored] | None:
    """The examples of validation or test files; None without files."""
    if not names:
        return None
    source, findings = scored_source(names, columns), ScoreFindings()
    refuse_repeated([*beside, *source.paths])
    held = [example_of(row) for row in screened(numeric(source.rows()), findings) if row.problem is None]
    refuse_unusable(findings, source)
    if findings.lost:
        listener.on_stage(f"Held-out examples: {findings.left_out()}")
    return held


def refuse_unusable(findings: ScoreFindings, source: LabelledSource) -> None:
    refuse_unreadable(findings, unit="rows")
    if not findings.used:
        raise DataError(f"{source.names}: no usable examples: {findings.left_out()}.")


def refuse_constant(scores: np.ndarray, source: LabelledSource) -> None:
    """Raises an error if there is nothing to learn: too few examples, or only one number."""
    if len(scores) < 2 or float(scores.std()) == 0.0:
        got = "no training example" if not len(scores) else f"{counted(len(scores), 'training example')}, all with"
        value = f" the score {scores[0]:g}" if len(scores) else ""
        raise DataError(
            f"{source.names}: {got}{value}. Learning a score needs examples with different "
            "scores: give more of them, or choose another column with --columns."
        )


def report(findings: ScoreFindings, listener: Listener, *, first: Scored) -> None:
    least, mean, largest = findings.range()
    listener.on_stage(
        f"{counted(findings.used, 'example')} with scores from {least:g} to {largest:g}, on average {mean:.3g}"
    )
    if findings.lost:
        listener.on_stage(f"Rows: {findings.left_out()}")
    shown = " | ".join(shortened(printable(text), width=60) for text in first.texts)
    listener.on_stage(f"The first example: {shown} → {first.score:g}")


def examine_scored(
    files: Sequence[str],
    *,
    columns: tuple[str, ...] | None = None,
    held: Mapping[str, Sequence[str]] = MappingProxyType({}),
    listener: Listener,
) -> ScoreFindings:
    """Everything that one pass can find. `held`: the files of held-out parts, by name. Nothing is written."""
    source, parts = scored_source(files, columns), []
    for name, names in held.items():
        if (read := read_held_scored(names, source.columns, listener, beside=source.paths)) is not None:
            parts.append(held_texts(name, read))
    findings = ScoreFindings()
    progress: Progress = listener.on_count
    for _ in screened(numeric(source.rows(progress=progress)), findings, parts):
        pass
    try:
        refuse_unusable(findings, source)
        if len(findings.labels) < 2:
            raise DataError(f"All {findings.used:,} usable examples have the same score. Choose another column.")
    except DataError as error:
        findings.refuse(error)
    return findings
