"""Statements about examining and cleaning that hold for any file and any choice of filters."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.data.checks.cleaning import clean, destination_of
from glassformer.data.checks.doctor import examine
from glassformer.data.checks.filters import FILTERS
from glassformer.data.checks.findings import Findings
from glassformer.data.checks.placeholders import difference
from glassformer.data.checks.screen import screen
from glassformer.data.checks.seen import SeenHashes
from glassformer.data.readers.inputs import Input, gather, read_pairs
from glassformer.data.readers.records import Place, Record
from glassformer.text.folding import folded

# Letters of several scripts, and everything that a filter, an oddity or a reader minds.
SIGNS = "aB ßé漢あЖ0.!%s{x}<b>&amp;Ã¤\x07\x9f\x0b\x1c\x85\u2028\u200b\xa0\xad\u0301\ufffd\ue000"
WORDS = st.one_of(st.sampled_from(["the", "dog", "Hund", "der", "I ate an apple."]), st.text(SIGNS, max_size=8))
TEXTS = st.builds(
    lambda words, times: " ".join(words * times), st.lists(WORDS, max_size=5), st.sampled_from([1, 1, 1, 40])
)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=30).map(lambda pairs: pairs + pairs[:3])
LINES = st.lists(st.one_of(TEXTS.map(str.encode), st.binary(max_size=6)), min_size=1, max_size=12)
CHOICES = st.lists(st.sampled_from([*FILTERS, "all", "recommended"]), max_size=4)
several = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@contextmanager
def written(**files: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        for file, content in files.items():
            (Path(name) / file.replace("_", ".")).write_bytes(content)
        yield Path(name)


def as_lines(texts: Sequence[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def as_tsv(pairs: Sequence[tuple[str, str]]) -> bytes:
    return as_lines([f"{source}\t{target}" for source, target in pairs])


def as_csv(pairs: Sequence[tuple[str, str]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(pairs)
    return file.getvalue().encode()


def as_jsonl(pairs: Sequence[tuple[str, str]]) -> bytes:
    return as_lines([json.dumps({"source": source, "target": target}) for source, target in pairs])


def adds_up(findings: Findings, units: int) -> None:
    assert findings.units == findings.used + findings.dropped.total() == units


@given(PAIRS, st.sampled_from([("tsv", as_tsv), ("csv", as_csv), ("jsonl", as_jsonl)]), CHOICES)
@several
def test_every_unit_is_used_or_dropped_with_a_reason(pairs, kind, filters) -> None:  # type: ignore[no-untyped-def]
    suffix, write = kind
    with written(**{f"in_{suffix}": write(pairs)}) as folder:
        inputs = gather([str(folder / f"in.{suffix}")])
        findings = Findings()
        verdicts = list(screen(read_pairs(inputs), filters=filters, findings=findings))
        adds_up(findings, len(pairs))
        assert findings.used == sum(reason is None for _, reason in verdicts)
        assert all((reason is None) == (record.problem is None) for record, reason in verdicts)
        examined = examine(inputs)
        adds_up(examined, len(pairs))
        assert 0 <= (examined.left or 0) <= examined.used


@given(LINES, LINES, CHOICES)
@several
def test_lines_of_any_bytes_are_all_accounted_for(left: list[bytes], right: list[bytes], filters: list[str]) -> None:
    cleaned = ([line.replace(b"\n", b"").replace(b"\0", b"") for line in lines] for lines in (left, right))
    left, right = ([b"text", *lines] for lines in cleaned)  # not the beginning of some archive
    with written(a_en=b"\n".join([*left, b""]), a_de=b"\n".join([*right, b""])) as folder:
        inputs = gather([str(folder / "a.en"), str(folder / "a.de")])
        units = max(len(left), len(right))
        adds_up(examine(inputs), units)
        findings = clean(inputs, folder / "out", filters=filters, trim=True)
        adds_up(findings, units)
        assert findings.dropped["no partner"] == abs(len(left) - len(right))
        kept_and_dropped_are_all(inputs, folder / "out")


def kept_and_dropped_are_all(inputs: list[Input], out: Path) -> None:
    """The output and the list of what was dropped make up the input, each unit once and in order."""
    read = list(read_pairs(inputs))
    dropped = [json.loads(line) for line in (out.parent / "out.dropped.jsonl").read_text().splitlines()]
    gone = {row["number"] for row in dropped}
    assert len(gone) == len(dropped)
    for row in dropped:
        record = read[row["number"] - 1]
        assert (row["source"], row["target"]) == (record.source, record.target)
    kept = [(record.source, record.target) for number, record in enumerate(read, 1) if number not in gone]
    assert written_pairs(inputs, out) == kept


def written_pairs(inputs: list[Input], out: Path) -> list[tuple[str, str]]:
    """The pairs of an output, read without our readers."""
    if out.suffix == ".jsonl":
        rows = [json.loads(line) for line in out.read_text().split("\n")[:-1]]
        return [(row["source"], row["target"]) for row in rows]
    sides = [f"{out}{suffix}" for suffix in (".en", ".de")] if inputs[0].kind == "aligned" else []
    lines = [Path(side).read_bytes().decode().split("\n")[:-1] for side in sides]
    return list(zip(*lines, strict=True))


@given(PAIRS, CHOICES)
@several
def test_what_is_kept_and_what_is_dropped_make_up_the_input(pairs: list[tuple[str, str]], filters: list[str]) -> None:
    with written(in_jsonl=as_jsonl(pairs)) as folder:
        inputs = gather([str(folder / "in.jsonl")])
        adds_up(clean(inputs, folder / "out.jsonl", filters=filters), len(pairs))
        kept_and_dropped_are_all(inputs, folder / "out.jsonl")


@given(PAIRS, CHOICES, st.sampled_from(["again", "again.tsv", "again.jsonl"]))
@several
def test_cleaning_what_is_clean_drops_nothing_more(
    pairs: list[tuple[str, str]], filters: list[str], again: str
) -> None:
    with written(in_jsonl=as_jsonl(pairs)) as folder:  # fewer pairs than anything is learnt from
        inputs = gather([str(folder / "in.jsonl")])
        first = clean(inputs, folder / again, filters=filters)
        if not first.used:
            return
        out = destination_of(folder / "x" / again, inputs)
        cleaned = gather([str(folder / path.name) for path in out.paths])
        second = clean(cleaned, folder / "twice.jsonl", filters=filters)
        assert (second.units, second.used, second.flattened) == (first.used, first.used, 0)


@given(PAIRS)
@several
def test_examining_foretells_what_the_recommended_filters_leave(pairs: list[tuple[str, str]]) -> None:
    def records() -> list[Record]:
        places = (Place("x", number, 0) for number in range(1, len(pairs) + 1))
        return [Record(source, target, place) for (source, target), place in zip(pairs, places, strict=True)]

    examined, cleaned = Findings(), Findings()
    list(screen(records(), findings=examined, examine=math.inf))
    list(screen(records(), filters=["recommended"], findings=cleaned))
    assert examined.left == cleaned.used


@given(st.lists(st.lists(st.integers(0, 40), max_size=9), max_size=12))
def test_hashes_are_seen_as_in_a_set(blocks: list[list[int]]) -> None:
    seen, plain = SeenHashes(), set[int]()
    for block in blocks:
        wanted = [value in plain or value in block[:place] for place, value in enumerate(block)]
        assert seen.add(np.array(block, dtype=np.uint64)).tolist() == wanted
        plain.update(block)


@given(TEXTS)
def test_folding_leaves_something_and_does_not_mind_case_and_ends(text: str) -> None:
    assert bool(folded(text)) == bool(text)
    if folded(text) != text:
        assert folded(f" «{text}! ") == folded(text)


@given(TEXTS, TEXTS)
def test_placeholders_differ_both_ways_alike(source: str, target: str) -> None:
    assert difference(source, target) == tuple(reversed(difference(target, source)))
    assert difference(source, source) == ([], [])
