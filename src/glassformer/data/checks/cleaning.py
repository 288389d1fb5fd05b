"""Writes a cleaned corpus, and a list of the dropped pairs with their reasons and places."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from glassformer.data.checks.doctor import Progress, read_held, record_slips
from glassformer.data.checks.filters import chosen_filters
from glassformer.data.checks.findings import Findings
from glassformer.data.checks.screen import screen
from glassformer.data.checks.tally import place_dict
from glassformer.data.checks.writing import NewFiles, check_new
from glassformer.data.readers.inputs import Choice, Input, languages_of, meter, read_pairs
from glassformer.data.readers.lines import count_lines
from glassformer.data.readers.naming import kind_of, unpacked_name
from glassformer.data.readers.opening import packing_suffix, shown
from glassformer.data.readers.records import Problem, Record
from glassformer.data.slips.realigned import read_realigned
from glassformer.data.slips.watch import SlipWatch, slips_of
from glassformer.errors import DataError

# Characters that a format cannot hold inside a sentence.
_BREAKS = {"aligned": re.compile("\r?\n"), "tsv": re.compile("\r?\n|\t")}
_ESCAPES = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}  # some readers end a line at these


@dataclass(frozen=True)
class Destination:
    """Where a cleaned corpus is written: one file with both sides, or two aligned files."""

    kind: str  # tsv, jsonl, aligned
    paths: tuple[Path, ...]
    dropped: Path


@dataclass(slots=True)
class Flattened(Record):
    """A record whose line breaks or tabs became spaces, with its original texts."""

    original: tuple[str, str] = ("", "")


def clean(
    inputs: Sequence[Input],
    out: str | Path,
    *,
    filters: Sequence[str] = ("recommended",),
    columns: Choice = None,
    languages: Choice = None,
    valid: Sequence[Input] = (),
    test: Sequence[Input] = (),
    trim: bool = False,
    realign: bool = False,
    progress: Progress | None = None,
) -> Findings:
    """Writes the pairs that can be used, and a file of what was dropped and why. The inputs are not changed.

    Two files of different length are refused unless `trim` drops the last lines of the longer one, or `realign` pairs
    the lines again where the files are out of step.
    """
    chosen_filters(filters)  # reports a misspelt name before anything is read
    destination = destination_of(out, inputs, languages=languages)
    files = NewFiles([*destination.paths, destination.dropped])
    if not trim and not realign:
        refuse_surplus(inputs)
    held = read_held(valid=valid, test=test, columns=columns, languages=languages)
    findings = Findings()
    findings.languages = languages or languages_of(inputs)
    watch = SlipWatch([] if realign else inputs)
    read = read_and_realign if realign else read_pairs
    records = watch.passing(read(inputs, columns=columns, languages=languages, progress=progress))
    fitting = flattened(records, destination.kind, findings)
    with files as (*outputs, dropped):
        write = pair_writer(destination.kind, outputs)
        for record, reason in screen(fitting, filters=filters, findings=findings, held=held):
            if record.problem is None:
                write(record)
            else:
                dropped.write(json_line(dropped_dict(record, record.problem, reason)))
    record_slips(watch, findings)
    return findings


def read_and_realign(
    inputs: Sequence[Input], *, columns: Choice = None, languages: Choice = None, progress: Progress | None = None
) -> Iterator[Record]:
    """All records. Lines of aligned files are paired again where the files are out of step."""
    on_read = meter(inputs, progress) if progress else None
    for one in inputs:
        if one.kind == "aligned":
            yield from read_realigned(one, on_read=on_read)
        else:
            yield from read_pairs([one], columns=columns, languages=languages)


def destination_of(out: str | Path, inputs: Sequence[Input], *, languages: Choice = None) -> Destination:
    """Chosen by suffix: .tsv and .jsonl (also compressed) are one file; a name without a suffix is a prefix for two."""
    path = Path(out)
    kind, packing = kind_of(path), packing_suffix(path)
    if kind in ("tsv", "jsonl") and str(path) != "-":
        stem = Path(unpacked_name(path)).stem
        found = Destination(kind, (path,), path.with_name(f"{stem}.dropped.jsonl"))
    elif kind != "text" or packing or not path.name or path.is_dir():
        raise DataError(
            f"--out {shown(path)}: give a .tsv or .jsonl file (also .gz, .xz, .bz2, .zst), or a prefix for two files: "
            "clean/train writes clean/train.en and clean/train.de."
        )
    else:
        paths = [path.with_name(path.name + suffix) for suffix in suffixes_of(inputs, languages)]
        found = Destination("aligned", tuple(paths), path.with_name(f"{path.name}.dropped.jsonl"))
    for one in (*found.paths, found.dropped):
        check_new(one)
    return found


def suffixes_of(inputs: Sequence[Input], languages: Choice) -> tuple[str, str]:
    """Suffixes of the two output files: those of the inputs, else the languages."""
    first = inputs[0]
    if first.kind == "aligned":
        source, target = (Path(unpacked_name(path)).suffix for path in first.paths)
        if source and target and source != target:
            return source, target
    named = languages or languages_of(inputs)
    if named[0] and named[1] and named[0] != named[1]:
        return f".{named[0]}", f".{named[1]}"
    return ".source", ".target"


def refuse_surplus(inputs: Sequence[Input]) -> None:
    """Raises an error if two aligned files differ in length: from some line on, every pair may be wrong."""
    for one in inputs:
        if one.kind != "aligned":
            continue
        counts = [count_lines(path) for path in one.paths]
        if counts[0] != counts[1]:
            source, target = (f"{shown(path)} has {count:,}" for path, count in zip(one.paths, counts, strict=True))
            longer = one.paths[counts[1] > counts[0]]
            slips = "".join(f"They are out of step: {slip}. " for slip in slips_of(one)[:3])
            raise DataError(
                f"line {min(counts) + 1:,} of {shown(longer)} has no partner: {source} lines, {target}. {slips}"
                "`glassformer clean --realign` pairs the lines again; `glassformer clean --trim` drops the last lines "
                "of the longer file."
            )


def flattened(records: Iterable[Record], kind: str, findings: Findings) -> Iterator[Record]:
    """Replaces line breaks and tabs that the format cannot hold with spaces, before anything is compared."""
    breaks = _BREAKS.get(kind)
    if breaks is None:
        yield from records
        return
    for record in records:
        source, target = breaks.sub(" ", record.source), breaks.sub(" ", record.target)
        if source == record.source and target == record.target:
            yield record
        else:
            findings.flattened += record.problem is None
            original = (record.source, record.target)
            yield Flattened(source, target, record.place, record.problem, record.notes, record.target_at, original)


def pair_writer(kind: str, files: Sequence[IO[str]]) -> Callable[[Record], None]:
    first, last = files[0], files[-1]

    def write_aligned(record: Record) -> None:
        first.write(f"{record.source}\n")
        last.write(f"{record.target}\n")

    def write_tsv(record: Record) -> None:
        first.write(f"{record.source}\t{record.target}\n")

    def write_jsonl(record: Record) -> None:
        first.write(json_line({"source": record.source, "target": record.target}))

    return {"aligned": write_aligned, "tsv": write_tsv, "jsonl": write_jsonl}[kind]


def dropped_dict(record: Record, problem: Problem, reason: str | None) -> dict[str, object]:
    """A dropped unit as JSON data: why, where, and its original texts."""
    source, target = record.original if isinstance(record, Flattened) else (record.source, record.target)
    return {"reason": reason, **place_dict(problem), "source": source, "target": target}


def json_line(value: dict[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPES) + "\n"
