"""Texts for a language model: running text in files, or one text per row.

Files are read once to check and split them, and again as a stream whenever their texts are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from glassformer.data.checks.text_findings import LineCheck, TextFindings, held_lines
from glassformer.data.readers.inputs import fingerprint
from glassformer.data.readers.naming import refuse_repeated
from glassformer.data.selection import HoldOut
from glassformer.data.settings import TextDataSettings
from glassformer.data.sources.examples import (
    FILES,
    Examples,
    Listener,
    changed_since,
    decision_digest,
    refuse_changed,
    refuse_unreadable,
    stamps,
    texts_digest,
)
from glassformer.data.sources.running import TextPiece
from glassformer.data.sources.text_split import (
    TextSource,
    is_running,
    row_piece,
    screened_rows,
    split_texts,
    text_source,
)
from glassformer.errors import DataError
from glassformer.printable import counted


def read_text_examples(data: TextDataSettings, *, seed: int, listener: Listener) -> Examples[TextPiece]:
    """The training and validation texts."""
    source = text_source(data.files, data.columns)
    seen = stamps(source.paths)
    valid, held_findings = read_held_texts(data.valid_files, data.columns, listener, beside=source.paths)
    hold_out = None if valid is not None else HoldOut(seed=seed, share=data.valid_share)
    findings = source.findings()
    split = split_texts(
        source, findings, hold_out=hold_out, held={"valid": valid} if valid else {}, progress=listener.on_count
    )
    refuse_unreadable(findings, unit=f"{findings.unit}s")
    refuse_no_text(findings, source)
    if not split.count:
        raise DataError(f"Nothing is left to train on: all of {source.inputs[0]} would be held out. Give --valid FILE.")
    report(findings, listener)
    if valid is None:
        valid = list(split.held())
        characters = sum(len(piece.text) for piece in valid)
        listener.on_stage(f"{characters:,} of {findings.characters:,} characters are held out for validation")
    files = fingerprint(source.inputs)
    marks = {
        "train": decision_digest(files, data.columns, parts=split.decisions),
        "valid": texts_digest((piece.text,) for piece in valid),
        FILES: files,
    }
    refuse_changed(source.paths, seen)

    def train() -> Iterator[TextPiece]:
        yield from split.train()
        refuse_changed(source.paths, seen)

    facts = {"findings": findings, "valid_findings": held_findings}
    return Examples(train, split.count, valid, marks, facts)


def read_held_texts(
    names: Sequence[str], columns: tuple[str, ...] | None, listener: Listener, *, beside: Sequence[Path] = ()
) -> tuple[list[TextPiece] | None, TextFindings | None]:
    """The texts of validation or test files, if there are any, and the findings.

    `columns` are those of the training data; running text has none.
    """
    if not names:
        return None, None
    source = text_source(names, None if is_running(names) else columns)
    refuse_repeated([*beside, *source.paths])
    findings = source.findings()
    if source.is_running:
        held = [piece for file in source.files(findings=findings) for piece in file]
    else:
        held = [row_piece(row) for row in screened_rows(source.rows(), findings) if row.problem is None]
    refuse_unreadable(findings, unit=f"held-out {findings.unit}s")
    if not findings.words:
        raise DataError(f"{source.names}: no text to validate with.")
    if findings.lost:
        listener.on_stage(f"Held-out texts: {findings.left_out()}")
    return held, findings


def refuse_no_text(findings: TextFindings, source: TextSource) -> None:
    """Raises an error if there is nothing but white space."""
    if not findings.words:
        why = findings.left_out() if findings.lost or not findings.units else "there is only white space in them"
        raise DataError(f"{source.names}: no text to train on: {why}.")


def files_changed(data: TextDataSettings, begun: Mapping[str, str]) -> bool:
    """Whether the files to learn from are other ones than those with these fingerprints; False if they are gone."""
    return changed_since(begun, lambda: fingerprint(text_source(data.files, data.columns).inputs))


# Reporting


def report(findings: TextFindings, listener: Listener) -> None:
    """Reports a summary of the findings."""
    listener.on_stage(
        f"{counted(findings.characters, 'character')}, {counted(findings.words, 'word')} in "
        f"{counted(findings.used, findings.unit)}"
    )
    if findings.skipped_files:
        names = ", ".join(findings.skipped_files[:3]) + (", ..." if len(findings.skipped_files) > 3 else "")
        listener.on_stage(f"Not read, because their suffixes are not those of texts: {names}")
    if findings.lost:
        listener.on_stage(_capital(findings.left_out()))
    if found := [one for one in findings.ordered() if one is findings.notes.get(one.kind)]:
        listener.on_stage("Used, but check: " + ", ".join(f"{one.count:,} {one.kind}" for one in found))


def examine_texts(
    files: Sequence[str],
    *,
    columns: tuple[str, ...] | None = None,
    held: Mapping[str, Sequence[str]] = MappingProxyType({}),
    listener: Listener,
) -> TextFindings:
    """Everything that one pass can find. `held`: the files of held-out parts, by name. Nothing is written."""
    source = text_source(files, columns)
    read = {name: read_held_texts(names, columns, listener, beside=source.paths)[0] for name, names in held.items()}
    pieces = {name: part for name, part in read.items() if part}
    findings = source.findings()
    if source.is_running:
        lines = [held_lines(name, (piece.text for piece in part)) for name, part in pieces.items()]
        check = LineCheck(findings, held=lines, repeats=True)
        for file in source.files(findings=findings, check=check, progress=listener.on_count):
            for _ in file:
                pass
    else:
        split_texts(source, findings, hold_out=None, held=pieces, progress=listener.on_count)
    try:
        refuse_no_text(findings, source)
    except DataError as error:
        findings.refuse(error)
    return findings


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
