"""Labelled examples for classifiers: one or two texts and a label per row, or one text file per class.

Files are read once to check and split them, and again as a stream whenever they are needed.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from glassformer.data.checks.held_texts import HeldTexts
from glassformer.data.checks.label_findings import MOST_LABELS, LabelFindings, label_order, note_missing
from glassformer.data.checks.seen import SeenHashes, hashes_of
from glassformer.data.readers.fields import Fields, first_rows, read_fields
from glassformer.data.readers.inputs import fingerprint
from glassformer.data.readers.naming import TEXT, refuse_repeated
from glassformer.data.readers.records import Problem
from glassformer.data.readers.roles import UNDECIDED, Roles, usual_columns
from glassformer.data.selection import HELD, LEFT_OUT, NO_NUMBER, TRAIN, HoldOut, Parts, divided_by_class, picked
from glassformer.data.settings import LabelledDataSettings
from glassformer.data.sources.class_files import class_labels, read_class_file
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
from glassformer.data.sources.files import Source, have_columns, table_files
from glassformer.data.sources.label_reports import report, report_first, shown_label
from glassformer.errors import DataError
from glassformer.printable import counted

FEW_ROWS = 10  # with fewer rows, nothing can be said about a column
ROWS = 2048  # compared together
SEPARATOR = "\0"  # between the texts of an example when they are compared

Progress = Callable[[int, int], None]


class Labelled(NamedTuple):
    """One or two texts and their label."""

    texts: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class LabelledSource(Source):
    """Files of labelled examples: tables and JSON lines, or one text file per class."""

    labels: tuple[str, ...] | None  # of the files, if each contains one class

    def rows(self, *, progress: Progress | None = None) -> Iterator[Fields]:
        """One record for each row, with its unchanged texts and label."""
        on_read = meter(self.paths, progress)
        for at, one in enumerate(self.inputs):
            if self.labels is not None:
                yield from read_class_file(one.paths[0], self.labels[at], on_read=on_read)
            else:
                rows = read_fields(one.paths[0], one.kind, Roles(self.columns, has_label=True), on_read=on_read)
                yield from map(_agreed, rows) if (self.columns or ("",))[-1] == "gold_label" else rows


def _agreed(row: Fields) -> Fields:
    """A row of MNLI or SNLI; without a label if the annotators did not agree."""
    if row.problem is None and row.texts[-1].strip() == UNDECIDED:
        row.problem = Problem("label", "no label: the annotators did not agree (-)", row.place)
    return row


def labelled_source(names: Sequence[str], columns: tuple[str, ...] | None, *, scored: bool = False) -> LabelledSource:
    """The files with these names and patterns. A text file with tabs is a TSV; without tabs, it is one class.

    Without `columns`, a table of pairs with usual names is recognised. `scored`: the last column is a number.
    """
    inputs = table_files(names)
    plain = [one for one in inputs if one.kind == TEXT]
    if not plain:
        found = columns or usual_columns(first_rows(inputs[0].paths[0], inputs[0].kind), scored=scored)
        return LabelledSource(tuple(inputs), found, None)
    if len(plain) < len(inputs) or len(plain) == 1 or columns is not None:
        raise DataError(
            f"{plain[0]}: a text file without tabs, so it has no label column. Give .tsv, .csv or .jsonl files, or one "
            "text file per class (pos.txt neg.txt) without --columns."
        )
    return LabelledSource(tuple(inputs), None, tuple(class_labels([one.paths[0] for one in inputs])))


def files_changed(data: LabelledDataSettings, begun: Mapping[str, str]) -> bool:
    """Whether the files to learn from are other ones than those with these fingerprints; False if they are gone."""
    return changed_since(begun, lambda: fingerprint(labelled_source(data.files, data.columns).inputs))


def read_labelled_examples(data: LabelledDataSettings, *, seed: int, listener: Listener) -> Examples[Labelled]:
    """The training and validation examples."""
    source = labelled_source(data.files, data.columns)
    seen = stamps(source.paths)
    given = read_held_labelled(data.valid_files, source.columns, listener, beside=source.paths)
    valid, valid_findings = given or (None, None)
    hold_out = None if valid is not None else HoldOut(seed=seed, share=data.valid_share)
    findings = LabelFindings()
    rows = screened(source.rows(progress=listener.on_count), findings, [held_texts("valid", valid)] if valid else [])
    parts, counts, _ = _divided(rows, hold_out, refuse=lambda: _refuse_unusable(findings, source))
    refuse_too_few(findings, source, counts)
    if valid is None:
        valid = [_example(row) for row in picked(source.rows(), parts, HELD)]
    valid = without_new_labels(valid, counts, valid_findings or findings, listener)
    held = Counter(label for _, label in valid)
    note_missing(findings.missing, "valid", counts, held)
    report(findings, listener)
    first = _example(next(picked(source.rows(), parts, TRAIN)))
    report_first(first.texts, first.label, findings, listener, table=source.labels is None)
    count = sum(counts.values())
    listener.on_stage(f"{counted(count, 'training example')}, {counted(len(valid), 'validation example')}")
    files = fingerprint(source.inputs)
    marks = {
        "train": decision_digest(files, source.columns, source.labels, parts=parts.tobytes()),
        "valid": texts_digest((*texts, label) for texts, label in valid),
        FILES: files,
    }
    refuse_changed(source.paths, seen)

    def train() -> Iterator[Labelled]:
        yield from map(_example, picked(source.rows(), parts, TRAIN))
        refuse_changed(source.paths, seen)

    facts = {
        "columns": source.columns,
        "findings": findings,
        "valid_findings": valid_findings,
        "labels": tuple(counts),
        "label_counts": counts,
        "valid_label_counts": {label: held[label] for label in counts},
    }
    return Examples(train, count, valid, marks, facts)


def _divided(
    rows: Iterator[Fields], hold_out: HoldOut | None, *, refuse: Callable[[], None]
) -> tuple[Parts, dict[str, int], dict[str, int]]:
    """The part of every row, and the number of training and of held-out examples of each label, in their order."""
    used, numbers, classes = array("B"), array("I"), array("H")
    index: dict[str, int] = {}
    for row in rows:
        ok = row.problem is None
        used.append(TRAIN if ok else LEFT_OUT)
        numbers.append(hold_out.number(_joined(row.texts[:-1])) if ok and hold_out is not None else NO_NUMBER)
        classes.append(index.setdefault(row.texts[-1], len(index)) if ok else 0)
    refuse()
    parts = divided_by_class(used, numbers, classes, hold_out)
    kinds, order = np.frombuffer(classes, dtype=np.uint16), label_order(index)
    learnt, held = (np.bincount(kinds[parts == part], minlength=len(index)).tolist() for part in (TRAIN, HELD))
    return parts, {label: learnt[index[label]] for label in order}, {label: held[index[label]] for label in order}


def read_held_labelled(
    names: Sequence[str], columns: tuple[str, ...] | None, listener: Listener, *, beside: Sequence[Path] = ()
) -> tuple[list[Labelled], LabelFindings] | None:
    """The examples of validation or test files, and the findings; None without files.

    `columns` are those of the training data; files without columns, one per class, have none.
    """
    if not names:
        return None
    source = labelled_source(names, columns if have_columns(names) else None)
    refuse_repeated([*beside, *source.paths])
    findings = LabelFindings()
    held = [_example(row) for row in screened(source.rows(), findings) if row.problem is None]
    refuse_unreadable(findings, unit="held-out rows")
    if not held:
        raise DataError(f"{source.names}: no usable examples: {findings.left_out()}.")
    if findings.lost:
        listener.on_stage(f"Held-out examples: {findings.left_out()}")
    return held, findings


def screened(rows: Iterator[Fields], findings: LabelFindings, held: Sequence[HeldTexts] = ()) -> Iterator[Fields]:
    """Each row with its fields stripped, and with a problem if it cannot be used. Counts all rows."""
    findings.held = list(held)
    texts_seen, examples_seen = SeenHashes(), SeenHashes()
    while block := list(islice(rows, ROWS)):
        usable = [row for row in map(_stripped, block) if row.problem is None]
        texts = [_joined(row.texts[:-1]) for row in usable]
        again = texts_seen.add(hashes_of(texts))
        same = examples_seen.add(hashes_of(_joined(row.texts) for row in usable))
        for at in np.flatnonzero(again).tolist():
            kind, detail = ("duplicate", "seen before") if same[at] else ("conflict", "seen before with another label")
            usable[at].notes += (Problem(kind, detail, usable[at].place),)
        for part in held:
            part.mark(usable, texts)
        for row in block:
            _count(row, findings)
            yield row


def held_texts(name: str, examples: Sequence[Labelled]) -> HeldTexts:
    return HeldTexts(name, (_joined(example.texts) for example in examples))


def _stripped(row: Fields) -> Fields:
    if row.problem is not None:
        return row
    row.texts = tuple([text.strip() for text in row.texts])
    if "" in row.texts:
        at = row.texts.index("")
        is_label = at == len(row.texts) - 1
        which = "the text is blank" if len(row.texts) == 2 else f"text {at + 1} is blank"
        row.problem = Problem("label" if is_label else "blank", "no label" if is_label else which, row.place)
    return row


def _count(row: Fields, findings: LabelFindings) -> None:
    findings.count(row, row.problem.kind if row.problem else None)
    if row.problem is not None:
        return
    findings.labels[row.texts[-1]] += 1
    findings.characters += sum(map(len, row.texts[:-1]))
    findings.words += sum(len(text.split()) for text in row.texts[:-1])
    if findings.most_labels is not None and len(findings.labels) > findings.most_labels:
        raise _not_labels(row.place.file, findings, f"more than {MOST_LABELS:,} different labels")


def _example(row: Fields) -> Labelled:
    return Labelled(tuple([text.strip() for text in row.texts[:-1]]), row.texts[-1].strip())


def _joined(texts: Sequence[str]) -> str:
    return SEPARATOR.join(texts)


# Errors and messages


def _refuse_unusable(findings: LabelFindings, source: LabelledSource) -> None:
    refuse_unreadable(findings, unit="rows")
    refuse_unlearnable(findings, source)


def refuse_unlearnable(findings: LabelFindings, source: LabelledSource) -> None:
    """Raises an error unless there are at least two labels, with several examples each."""
    names = source.names
    if not findings.used:
        raise DataError(f"{names}: no usable examples: {findings.left_out()}.")
    if len(findings.labels) == 1:
        raise DataError(
            f"{names}: {counted(findings.used, 'usable example')}, all with the label "
            f"{shown_label(*findings.labels)}. A classifier needs two labels or more: give other files, or choose "
            "another column with --columns."
        )
    if findings.used >= FEW_ROWS and 2 * len(findings.labels) > findings.used:
        raise _not_labels(names, findings, f"{len(findings.labels):,} different labels in {findings.used:,} examples")


def refuse_too_few(findings: LabelFindings, source: LabelledSource, counts: Mapping[str, int]) -> None:
    """Raises an error if, without what is held out, fewer than two labels have examples.

    Equal texts stay together, so one text in many rows is held out as a whole.
    """
    if sum(1 for count in counts.values() if count) >= 2:
        return
    repeated = sum(findings.notes[kind].count for kind in ("duplicate", "conflict") if kind in findings.notes)
    left, used = sum(counts.values()), findings.used
    raise DataError(
        f"{source.names}: too few different examples: {counted(used, 'usable example')} with "
        f"{counted(used - repeated, 'different text')}, of which {used - left:,} would be held out for validation, so "
        f"{left:,} would be left to train on. Give more examples, or other validation data with --valid FILE."
    )


def _not_labels(names: str, findings: LabelFindings, got: str) -> DataError:
    some = ", ".join(shown_label(label) for label in list(findings.labels)[:3])
    return DataError(
        f"{names}: {got}, for instance {some}. That looks like texts or numbers, not like classes: a label needs "
        f"several examples, and at most {MOST_LABELS:,} labels are allowed. Choose columns: --columns text,label."
    )


def without_new_labels(
    valid: list[Labelled], counts: dict[str, int], findings: LabelFindings, listener: Listener
) -> list[Labelled]:
    """Held-out examples whose label is in the training data. Raises an error if none is left."""
    known = [example for example in valid if counts.get(example.label)]
    if left_out := len(valid) - len(known):
        new = sorted({label for _, label in valid if not counts.get(label)})
        findings.used -= left_out
        findings.dropped["new label"] += left_out
        labels = ", ".join(map(shown_label, new[:3])) + (", ..." if len(new) > 3 else "")
        listener.on_stage(
            f"{counted(left_out, 'held-out example')} left out: the label has no training example ({labels})"
        )
    if not known:
        labels = ", ".join(map(shown_label, list(counts)[:3]))
        raise DataError(f"None of the {len(valid):,} held-out examples has a label of the training data ({labels}).")
    return known


def examine_labelled(
    files: Sequence[str],
    *,
    columns: tuple[str, ...] | None = None,
    held: Mapping[str, Sequence[str]] = MappingProxyType({}),
    listener: Listener,
) -> LabelFindings:
    """Everything that one pass can find. `held`: the files of held-out parts, by name. Nothing is written."""
    source = labelled_source(files, columns)
    parts, labels = [], dict[str, set[str]]()
    for name, names in held.items():
        if read := read_held_labelled(names, source.columns, listener, beside=source.paths):
            parts.append(held_texts(name, read[0]))
            labels[name] = {example.label for example in read[0]}
    findings, all_read = LabelFindings(), False

    def refuse() -> None:
        nonlocal all_read
        all_read = True
        _refuse_unusable(findings, source)

    try:
        rows = screened(source.rows(progress=listener.on_count), findings, parts)
        _, counts, held_out = _divided(rows, None if held.get("valid") else HoldOut(seed=1), refuse=refuse)
        labels.setdefault("valid", {label for label, count in held_out.items() if count})
        for name, there in labels.items():
            note_missing(findings.missing, name, counts, there)
        refuse_too_few(findings, source, counts)
    except DataError as error:
        if not all_read:
            raise
        findings.refuse(error)
    return findings
