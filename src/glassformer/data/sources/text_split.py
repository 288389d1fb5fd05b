"""Splits texts into a training part and a held-out part, each as a stream that can be restarted.

With a few files of running text, the end of each is held out; with many files, or with rows, whole files or rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType

import numpy as np

from glassformer.data.checks.held_texts import HeldTexts
from glassformer.data.checks.seen import SeenHashes, hashes_of
from glassformer.data.checks.text_findings import LINE, ROW, LineCheck, TextFindings, held_lines
from glassformer.data.readers.fields import Fields, read_fields
from glassformer.data.readers.naming import TEXT
from glassformer.data.readers.records import Place, Problem
from glassformer.data.readers.roles import Roles
from glassformer.data.selection import HELD, LEFT_OUT, NO_NUMBER, TRAIN, HoldOut, Parts, divided, picked
from glassformer.data.sources.examples import meter
from glassformer.data.sources.files import Source, text_files
from glassformer.data.sources.running import RunningText, TextPiece
from glassformer.errors import DataError, SettingsError

MANY_FILES = 20  # with this many files or more, whole files are held out instead of the end of each
TAIL_SHARE, TAIL_MOST = 0.1, 1_000_000  # the default share of running text, and its maximum in characters
ROWS = 2048  # compared together

Progress = Callable[[int, int], None]
Held = Mapping[str, Sequence[TextPiece]]  # the pieces of held-out parts, by name


@dataclass(frozen=True)
class TextSource(Source):
    """The files of some texts, all of one kind: running text, or rows."""

    skipped: tuple[str, ...] = ()  # in folders: files whose names are not those of texts

    @property
    def is_running(self) -> bool:
        return self.inputs[0].kind == TEXT

    @property
    def has_tails(self) -> bool:
        """Whether the end of each file is held out, not whole files or rows."""
        return self.is_running and len(self.inputs) < MANY_FILES

    def findings(self) -> TextFindings:
        found = TextFindings(LINE if self.is_running else ROW)
        found.files, found.skipped_files = len(self.inputs), list(self.skipped)
        return found

    def rows(self, *, progress: Progress | None = None) -> Iterator[Fields]:
        on_read = meter(self.paths, progress)
        for one in self.inputs:
            yield from read_fields(one.paths[0], one.kind, Roles(self.columns, has_label=False), on_read=on_read)

    def files(
        self,
        *,
        findings: TextFindings | None = None,
        check: LineCheck | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Iterator[TextPiece]]:
        """The pieces of each file."""
        on_read = meter(self.paths, progress)
        for path in self.paths:
            yield RunningText(path).pieces(findings=findings, check=check, on_read=on_read)


def is_running(names: Sequence[str]) -> bool:
    """Whether all of these files are running text."""
    return all(one.kind == TEXT for one in text_files(names)[0])


def text_source(names: Sequence[str], columns: tuple[str, ...] | None) -> TextSource:
    """The files with these names and patterns and in these folders."""
    inputs, skipped = text_files(names)
    kinds = {one.kind == TEXT for one in inputs}
    if len(kinds) == 2:
        running, rows = ([str(one) for one in inputs if (one.kind == TEXT) is is_text] for is_text in (True, False))
        raise DataError(
            f"Got running text ({running[0]}) and tables ({rows[0]}). Give one kind at a time, or convert one."
        )
    if columns is not None and kinds == {True}:
        raise SettingsError(
            f"columns = {','.join(columns)}: {inputs[0]} is running text and has no columns. Omit columns, or "
            "give a .jsonl, .csv or .tsv file."
        )
    return TextSource(tuple(inputs), columns, tuple(skipped))


@dataclass(frozen=True)
class Split:
    """The training part and the held-out part, each as a stream that can be restarted."""

    train: Callable[[], Iterator[TextPiece]]
    held: Callable[[], Iterator[TextPiece]]
    count: int  # number of pieces in `train`
    decisions: bytes  # which unit, or which part of a file, is in which part


def split_texts(
    source: TextSource,
    findings: TextFindings,
    *,
    hold_out: HoldOut | None,
    held: Held = MappingProxyType({}),
    progress: Progress | None = None,
) -> Split:
    """Reads all texts once to split them. `held`: held-out texts to compare with, by the name of their part."""
    read = _tails if source.has_tails else _documents if source.is_running else _rows
    return read(source, findings, hold_out, held, progress)


# Running text


def _tails(
    source: TextSource,
    findings: TextFindings,
    hold_out: HoldOut | None,
    held: Held,
    progress: Progress | None,
) -> Split:
    """Holds out the end of each file."""
    check = line_check(findings, held)
    sizes = [
        array("Q", (len(piece.text) for piece in pieces))
        for pieces in source.files(findings=findings, check=check, progress=progress)
    ]
    share = _tail_share(hold_out, findings.characters)
    cuts = [int(sum(size) * (1 - share)) for size in sizes]  # nanoGPT's split: the first int(n * 0.9) characters
    count = sum(_pieces_before(size, cut) for size, cut in zip(sizes, cuts, strict=True))

    def part(which: int) -> Iterator[TextPiece]:
        for pieces, cut in zip(source.files(), cuts, strict=True):
            for found, piece in cut_at(pieces, cut):
                if found == which:
                    yield piece

    decisions = np.array(cuts, dtype="<u8").tobytes()
    return Split(lambda: part(TRAIN), lambda: part(HELD), count, decisions)


def _tail_share(hold_out: HoldOut | None, characters: int) -> float:
    if hold_out is None:
        return 0.0
    return hold_out.share if hold_out.share is not None else min(TAIL_SHARE, TAIL_MOST / max(characters, 1))


def _pieces_before(sizes: Sequence[int], cut: int) -> int:
    """How many pieces begin before `cut` (in characters)."""
    starts = np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))[:-1]]) if len(sizes) else np.zeros(0)
    return int((starts < cut).sum())


def cut_at(pieces: Iterator[TextPiece], cut: int) -> Iterator[tuple[int, TextPiece]]:
    """The pieces of a file, each with its part: the first `cut` characters are for training, the rest is held out."""
    seen = 0
    for piece in pieces:
        left = max(0, min(cut - seen, len(piece.text)))
        if left:
            yield TRAIN, piece if left == len(piece.text) else replace(piece, text=piece.text[:left])
        if left < len(piece.text):
            begins = seen <= cut  # the held-out part is a separate document
            yield HELD, TextPiece(piece.text[left:], _later(piece, left), begins)
        seen += len(piece.text)


def _later(piece: TextPiece, characters: int) -> Place:
    """The place `characters` characters after the beginning of a piece."""
    before = piece.text[:characters]
    return replace(
        piece.place, number=piece.place.number + before.count("\n"), byte=piece.place.byte + len(before.encode())
    )


def _documents(
    source: TextSource,
    findings: TextFindings,
    hold_out: HoldOut | None,
    held: Held,
    progress: Progress | None,
) -> Split:
    """Holds out whole files, by a hash of their beginning."""
    check = line_check(findings, held)
    used, numbers, sizes = array("B"), array("I"), array("Q")
    for pieces in source.files(findings=findings, check=check, progress=progress):
        first = next(pieces, None)
        used.append(LEFT_OUT if first is None else TRAIN)
        numbers.append(NO_NUMBER if first is None or hold_out is None else hold_out.number(first.text))
        sizes.append((first is not None) + sum(1 for _ in pieces))
    parts = divided(used, numbers, hold_out)

    def part(which: int) -> Iterator[TextPiece]:
        for pieces in picked(source.files(), parts, which):
            yield from pieces

    count = int(np.frombuffer(sizes, dtype=np.uint64)[parts == TRAIN].sum())
    return Split(lambda: part(TRAIN), lambda: part(HELD), count, parts.tobytes())


def line_check(findings: TextFindings, held: Held) -> LineCheck | None:
    lines = [held_lines(name, (piece.text for piece in pieces)) for name, pieces in held.items()]
    return LineCheck(findings, held=lines) if lines else None


# Rows


def _rows(
    source: TextSource,
    findings: TextFindings,
    hold_out: HoldOut | None,
    held: Held,
    progress: Progress | None,
) -> Split:
    """Holds out rows by a hash of their text; leaves out texts that are also in the held-out files."""
    parts_held = [HeldTexts(name, (piece.text for piece in pieces)) for name, pieces in held.items()]
    used, numbers = array("B"), array("I")
    for row in screened_rows(source.rows(progress=progress), findings, parts_held):
        used.append(LEFT_OUT if row.problem else TRAIN)
        numbers.append(NO_NUMBER if row.problem or hold_out is None else hold_out.number(row.texts[0]))
    parts: Parts = divided(used, numbers, hold_out)

    def part(which: int) -> Iterator[TextPiece]:
        return map(row_piece, picked(source.rows(), parts, which))

    return Split(lambda: part(TRAIN), lambda: part(HELD), int((parts == TRAIN).sum()), parts.tobytes())


def screened_rows(rows: Iterator[Fields], findings: TextFindings, held: Sequence[HeldTexts] = ()) -> Iterator[Fields]:
    """Each row, with a problem if it is blank or held out. Counts rows and compares each with those before it."""
    findings.held = list(held)
    seen = SeenHashes()
    while block := list(islice(rows, ROWS)):
        for row in block:
            if row.problem is None and not row.texts[0].strip():
                row.problem = Problem("blank", "the text is blank", row.place)
        usable = [row for row in block if row.problem is None]
        texts = [row.texts[0] for row in usable]
        for at in np.flatnonzero(seen.add(hashes_of(texts))).tolist():
            usable[at].notes += (Problem("duplicate", "the same text was seen before", usable[at].place),)
        for part in held:
            part.mark(usable, texts)
        for row in block:
            _count_row(row, findings)
            yield row


def _count_row(row: Fields, findings: TextFindings) -> None:
    findings.count(row, row.problem.kind if row.problem else None)
    if row.problem is None:
        findings.documents += 1
        findings.characters += len(row.texts[0])
        findings.words += len(row.texts[0].split())


def row_piece(row: Fields) -> TextPiece:
    return TextPiece(row.texts[0], row.place, whole=True)
