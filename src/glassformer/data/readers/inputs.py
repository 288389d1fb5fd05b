"""The inputs of a corpus: which files belong together, what kind they are, and all their records in one stream."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from glassformer.data.readers.aligned import read_aligned
from glassformer.data.readers.gettext import read_po
from glassformer.data.readers.json_lines import read_json_lines
from glassformer.data.readers.languages import pair_in_name
from glassformer.data.readers.naming import (
    TEXT,
    expand,
    kind_of,
    language_of,
    pair_texts,
    refuse_crossed,
    refuse_repeated,
    same_file,
    unpacked_name,
)
from glassformer.data.readers.opening import BLOCK, STDIN, check_file, shown
from glassformer.data.readers.records import Record
from glassformer.data.readers.tables import read_csv, read_tsv
from glassformer.data.readers.tmx import read_tmx
from glassformer.errors import DataError

Choice = tuple[str, str] | None


@dataclass(frozen=True)
class Input:
    """One file with both sides, or two aligned text files."""

    paths: tuple[Path, ...]
    kind: str  # aligned, tsv, csv, jsonl, po, tmx

    def __str__(self) -> str:
        return " and ".join(shown(path) for path in self.paths)


def gather(names: Sequence[str]) -> list[Input]:
    """Files and globs in any order, `-` for a TSV on stdin. A table is one input; text files are paired."""
    paths = expand(names)
    if not paths:
        raise DataError("No file was given. Give two aligned text files, or one TSV, CSV, JSONL, .po or TMX file.")
    refuse_repeated(paths)
    pairs = pair_texts([path for path in paths if kind_of(path) == TEXT])
    pair_of = {path: pair for pair in pairs for path in pair}
    inputs = (Input(pair_of[path], "aligned") if path in pair_of else Input((path,), kind_of(path)) for path in paths)
    return list(dict.fromkeys(inputs))  # a pair is listed once, at the position of its first file


def gather_sides(sources: Sequence[str], targets: Sequence[str]) -> list[Input]:
    """Source files and target files (or globs), paired in order."""
    lefts, rights = expand(sources), expand(targets)
    if len(lefts) != len(rights):
        raise DataError(
            f"{len(lefts)} source {_files(lefts)}, but {len(rights)} target {_files(rights)}. "
            "Each source file needs its translation, in the same order."
        )
    for path in (*lefts, *rights):
        if path == STDIN:
            raise DataError("stdin cannot be one of two aligned files: it is read more than once. Save it to a file.")
    for left, right in zip(lefts, rights, strict=True):
        if same_file(left, right):
            raise DataError(f"{shown(left)} is given as source and as target. Give two different files.")
    refuse_repeated([*lefts, *rights])
    refuse_crossed(lefts, rights)
    return [Input((left, right), "aligned") for left, right in zip(lefts, rights, strict=True)]


def _files(paths: Sequence[Path]) -> str:
    names = ", ".join(shown(path) for path in paths[:3]) + (", ..." if len(paths) > 3 else "")
    return f"{'file' if len(paths) == 1 else 'files'} ({names})"


def read_pairs(
    inputs: Sequence[Input],
    *,
    columns: Choice = None,
    languages: Choice = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Record]:
    """All records of all inputs in order. `progress` is called with (compressed bytes read, total compressed bytes)."""
    for option, choice in (("--columns", columns), ("--languages", languages)):
        if choice is not None and choice[0] == choice[1]:
            raise DataError(f"{option} {','.join(choice)}: source and target must differ.")
    on_read = meter(inputs, progress) if progress else None
    empty = True
    for one in inputs:
        records = _reader(one, columns, languages, on_read)
        for record in records:
            empty = False
            yield record
            break
        yield from records
    if empty:
        raise DataError(f"{', '.join(map(str, inputs))}: no sentences found.")


def meter(inputs: Sequence[Input], progress: Callable[[int, int], None]) -> Callable[[int], None]:
    """Turns the sizes of the blocks read into progress over all inputs."""
    total = sum(check_file(path) for one in inputs for path in one.paths if path != STDIN)
    done = 0

    def on_read(size: int) -> None:
        nonlocal done
        done += size
        progress(done, total)

    return on_read


def _reader(one: Input, columns: Choice, languages: Choice, on_read: Callable[[int], None] | None) -> Iterator[Record]:
    path = one.paths[0]
    if one.kind == "aligned":
        return read_aligned(path, one.paths[1], on_read=on_read)
    if one.kind == "po":
        return read_po(path, on_read=on_read)
    if one.kind == "tmx":
        return read_tmx(path, languages=languages, on_read=on_read)
    read = {"tsv": read_tsv, "csv": read_csv, "jsonl": read_json_lines}[one.kind]
    return read(path, columns=columns, languages=languages, on_read=on_read)


def fingerprint(inputs: Sequence[Input]) -> str:
    """sha256 of the kinds and raw bytes of all files in order; file names do not matter."""
    digest = hashlib.sha256()
    for one in inputs:
        digest.update(f"{one.kind} {len(one.paths)}\n".encode())
        for path in one.paths:
            digest.update(_digest_of(path))
    return digest.hexdigest()


def _digest_of(path: Path) -> bytes:
    if path == STDIN:
        raise DataError("stdin can be read only once, so it has no fingerprint. Save it to a file first.")
    check_file(path)
    digest = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError as error:
        raise DataError(f"{shown(path)} cannot be read: {error.strerror}.") from None
    return digest.digest()


def languages_of(inputs: Sequence[Input]) -> tuple[str | None, str | None]:
    """The languages in the file names, if all files agree."""
    guesses = {_languages_in_names(one) for one in inputs}
    return guesses.pop() if len(guesses) == 1 else (None, None)


def _languages_in_names(one: Input) -> tuple[str | None, str | None]:
    if one.kind == "aligned":
        return language_of(one.paths[0]), language_of(one.paths[1])
    return pair_in_name(unpacked_name(one.paths[0])) or (None, None)
