"""Statements about the readers that hold for any bytes: units in = records out, right places, no crash."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch
from xml.sax.saxutils import escape

import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassformer.data.readers import aligned, gettext, json_lines, tables, tmx
from glassformer.data.readers.inputs import Input, read_pairs
from glassformer.data.readers.lines import SEPARATORS, Line, lines_of
from glassformer.data.readers.opening import blocks_of
from glassformer.data.readers.records import Problem, Record
from glassformer.errors import DataError

FRAGMENTS = [b"\n", b"\r\n", b"\r", b"\t", b" ", b"a", b"word", "ü".encode(), "\u2028".encode(), b"\xc2\x85", b"\x0b"]
FRAGMENTS += [b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", "😀".encode(), b"\xf0\x9f", b"\xef\xbb\xbf"]
MARKS = [b'"', b",", b";", b"\\", b"[", b"]", b"{", b"}", b":", b"null", b'"\\ud800"', b'{"en":"a","de":"b"}']
MARKS += [b"#", b"#~ ", b"#, fuzzy", b"msgid ", b"msgstr ", b"msgstr[1] ", b"msgid_plural ", b"msgctxt "]
MARKS += [b"<", b">", b"<tmx>", b"</tmx>", b"<tu>", b"</tu>", b"</tuv>", b"<seg>", b"</seg>", b"<!--", b"]]>", b"&x;"]
MARKS += [b"&#0;", b'<tuv xml:lang="en">', b'<tuv lang="de">', b"<!DOCTYPE tmx [", b"<ph>", b"</ph>"]
BYTES = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(b"".join), st.binary(max_size=60))
MARKED = st.lists(st.sampled_from(FRAGMENTS + MARKS), max_size=40).map(b"".join)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
SENTENCE = TEXT.filter(lambda text: bool(text.strip()))
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=8)
NAME = {"tsv": "x.tsv", "csv": "x.csv", "jsonl": "x.jsonl", "po": "x.po", "tmx": "x.tmx"}
PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
READERS = (aligned, tables, json_lines, gettext, tmx)


def records_of(kind: str, *contents: bytes, cut: int | None = None) -> tuple[list[Record], str | None]:
    """What is read of files with these bytes, and the error that ended it; `cut`: blocks of so many bytes."""
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as folder, patched_blocks(cut):
        names = [NAME.get(kind, f"x.{i}") for i in range(len(contents))]
        paths = tuple(Path(folder) / name for name in names)
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        try:
            for record in read_pairs([Input(paths, kind)]):
                records.append(record)  # what came before an error counts
        except DataError as error:
            return records, str(error).replace(folder, "")
    return records, None


class patched_blocks:
    """While it lasts, files come in blocks of `size` bytes."""

    def __init__(self, size: int | None) -> None:
        self.patches = [patch.object(module, "blocks_of", self.small(size)) for module in READERS] if size else []

    def small(self, size: int) -> Callable[..., Iterator[bytes]]:
        def blocks(path: Path, **_: object) -> Iterator[bytes]:
            data = b"".join(blocks_of(path))
            first = max(4, size)  # the parser of XML wants the mark of the encoding in one piece, as it always is
            cuts = [0, *range(first, len(data), size), len(data)]
            return (data[start:end] for start, end in pairwise(cuts) if data)

        return blocks

    def __enter__(self) -> None:
        for one in self.patches:
            one.start()

    def __exit__(self, *_: object) -> None:
        for one in self.patches:
            one.stop()


def plain(records: list[Record]) -> list[tuple[object, ...]]:
    """Records without the folder of their files."""
    return [
        (r.source, r.target, r.place.number, r.place.byte, r.problem and told(r.problem), [told(n) for n in r.notes])
        for r in records
    ]


def told(problem: Problem) -> tuple[str, int, int]:
    return problem.kind, problem.place.number, problem.place.byte


def raw_lines(data: bytes) -> list[tuple[int, bytes]]:
    """The lines of a file by definition: byte where each begins, and its bytes."""
    body = data.removeprefix(b"\xef\xbb\xbf")
    start, found = len(data) - len(body), []
    for line in body.split(b"\n"):
        found.append((start, line))
        start += len(line) + 1
    return found[:-1] if found[-1][1] == b"" else found


def expected_line(start: int, raw: bytes) -> tuple[str | None, int, str | None]:
    text = raw.removesuffix(b"\r")
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return None, start, "encoding"
    return decoded, start, "nul" if "\0" in decoded else None


def simple_line(line: Line) -> tuple[str | None, int, str | None]:
    text, start, oddities = line
    problem = next((one.kind for one in oddities if one.kind in ("encoding", "nul", "too big")), None)
    return None if problem == "encoding" else text, start, problem


@given(BYTES, st.integers(1, 9))
@example(b"a\r\r\nb\r", 1)
@example(b"\xef\xbb\xbf\n\xef\xbb\xbf", 2)
@settings(deadline=None)
def test_lines_are_what_stands_between_line_feeds_wherever_a_block_ends(data: bytes, size: int) -> None:
    blocks = [data[i : i + size] for i in range(0, len(data), size)]
    try:
        lines = list(lines_of(blocks, Path("x")))
    except DataError:
        assert data.count(0) > 3 or data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))  # taken for UTF-16
        return
    assert [simple_line(line) for line in lines] == [expected_line(*line) for line in raw_lines(data)]
    for _, _, oddities in lines:
        for problem in oddities:
            check_place(problem, data)


@given(BYTES)
@settings(deadline=None, max_examples=40)
def test_a_cut_at_any_position_changes_no_line(data: bytes) -> None:
    def read(*blocks: bytes) -> list[Line] | str:
        try:
            return list(lines_of([block for block in blocks if block], Path("x")))
        except DataError as error:
            return str(error)

    whole = read(data)
    assert all(read(data[:cut], data[cut:]) == whole for cut in range(len(data) + 1))


def check_place(problem: Problem, data: bytes) -> None:
    """The byte of a problem is the byte that it speaks of."""
    here, byte = data[problem.place.byte :], problem.place.byte
    if problem.kind == "encoding" and "got byte" in problem.detail:
        assert f"0x{here[0]:02x}" in problem.detail
        start = data.rfind(b"\n", 0, byte) + 1
        data[start:byte].decode()  # all before it is fine
    elif problem.kind == "nul" and "UTF-16" in problem.detail:
        assert here[:1] == b"\0"
    elif problem.kind == "separator":
        assert any(here.startswith(sign.encode()) and f"U+{ord(sign):04X}" in problem.detail for sign in SEPARATORS)
    elif problem.kind == "bom":
        assert (byte, here[:3]) == (0, b"\xef\xbb\xbf")
    assert problem.place.unit != "line" or problem.place.number == data[:byte].count(b"\n") + 1


@given(BYTES, BYTES)
@settings(deadline=None)
def test_aligned_files_give_as_many_records_as_the_longer_one_has_lines(left: bytes, right: bytes) -> None:
    records, error = records_of("aligned", left, right)
    longer = max(len(raw_lines(left)), len(raw_lines(right)))
    if error is None:
        assert len(records) == longer > 0
    else:
        assert ("no sentence" in error) == (longer == 0)  # or taken for UTF-16, a packed file, a document
    for number, record in enumerate(records, 1):
        assert record.place.number == number
        for problem in (record.problem, *record.notes):
            if problem is not None:
                check_place(problem, left if problem.place.file.endswith("x.0") else right)


@pytest.mark.parametrize("kind", ["tsv", "jsonl"])
@given(st.one_of(BYTES, MARKED))
@settings(deadline=None)
def test_a_file_of_lines_gives_as_many_records_as_lines(kind: str, data: bytes) -> None:
    records, error = records_of(kind, data)
    starts = [start for start, _ in raw_lines(data)]
    assert [record.place.byte for record in records] == starts[: len(records)]
    assert error is not None or len(records) == len(starts)
    for record in records:
        for problem in (record.problem, *record.notes):
            if problem is not None and (problem.kind != "separator" or kind == "tsv"):
                check_place(problem, data)


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "po", "tmx"])
@given(st.one_of(BYTES, MARKED), st.integers(1, 7))
@settings(deadline=None)
def test_nothing_but_a_data_error_comes_of_any_bytes_in_any_blocks(kind: str, data: bytes, size: int) -> None:
    records, error = records_of(kind, data)
    again, same = records_of(kind, data, cut=size)
    assert plain(records) == plain(again)
    assert error == same
    for record in records:
        assert record.problem is not None or (record.source.strip() and record.target.strip())
        (record.source + record.target).encode()  # can be written
        assert record.place.byte <= len(data)


GOOD = {
    "tsv": b"src\ttgt\nHello\tHallo\nyes\tja\tmore\n",
    "csv": b'en,de\n"Hello, you","Hallo\ndu"\nyes,ja\n',
    "jsonl": b'{"en": "Hello", "de": "Hallo"}\n{"en": "yes", "de": "ja \\u00fc"}\n',
    "po": b'#, fuzzy\nmsgid ""\nmsgstr "charset=UTF-8\\n"\n\nmsgctxt "c"\nmsgid "one"\nmsgid_plural "two"\n'
    b'msgstr[0] "eins"\nmsgstr[1] "zwei\\t\\303\\274"\n\n#~ msgid "a"\n#~ msgstr "b"\n',
    "tmx": b'<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><header srclang="en"/><body>'
    b'<tu><tuv xml:lang="en-US"><seg>A <ph>x</ph>b &amp; c</seg></tuv><tuv xml:lang="de"><seg>B</seg></tuv></tu>'
    b'<tu><tuv xml:lang="en"><seg>c</seg></tuv><tuv xml:lang="de"><seg><hi>d</hi></seg></tuv></tu></body></tmx>',
}
CHANGES = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 12), st.one_of(st.sampled_from(FRAGMENTS + MARKS), st.just(b""))),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("kind", list(GOOD))
@given(CHANGES, st.integers(1, 7))
@settings(deadline=None)
def test_a_good_file_that_was_damaged_gives_records_or_a_data_error(
    kind: str, changes: list[tuple[int, int, bytes]], size: int
) -> None:
    data = GOOD[kind]
    for at, removed, put in changes:
        at %= len(data) + 1
        data = data[:at] + put + data[at + removed :]
    records, error = records_of(kind, data)
    again, same = records_of(kind, data, cut=size)
    assert (plain(records), error) == (plain(again), same)
    for record in records:
        (record.source + record.target).encode()
        for problem in (record.problem, *record.notes):
            if problem is not None and kind != "tmx" and (problem.kind != "separator" or kind == "tsv"):
                check_place(problem, data)


@pytest.mark.parametrize("kind", ["jsonl", "po", "csv"])
@given(MARKED)
@settings(deadline=None)
def test_units_stand_in_order_and_none_comes_twice(kind: str, data: bytes) -> None:
    records, _ = records_of(kind, data)
    places = [(record.place.number, record.place.byte) for record in records]
    assert places == sorted(places)
    assert [number for number in dict.fromkeys(n for n, _ in places)] == list(range(1, len(dict(places)) + 1))


@given(st.one_of(BYTES, MARKED), st.sampled_from(list(PACK)), st.sampled_from(["tsv", "csv", "jsonl", "po", "tmx"]))
@settings(deadline=None)
def test_a_packed_file_reads_as_the_plain_one(data: bytes, suffix: str, kind: str) -> None:
    records, error = records_of(kind, data)
    packed, other = records_of(kind, PACK[suffix](data))  # the magic bytes tell, whatever the name
    assert plain(packed) == plain(records)
    assert other == error or (other and "twice" in other and error)


# Files that were written as they should be come back as they were.


def no_line_end(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ").replace("\t", " ").strip() or "x"


@given(PAIRS)
@settings(deadline=None)
def test_a_tsv_comes_back(pairs: list[tuple[str, str]]) -> None:
    pairs = [("Hello there", "Hallo du"), *((no_line_end(a), no_line_end(b)) for a, b in pairs)]
    records, error = records_of("tsv", "".join(f"{a}\t{b}\n" for a, b in pairs).encode())
    assert error is None
    assert [(record.source, record.target) for record in records] == pairs


@given(PAIRS, st.sampled_from([",", ";", "\t"]))
@settings(deadline=None)
def test_a_csv_comes_back_with_its_newlines_and_places(pairs: list[tuple[str, str]], delimiter: str) -> None:
    pairs = [("Hello there", "Hallo du"), *((a.replace("\r", ""), b.replace("\r", "")) for a, b in pairs)]
    out, starts = io.StringIO(newline=""), []
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in pairs:
        starts.append(len(out.getvalue().encode()))
        writer.writerow(row)
    records, error = records_of("csv", out.getvalue().encode())
    assert error is None
    assert [record.place.byte for record in records] == starts
    assert [(record.source, record.target) for record in records] == [(a.strip(), b.strip()) for a, b in pairs]


SHAPES: list[Callable[[str, str], object]] = [
    lambda a, b: {"source": a, "target": b},
    lambda a, b: {"id": 7, "en": a, "de": b},
    lambda a, b: {"translation": {"en": a, "de": b}},
    lambda a, b: [a, b],
]


@given(PAIRS, st.sampled_from(SHAPES), st.booleans())
@settings(deadline=None)
def test_json_lines_come_back(pairs: list[tuple[str, str]], shape: Callable[[str, str], object], ascii: bool) -> None:
    data = "".join(json.dumps(shape(a, b), ensure_ascii=ascii) + "\n" for a, b in pairs).encode()
    records, error = records_of("jsonl", data)
    assert error is None
    assert [(record.source, record.target) for record in records] == [(a.strip(), b.strip()) for a, b in pairs]
    assert [record.place.byte for record in records] == [start for start, _ in raw_lines(data)]


def po_string(text: str) -> str:
    for sign, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", '\\n"\n"'), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(sign, escaped)
    return f'"{text}"'


@given(PAIRS)
@settings(deadline=None)
def test_po_entries_come_back(pairs: list[tuple[str, str]]) -> None:
    data = "".join(f"#: place\nmsgid {po_string(a)}\nmsgstr {po_string(b)}\n\n" for a, b in pairs).encode()
    records, error = records_of("po", data)
    assert error is None
    assert [(record.source, record.target) for record in records] == [(a.strip(), b.strip()) for a, b in pairs]
    assert all(data[record.place.byte :].startswith(b"msgid") for record in records)


XML = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=12).filter(lambda text: bool(text.strip()))


@given(st.lists(st.tuples(XML, XML), min_size=1, max_size=6), st.sampled_from(["utf-8", "utf-16", "utf-16-le"]))
@settings(deadline=None)
def test_tmx_units_come_back(pairs: list[tuple[str, str]], encoding: str) -> None:
    variant = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = [f"<tu>{variant.format('de', escape(b))}{variant.format('en', escape(a))}</tu>" for a, b in pairs]
    declared = "utf-8" if encoding == "utf-8" else "utf-16"
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    text = f'{mark}<?xml version="1.0" encoding="{declared}"?><tmx><header srclang="en"/>{"".join(units)}</tmx>'
    data = text.encode(encoding)
    records, error = records_of("tmx", data)
    assert error is None
    assert [(record.source, record.target) for record in records] == [(a.strip(), b.strip()) for a, b in pairs]
    tag = "<tu>".encode("utf-16-le" if declared == "utf-16" else "utf-8")
    assert all(data[record.place.byte :].startswith(tag) for record in records)
