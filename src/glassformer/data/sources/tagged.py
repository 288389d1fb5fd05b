"""Tagged sentences for training: read, checked, split by document or by sentence.

Files are read once to recognise the scheme of the labels, once to check and split, and again whenever they are needed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from glassformer.data.checks.held_texts import HeldTexts
from glassformer.data.checks.seen import SeenHashes, hashes_of
from glassformer.data.checks.tag_findings import TagFindings
from glassformer.data.readers.inputs import Input, fingerprint
from glassformer.data.readers.naming import expand, kind_of, refuse_repeated
from glassformer.data.readers.opening import STDIN
from glassformer.data.readers.records import Problem
from glassformer.data.readers.tagged import TaggedSentence, read_tagged_columns
from glassformer.data.readers.tagged_json import read_tagged_json
from glassformer.data.schemes import BIO, PLAIN, SchemeCount, converted, faults, spans_of, split_label
from glassformer.data.selection import HELD, LEFT_OUT, NO_NUMBER, TRAIN, HoldOut, Parts, divided, picked
from glassformer.data.settings import TagDataSettings
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
from glassformer.data.sources.files import Source
from glassformer.data.sources.tag_reports import report
from glassformer.errors import DataError
from glassformer.printable import counted, printable, shortened

MOST_LABELS = 1000
FEW_DOCUMENTS = 5  # with fewer, sentences are held out instead of documents
ROWS = 2048  # compared together
SHORT = 5  # words: shorter sentences often repeat by chance
ALONE = -1  # the document of a sentence where none are marked
JSON = "jsonl"


class Tagged(NamedTuple):
    """A sentence: the number of its document, its words, and their labels: BIO, or plain."""

    document: int
    words: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class TaggedSource(Source):
    """Files of tagged sentences."""

    def rows(self, listener: Listener | None = None) -> Iterator[tuple[int, TaggedSentence]]:
        """Each sentence, checked, with the number of its file."""
        on_read = meter(self.paths, None if listener is None else listener.on_count)
        for at, one in enumerate(self.inputs):
            read = read_tagged_json if one.kind == JSON else read_tagged_columns
            for row in read(one.paths[0], self.columns, on_read=on_read):
                yield at, checked(row)


def tagged_source(names: Sequence[str], columns: tuple[str, ...] | None) -> TaggedSource:
    """The files with these names and patterns: .jsonl, or columns whatever their names."""
    if not names:
        raise DataError("No file was given. Give files with one word and its label per line, or .jsonl files.")
    paths = expand(names)
    if STDIN in paths:
        raise DataError("Data is read more than once, so it cannot come from stdin. Save it to a file first.")
    refuse_repeated(paths)
    return TaggedSource(tuple(Input((p,), JSON if kind_of(p) == JSON else "columns") for p in paths), columns)


def files_changed(data: TagDataSettings, begun: Mapping[str, str]) -> bool:
    """Whether the files to learn from are other ones than those with these fingerprints; False if they are gone."""
    return changed_since(begun, lambda: fingerprint(tagged_source(data.files, data.columns).inputs))


def scheme_in(source: TaggedSource, asked: str) -> tuple[str, int]:
    """The scheme of the labels, as it was set or recognised, and how many documents the files mark."""
    count, marked, documents = SchemeCount(), False, set[tuple[int, int]]()
    for at, row in source.rows():
        marked = marked or row.document is not None
        if row.problem is None:
            count.add(row.labels)
            documents.add((at, group_of(row)))
    return (count.scheme() if asked == "auto" else asked), len(documents) if marked else 0


def read_tagged_examples(data: TagDataSettings, *, seed: int, listener: Listener) -> Examples[Tagged]:
    """The training and validation sentences."""
    source = tagged_source(data.files, data.columns)
    seen = stamps(source.paths)
    scheme, documents = scheme_in(source, data.scheme)
    given = read_held_tagged(data.valid_files, data.columns, scheme, listener, beside=source.paths)
    valid, valid_findings = given or (None, None)
    hold_out = None if valid is not None else HoldOut(seed=seed, share=data.valid_share)
    findings = TagFindings()
    findings.scheme = scheme
    rows = screened(source.rows(listener), findings, [held_texts("valid", valid)] if valid else [])
    by_document = hold_out is not None and holds_documents(data.group, documents, listener)
    parts = split(rows, hold_out, by_document=by_document)
    refuse_unusable(findings, source)

    def examples(part: int) -> Iterator[Tagged]:
        return (example(at, row, scheme, documents > 0) for at, row in picked(source.rows(), parts, part))

    if valid is None:
        valid = list(examples(HELD))
    count = int((parts == TRAIN).sum())
    if not count:
        smaller = "set data.group = 'sentence'" if by_document else "give more sentences"
        raise DataError(f"{source.names}: nothing is left to train on. Give --valid FILE, or {smaller}.")
    report(findings, listener)
    listener.on_stage(f"{counted(count, 'training sentence')}, {counted(len(valid), 'validation sentence')}")
    files = fingerprint(source.inputs)
    marks = {
        "train": decision_digest(files, data.columns, scheme, parts=parts.tobytes()),
        "valid": texts_digest((*words, *labels) for _, words, labels in valid),
        FILES: files,
    }
    refuse_changed(source.paths, seen)

    def train() -> Iterator[Tagged]:
        yield from examples(TRAIN)
        refuse_changed(source.paths, seen)

    facts = {"findings": findings, "valid_findings": valid_findings, "scheme": scheme}
    return Examples(train, count, valid, marks, {**facts, "kinds": tuple(findings.counted())})


def holds_documents(group: str, documents: int, listener: Listener) -> bool:
    """Whether whole documents are held out; sentences are if there are few documents, unless the user set it."""
    if group == "auto" and 0 < documents < FEW_DOCUMENTS:
        listener.on_stage(f"Held out: sentences, because the files mark only {counted(documents, 'document')}")
        return False
    return documents > 0 and group != "sentence"


def split(rows: Iterator[tuple[int, TaggedSentence]], hold_out: HoldOut | None, *, by_document: bool) -> Parts:
    """The part of every sentence: whole documents, or equal sentences, stay together."""
    used, numbers = array("B"), array("I")
    for at, row in rows:
        used.append(TRAIN if row.problem is None else LEFT_OUT)
        if hold_out is not None:
            # The place of a document, not its text, decides: it is known before the document ends.
            text = f"{at} {group_of(row)}" if by_document else row.texts[0]
            numbers.append(hold_out.number(text) if row.problem is None else NO_NUMBER)
    return divided(used, numbers, hold_out)


def group_of(row: TaggedSentence) -> int:
    """The number of its document in a file; the sentences before the first mark are a document too."""
    return 0 if row.document is None else row.document + 1


def example(at: int, row: TaggedSentence, scheme: str, marked: bool) -> Tagged:
    labels = row.labels if scheme == PLAIN else converted(row.labels, BIO)
    return Tagged(at << 32 | group_of(row) if marked else ALONE, tuple(row.words), tuple(labels))


def read_held_tagged(
    names: Sequence[str],
    columns: tuple[str, ...] | None,
    scheme: str,
    listener: Listener,
    *,
    beside: Sequence[Path] = (),
) -> tuple[list[Tagged], TagFindings] | None:
    """The sentences of validation or test files, and the findings; None without files."""
    if not names:
        return None
    source = tagged_source(names, columns)
    refuse_repeated([*beside, *source.paths])
    findings = TagFindings()
    recognised, documents = scheme_in(source, "auto")
    findings.scheme = PLAIN if scheme == PLAIN else recognised if recognised != PLAIN else scheme
    rows = screened(source.rows(listener), findings)
    held = [example(at, row, scheme, documents > 0) for at, row in rows if row.problem is None]
    refuse_unreadable(findings, unit="held-out sentences")
    if not held:
        raise DataError(f"{source.names}: no usable sentences: {findings.left_out()}.")
    if findings.lost:
        listener.on_stage(f"Held-out sentences: {findings.left_out()}")
    return held, findings


def screened(
    rows: Iterator[tuple[int, TaggedSentence]], findings: TagFindings, held: Sequence[HeldTexts] = ()
) -> Iterator[tuple[int, TaggedSentence]]:
    """Each sentence, with a problem if it cannot be used. Counts all of them; the longer ones are compared."""
    findings.held = list(held)
    sentences, whole = SeenHashes(), SeenHashes()
    while block := list(islice(rows, ROWS)):
        usable = [row for _, row in block if row.problem is None and len(row.words) >= SHORT]
        texts = [row.texts[0] for row in usable]
        again = sentences.add(hashes_of(texts))
        same = whole.add(hashes_of("\0".join((*row.words, *row.labels)) for row in usable))
        for at in np.flatnonzero(again).tolist():
            kind, detail = ("duplicate", "seen before") if same[at] else ("conflict", "seen before with other labels")
            usable[at].notes += (Problem(kind, detail, usable[at].place),)
        for part in held:
            part.mark(usable, texts)
        for at, row in block:
            count(at, row, findings)
            yield at, row


def checked(row: TaggedSentence) -> TaggedSentence:
    """With words and labels without white space at their ends, and a problem if one of them is missing."""
    if row.problem is not None:
        return row
    row.words, row.labels = [word.strip() for word in row.words], [label.strip() for label in row.labels]
    if not row.words:
        row.problem = Problem("empty", "a sentence without words", row.place)
    bad = next((i for i, pair in enumerate(zip(row.words, row.labels, strict=True)) if not all(pair)), None)
    if bad is not None:
        detail = f"{row.words[bad]!r} has no label" if row.words[bad] else f"{row.labels[bad]!r} has no word"
        row.problem = Problem("label", detail, row.place_of(bad))
    return row


def count(at: int, row: TaggedSentence, findings: TagFindings) -> None:
    if row.problem is None:
        if wrong := next(faults(row.labels, findings.scheme), None):
            row.notes += (Problem("invalid", wrong[1], row.place_of(wrong[0])),)
        findings.labels.update(row.labels)
        findings.words += len(row.words)
        findings.longest = max(findings.longest, len(row.words))
        if findings.has_spans:
            findings.entities.update(kind for kind, _, _ in spans_of(row.labels))
        findings.marked = findings.marked or row.document is not None
        findings.groups.add((at, group_of(row)))
    findings.count(row, row.problem.kind if row.problem else None)
    if len(findings.labels) > MOST_LABELS:
        some = ", ".join(repr(shortened(printable(label), width=40)) for label in list(findings.labels)[:3])
        raise DataError(
            f"{row.place.file}: more than {MOST_LABELS:,} different labels, for instance {some}. Choose the column of "
            "the labels: --columns 1,2."
        )


def held_texts(name: str, examples: Sequence[Tagged]) -> HeldTexts:
    texts = (" ".join(one.words) for one in examples if len(one.words) >= SHORT)
    return HeldTexts(name, texts, unit="sentence", units=f"sentences of {SHORT} or more words")


# Errors


def refuse_unusable(findings: TagFindings, source: TaggedSource) -> None:
    refuse_unreadable(findings, unit="sentences")
    if not findings.used:
        raise DataError(f"{source.names}: no usable sentences: {findings.left_out()}.")
    if len(findings.labels) == 1:
        raise DataError(
            f"{source.names}: {counted(findings.words, 'word')}, all with the label {next(iter(findings.labels))!r}. "
            "Give other files, or choose another column with --columns."
        )
    bare = [one for one in findings.labels if not split_label(one)[0]]
    if findings.has_spans and bare and any(split_label(one)[0] in ("B", "E", "S") for one in findings.labels):
        raise DataError(
            f"{source.names}: data.scheme = {findings.scheme!r}, but the label {bare[0]!r} has no such form (B-PER)."
        )


def examine_tagged(
    files: Sequence[str],
    *,
    columns: tuple[str, ...] | None = None,
    held: Mapping[str, Sequence[str]] = MappingProxyType({}),
    listener: Listener,
) -> TagFindings:
    """Everything that one pass can find. `held`: the files of held-out parts, by name. Nothing is written."""
    source = tagged_source(files, columns)
    scheme, _ = scheme_in(source, "auto")
    parts = []
    for name, names in held.items():
        if read := read_held_tagged(names, columns, scheme, listener, beside=source.paths):
            parts.append(held_texts(name, read[0]))
    findings = TagFindings()
    findings.scheme = scheme
    for _ in screened(source.rows(listener), findings, parts):
        pass
    try:
        refuse_unusable(findings, source)
    except DataError as error:
        findings.refuse(error)
    return findings
