"""Inputs with the texts to write for them, of one task or of several.

Files are read once to check and split them, and again as a stream whenever they are needed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from glassformer.data.checks.held_texts import HeldTexts
from glassformer.data.checks.seen import SeenHashes, hashes_of
from glassformer.data.checks.written_findings import WrittenFindings
from glassformer.data.readers.fields import Fields
from glassformer.data.readers.inputs import fingerprint
from glassformer.data.readers.naming import TEXT, refuse_repeated
from glassformer.data.readers.records import Problem
from glassformer.data.readers.source_target import read_source_target
from glassformer.data.selection import HELD, LEFT_OUT, NO_NUMBER, TRAIN, HoldOut, Parts, divided, picked
from glassformer.data.settings import SHARE
from glassformer.data.sources.examples import (
    FILES,
    Examples,
    Listener,
    changed_since,
    decision_digest,
    meter,
    refuse_changed,
    refuse_unreadable,
    stamps,
    texts_digest,
)
from glassformer.data.sources.files import Source, table_files
from glassformer.data.written_settings import Group, WrittenDataSettings, split_prefix
from glassformer.errors import DataError
from glassformer.printable import counted, printable, shortened

ROWS = 2048  # compared together
Progress = Callable[[int, int], None]


class Written(NamedTuple):
    """An input and its references. The task is what its prompt begins with; "" for none."""

    task: str
    source: str
    references: tuple[str, ...]


@dataclass(frozen=True)
class WrittenSource(Source):
    """The files of one task. If `name` is None, the rows name their task."""

    name: str | None

    def rows(self, *, on_read: Callable[[int], None] | None = None) -> Iterator[Fields]:
        """One record for each row: its texts are the task, the input and the outputs."""
        for one in self.inputs:
            for row in read_source_target(one.paths[0], one.kind, self.columns, on_read=on_read):
                if row.problem is None and self.name is not None:
                    row.texts = (self.name, *row.texts)
                yield row


def written_source(name: str | None, names: Sequence[str], columns: tuple[str, ...] | None) -> WrittenSource:
    inputs = table_files(names)
    if plain := [one for one in inputs if one.kind == TEXT]:
        raise DataError(
            f"{plain[0]}: a text file without tabs, so it has no outputs. Give .tsv, .csv or .jsonl files with an "
            "input and an output per row."
        )
    return WrittenSource(tuple(inputs), columns, name)


def sources_of(groups: Sequence[Group]) -> list[WrittenSource]:
    return [written_source(one.name, one.files, one.columns) for one in groups]


def fingerprint_of(sources: Sequence[WrittenSource]) -> str:
    return fingerprint([one for source in sources for one in source.inputs])


def groups_of(data: WrittenDataSettings) -> list[Group]:
    try:
        found = data.groups()
    except ValueError as error:
        raise DataError(f"data: {error}.") from None
    if not any(group.files for group in found):
        raise DataError("No file was given. Give files with an input and an output per row: --data FILE.")
    return found


def files_changed(data: WrittenDataSettings, begun: Mapping[str, str]) -> bool:
    """Whether the files to learn from are other ones than those with these fingerprints; False if they are gone."""
    return changed_since(begun, lambda: fingerprint_of(sources_of(groups_of(data))))


# Reading and splitting


def read_written_examples(data: WrittenDataSettings, *, seed: int, listener: Listener) -> Examples[Written]:
    """The training and validation examples of all tasks. Validation examples of the tasks take turns."""
    groups = groups_of(data)
    sources = sources_of(groups)
    paths = [path for source in sources for path in source.paths]
    seen, on_read = stamps(paths), meter(paths, listener.on_count)
    findings, count = WrittenFindings(), 0
    all_parts: list[Parts] = []
    valid: list[list[Written]] = []
    for group, source in zip(groups, sources, strict=True):
        given, hold_out = held_of(group, seed, listener, beside=paths)
        held = [held_inputs("valid", given)] if given else []
        parts, used = split_rows(screened(source.rows(on_read=on_read), findings, held), hold_out)
        all_parts.append(parts)
        count += used
        valid.append(given or [example(row) for row in picked(source.rows(), parts, HELD)])
    refuse_unusable(findings, sources, count)
    report(findings, sources, listener)
    turns = [one for turn in zip_longest(*by_task(chain(*valid))) for one in turn if one is not None]
    listener.on_stage(f"{counted(count, 'training example')}, {counted(len(turns), 'validation example')}")
    files = fingerprint_of(sources)
    marks = {
        "train": decision_digest(
            files, [(one.name, one.columns) for one in sources], parts=b"".join(parts.tobytes() for parts in all_parts)
        ),
        "valid": texts_digest((one.task, one.source, *one.references) for one in turns),
        FILES: files,
    }
    refuse_changed(paths, seen)

    def train() -> Iterator[Written]:
        for source, parts in zip(sources, all_parts, strict=True):
            for row in picked(source.rows(), parts, TRAIN):
                one = example(row)
                yield from (Written(one.task, one.source, (reference,)) for reference in one.references)
        refuse_changed(paths, seen)

    return Examples(train, count, turns, marks, {"findings": findings, "tasks": findings.tasks})


def by_task(examples: Iterator[Written]) -> list[list[Written]]:
    found: dict[str, list[Written]] = {}
    for one in examples:
        found.setdefault(one.task, []).append(one)
    return list(found.values())


def held_of(
    group: Group, seed: int, listener: Listener, *, beside: Sequence[Path]
) -> tuple[list[Written] | None, HoldOut | None]:
    """The examples of validation files, or how much to hold out."""
    matched = SHARE.fullmatch(group.valid[0]) if len(group.valid) == 1 else None
    if group.valid and not matched:
        return read_held(group.name, group.valid, group.columns, listener, beside=beside), None
    return None, HoldOut(seed=seed, share=float(matched[1]) / 100 if matched else None)


def read_held(
    name: str | None,
    files: Sequence[str],
    columns: tuple[str, ...] | None,
    listener: Listener,
    *,
    beside: Sequence[Path] = (),
) -> list[Written]:
    """All usable examples of validation or test files."""
    source = written_source(name, files, columns)
    refuse_repeated([*beside, *source.paths])
    findings = WrittenFindings()
    held = [example(row) for row in screened(source.rows(), findings) if row.problem is None]
    refuse_unreadable(findings, unit="held-out rows")
    if not held:
        raise DataError(f"{source.names}: no usable examples: {findings.left_out()}.")
    if findings.lost:
        listener.on_stage(f"Held-out examples: {findings.left_out()}")
    return held


def read_held_files(names: Sequence[str], data: WrittenDataSettings, listener: Listener) -> list[Written]:
    """Examples of files to evaluate on, FILE or TASK=FILE; a model of one task needs no task."""
    found: list[list[Written]] = []
    in_rows = data.columns is not None and len(data.columns) == 3
    columns = {name: one.columns or data.columns for name, one in data.tasks.items()}
    for prefix, name in map(split_prefix, names):
        task = prefix or (data.names[0] if len(data.names) == 1 else "")
        if not in_rows and task not in data.names:
            known = ", ".join(map(repr, data.names))
            raise DataError(f"{name}: not clear which task it is for. Write TASK={name}; this model has {known}.")
        found.append(read_held(None if in_rows else task, [name], columns.get(task, data.columns), listener))
    if not found:
        raise DataError("Got no file; give files with an input and an output per row, such as test.jsonl.")
    return [one for part in found for one in part]


def split_rows(rows: Iterator[Fields], hold_out: HoldOut | None) -> tuple[Parts, int]:
    """The part of every row, and the number of training examples: one for each output."""
    used, numbers, outputs = array("B"), array("I"), array("H")
    for row in rows:
        ok = row.problem is None
        used.append(TRAIN if ok else LEFT_OUT)
        numbers.append(hold_out.number(row.texts[1]) if ok and hold_out is not None else NO_NUMBER)
        outputs.append(min(len(row.texts) - 2, 65535) if ok else 0)
    parts = divided(used, numbers, hold_out)
    return parts, int(np.frombuffer(outputs, dtype=np.uint16)[parts == TRAIN].sum()) if len(parts) else 0


def screened(rows: Iterator[Fields], findings: WrittenFindings, held: Sequence[HeldTexts] = ()) -> Iterator[Fields]:
    """Each row with a problem if it cannot be used. Counts all rows."""
    inputs_seen, rows_seen = SeenHashes(), SeenHashes()
    while block := list(islice(rows, ROWS)):
        usable = [row for row in map(checked, block) if row.problem is None]
        again = inputs_seen.add(hashes_of(row.texts[1] for row in usable))
        same = rows_seen.add(hashes_of("\0".join(row.texts) for row in usable))
        for at in np.flatnonzero(again).tolist():
            kind = "duplicate" if same[at] else "another output"
            usable[at].notes += (Problem(kind, "seen before", usable[at].place),)
        for part in held:
            part.mark(usable, [row.texts[1] for row in usable])
        for row in block:
            findings.count(row, row.problem.kind if row.problem else None)
            if row.problem is None:
                findings.size_of(row.texts[0]).add(row.texts[1], row.texts[2:])
            yield row


def checked(row: Fields) -> Fields:
    if row.problem is not None:
        return row
    _, source, *targets = row.texts
    targets = [text for text in targets if text]
    row.texts = (*row.texts[:2], *targets)
    if not source or not targets:
        which = "the input is blank" if not source else "the output is blank"
        row.problem = Problem("blank", which, row.place)
        return row
    plain = source.replace("\n", " ")
    if targets[0] == plain:
        row.notes += (Problem("copy", "the output is the same as the input", row.place),)
    elif len(targets[0]) > len(plain):
        row.notes += (Problem("longer", "the output is longer than the input", row.place),)
    return row


def held_inputs(name: str, examples: Sequence[Written]) -> HeldTexts:
    return HeldTexts(name, (one.source for one in examples), unit="input", units="inputs")


def example(row: Fields) -> Written:
    checked(row)
    return Written(row.texts[0], row.texts[1], tuple(row.texts[2:]))


# Errors and messages


def refuse_unusable(findings: WrittenFindings, sources: Sequence[WrittenSource], count: int) -> None:
    refuse_unreadable(findings, unit="rows")
    names = ", ".join(str(one) for source in sources for one in source.inputs[:2])
    if not findings.used:
        raise DataError(f"{names}: no usable examples: {findings.left_out()}.")
    if not count:
        raise DataError(f"{names}: nothing is left to train on: all of it would be held out. Give --valid FILE.")


def report(findings: WrittenFindings, sources: Sequence[WrittenSource], listener: Listener) -> None:
    for name, one in findings.tasks.items():
        called = f"{name!r}: " if name else ""
        listener.on_stage(
            f"{called}{counted(one.examples, 'example')}, inputs of {one.mean_input:.0f} words, outputs of "
            f"{one.mean_output:.0f} (mean)"
        )
    if findings.lost:
        listener.on_stage(f"Rows: {findings.left_out()}")
    if found := [one for one in findings.ordered() if one is findings.notes.get(one.kind) and one.kind != "longer"]:
        listener.on_stage("Used, but check: " + ", ".join(f"{one.count:,} {one.kind}" for one in found))
    first = example(next(row for row in sources[0].rows() if row.problem is None))
    shown = (shortened(printable(text.replace("\n", " ")), width=60) for text in (first.source, first.references[0]))
    listener.on_stage(f"The first example: {' → '.join(shown)}")


def examine_written(
    files: Sequence[str],
    *,
    columns: tuple[str, ...] | None = None,
    held: Mapping[str, Sequence[str]] = MappingProxyType({}),
    listener: Listener,
) -> WrittenFindings:
    """Everything that one pass can find. `held`: the files of held-out parts, by name. Nothing is written."""
    groups = groups_of(WrittenDataSettings(files=tuple(files), columns=columns))
    sources = sources_of(groups)
    on_read = meter([path for source in sources for path in source.paths], listener.on_count)
    parts = []
    for part, names in held.items():
        own = [one for prefix, name in map(split_prefix, names) for one in read_held(prefix, [name], columns, listener)]
        parts += [held_inputs(part, own)] if own else []
    findings = WrittenFindings()
    findings.held = parts
    for source in sources:
        for _ in screened(source.rows(on_read=on_read), findings, parts):
            pass
    try:
        refuse_unusable(findings, sources, findings.used)
    except DataError as error:
        findings.refuse(error)
    return findings
