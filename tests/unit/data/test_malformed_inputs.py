"""Everything that can be wrong with a file is told, in one line or as problems with their places; nothing crashes."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import socket
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import zstandard

from glassformer.data.readers.inputs import gather, read_pairs
from glassformer.data.readers.records import Record
from glassformer.errors import DataError

GOOD = b"Hello there\tHallo du\n"
LONG = 1 << 20
Builder = Callable[[Path], None]


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def content(data: bytes) -> Builder:
    return lambda path: path.write_bytes(data) and None


def text_of(lines: int) -> bytes:
    """Rows that do not pack away to nothing."""
    random = Random(7)
    return b"".join(b"%d\t%s\n" % (i * 7919, random.randbytes(12).hex().encode()) for i in range(lines))


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def huge_line(path: Path) -> None:
    with path.open("wb") as file:
        file.write(GOOD)
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + GOOD)


def loop(path: Path) -> None:
    path.symlink_to(path)


def tmx(body: str, *, before: str = "", after: str = "</body></tmx>") -> bytes:
    return f'{before}<tmx version="1.4"><header srclang="en"/><body>{body}{after}'.encode()


def unit(**texts: str) -> str:
    variant = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    return f"<tu>{''.join(variant.format(*item) for item in texts.items())}</tu>"


@cache
def packed_zeros(pack: Callable[[bytes], bytes]) -> bytes:
    return pack(bytes(90 << 20))


def bomb(pack: Callable[[bytes], bytes]) -> Builder:
    """A few KB that unpack to 90 MB."""
    return lambda path: path.write_bytes(packed_zeros(pack)) and None


UNIT = unit(en="Hello", de="Hallo")
BOMB = '<!DOCTYPE tmx [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
PO = b'msgid "one"\nmsgstr "eins"\n\n'
HEADER = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=%s\\n"\n\n'
JSON = b'{"source": "a", "target": "b"}\n'
ROWS = text_of(2000)

# name of the file, how it is made, and what must come of it: a piece of the error, or the problems of all records.
TABLE: list[tuple[str, Builder, str | list[str | None]]] = [
    # what is no file
    ("folder.tsv", Path.mkdir, "is a folder; give its files"),
    ("fifo.tsv", fifo, "is a pipe; a regular file is needed because it is read more than once"),
    ("socket.tsv", unix_socket, "is a socket"),
    ("missing.tsv", lambda _: None, "no such file"),
    ("loop.tsv", loop, "not a usable file name"),
    ("x" * 300 + ".tsv", lambda _: None, "too long"),
    ("nul\0.tsv", lambda _: None, "NUL"),
    # nothing in it
    ("empty.tsv", content(b""), "no sentences found"),
    ("bom.tsv", content(b"\xef\xbb\xbf"), "no sentences found"),
    ("newlines.tsv", content(b"\n\n\n"), ["blank"] * 3),
    ("spaces.tsv", content(b" \t \n\t\n"), ["blank"] * 2),
    # not UTF-8
    ("utf16.tsv", content("Hallo\tdu\n".encode("utf-16")), "looks like UTF-16"),
    ("utf16be.tsv", content(b"\xfe\xff" + "Hallo\tdu\n".encode("utf-16-be")), "looks like UTF-16"),
    ("no-mark-le.tsv", content("Hallo\tdu\n".encode("utf-16-le")), "iconv -f UTF-16LE -t UTF-8"),
    ("no-mark-be.tsv", content("Hallo\tdu\n".encode("utf-16-be")), "iconv -f UTF-16BE -t UTF-8"),
    ("russian.tsv", content("Где мы? Где ты?\tДа, нет, да.\n".encode("utf-16-le")), "looks like UTF-16LE"),
    ("utf32.tsv", content("Hallo\tdu\n".encode("utf-32")), "looks like UTF-32"),
    ("utf32le.tsv", content("Hallo\tdu\n".encode("utf-32-le")), "looks like UTF-32LE"),
    ("utf32be.tsv", content("Hallo\tdu\n".encode("utf-32-be")), "looks like UTF-32BE"),
    ("utf16.tsv.gz", content(gzip.compress("Hallo\tdu\n".encode("utf-16"))), "zcat"),
    ("first.tsv", content(b"\xffa\tb\n" + GOOD), ["encoding", None]),
    ("last.tsv", content(GOOD + b"a\tb\xc3"), [None, "encoding"]),
    ("middle.tsv", content(GOOD + b"f\xfcr\tpour\n" + GOOD), [None, "encoding", None]),
    ("overlong.tsv", content(GOOD + b"\xc0\xaf\tb\n"), [None, "encoding"]),
    ("surrogate.tsv", content(GOOD + b"\xed\xa0\x80\tb\n"), [None, "encoding"]),
    ("beyond.tsv", content(GOOD + b"\xf4\x90\x80\x80\tb\n"), [None, "encoding"]),
    ("cut-character.tsv", content(GOOD + "ü".encode()[:1] + b"\n"), [None, "encoding"]),
    ("nul.tsv", content(GOOD + b"a\0b\tc\n" + GOOD), [None, "nul", None]),
    ("only-nuls.tsv", content(b"\0" * 5000), "does not look like a TSV"),
    ("nuls.tsv", content(b"\0" * 5000 + b"\n" + GOOD), ["nul", None]),
    # too big
    ("huge-line.tsv", huge_line, [None, "too big", None]),
    ("just-fits.tsv", content(b"a\t" + b"x" * (LONG - 2) + b"\n"), [None]),
    ("just-too-big.tsv", content(b"a\t" + b"x" * (LONG - 1) + b"\n" + GOOD), ["too big", None]),
    # packed
    ("cut.tsv.gz", content(gzip.compress(ROWS)[:9000]), "cut off after"),
    ("cut.tsv.xz", content(lzma.compress(ROWS)[:9000]), "cut off after"),
    ("cut.tsv.bz2", content(bz2.compress(ROWS)[:9000]), "cut off after"),
    ("cut.tsv.zst", content(zstd(ROWS)[:9000]), "cut off after"),
    ("no-end.tsv.gz", content(gzip.compress(ROWS)[:-4]), "cut off after"),
    ("wrong-sum.tsv.gz", content(gzip.compress(ROWS)[:-8] + bytes(8)), "damaged after"),
    (
        "damaged.tsv.gz",
        content(gzip.compress(ROWS)[:5000] + b"\xff" * 50 + gzip.compress(ROWS)[5050:]),
        "damaged after",
    ),
    (
        "damaged.tsv.xz",
        content(lzma.compress(ROWS)[:5000] + b"\xff" * 50 + lzma.compress(ROWS)[5050:]),
        "damaged after",
    ),
    ("damaged.tsv.zst", content(zstd(ROWS)[:5000] + bytes(50) + zstd(ROWS)[5050:]), "damaged after"),
    ("garbage.tsv.gz", content(gzip.compress(GOOD) + b"garbage"), "other data follows the end of the gzip data"),
    ("garbage.tsv.bz2", content(bz2.compress(GOOD) + b"garbage"), "other data follows the end of the bzip2 data"),
    ("padded.tsv.gz", content(gzip.compress(GOOD) + bytes(512)), [None]),
    ("members.tsv.gz", content(gzip.compress(GOOD) * 3), [None] * 3),
    ("frames.tsv.zst", content(zstd(GOOD) * 3), [None] * 3),
    ("bomb.tsv.gz", bomb(gzip.compress), "times as much"),
    ("bomb.tsv.bz2", bomb(bz2.compress), "times as much"),
    ("bomb.tsv.xz", bomb(lambda data: lzma.compress(data, preset=0)), "times as much"),
    ("bomb.tsv.zst", bomb(zstd), "times as much"),
    ("plain.tsv.gz", content(GOOD), "named .gz, but it is not packed"),
    ("plain.tsv.zst", content(GOOD), "named .zst, but it is not packed"),
    ("other.tsv.gz", content(lzma.compress(GOOD)), "named .gz, but it is packed by xz"),
    ("empty.tsv.xz", content(b""), "named .xz, but it is empty"),
    ("twice.tsv.gz", content(gzip.compress(gzip.compress(GOOD))), "compressed twice"),
    ("zip.tsv", content(b"PK\x03\x04" + bytes(100)), "zip archive"),
    ("seven.tsv", content(b"7z\xbc\xaf\x27\x1c" + bytes(100)), "7z archive"),
    ("rar.tsv", content(b"Rar!\x1a\x07\0" + bytes(100)), "rar archive"),
    ("document.tsv", content(b"%PDF-1.7\n" + bytes(100)), "a PDF document"),
    ("old-office.tsv", content(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100)), "an office document"),
    ("tar.tsv", content(b"name".ljust(257, b"\0") + b"ustar\0" + bytes(300)), "a tar archive"),
    ("tar.tsv.gz", content(gzip.compress(b"name".ljust(257, b"\0") + b"ustar\0" + bytes(300))), "a tar archive"),
    # tables
    ("no-tabs.tsv", content(b"one\ntwo\n"), "does not look like a TSV"),
    ("thousands.tsv", content(b"no tab\n" * 5000), "none of its first 1,000 rows has 2 columns"),
    ("short-row.tsv", content(GOOD + b"alone\n\n" + GOOD), [None, "columns", "blank", None]),
    ("one-side.tsv", content(b"\tHallo\nHello\t \n" + GOOD), ["blank", "blank", None]),
    ("quotes.tsv", content(b'"Hello\tHallo"\n' + GOOD), [None, None]),
    ("unclosed.csv", content(b'a,b\nc,d\n"open,x\ny,z\n'), "row 3 (line 3, byte 8): a quote opens"),
    ("unclosed-late.csv", content(b'a,b\n"two\nlines",d\n"open'), "row 3 (line 4, byte 18): a quote opens"),
    ("mended.csv", content(b'"a,b\n"c","d"\n'), "row 1 (line 1, byte 0): a quote opens"),
    ("stray-quote.csv", content(b'a,b\n"x"y,z\nc,d\n'), [None, "syntax", None]),
    ("huge-cell.csv", content(b"a,b\n" + b"x" * 200_000 + b",y\nc,d\n"), [None, "too big", None]),
    ("bad-bytes.csv", content(b'a,b\n"x\xff\ny",z\nc,d\n'), [None, "encoding", None]),
    ("no-comma.csv", content(b"one\ntwo\n"), "does not look like a CSV"),
    # JSON lines
    ("garbage.jsonl", content(JSON + b"garbage\n" + JSON), [None, "json", None]),
    ("all-garbage.jsonl", content(b"garbage\nmore\n"), "does not look like JSON lines"),
    ("one-document.jsonl", content(b'[\n "a",\n "b"\n]\n'), "does not look like JSON lines"),
    ("number.jsonl", content(JSON + b"5\nnull\ntrue\n" + b'"text"\n'), [None, *["json"] * 4]),
    ("array.jsonl", content(JSON + b'["a", "b"]\n'), [None, "json"]),
    ("deep.jsonl", content(JSON + b"[" * 500_000 + b"\n" + JSON), [None, "json", None]),
    ("deep-object.jsonl", content(JSON + b'{"a":' * 100_000 + b"\n" + JSON), [None, "json", None]),
    ("digits.jsonl", content(JSON + b"9" * 10_000 + b"\n"), [None, "json"]),
    ("types.jsonl", content(JSON + b'{"source": 1, "target": "b"}\n{"source": "a"}\n'), [None, "json", "json"]),
    ("half.jsonl", content(JSON + b'{"source": "\\ud83d", "target": "b"}\n'), [None, "encoding"]),
    ("escaped-nul.jsonl", content(JSON + b'{"source": "\\u0000", "target": "b"}\n'), [None, "nul"]),
    ("unclear.jsonl", content(b'{"en": "a", "de": "b", "fr": "c"}\n'), "3 languages (en, de, fr)"),
    ("unknown.jsonl", content(b'{"question": "a", "answer": "b"}\n'), "choose two keys with --columns"),
    # gettext
    ("open.po", content(PO + b'msgid "open\nmsgstr "auf"\n\n' + PO), [None, "syntax", None]),
    ("escape.po", content(PO + b'msgid "\\q"\nmsgstr "q"\n'), [None, "syntax"]),
    ("no-string.po", content(PO + b"msgid\nmsgstr\n\n" + PO), [None, "syntax", None]),
    ("no-msgstr.po", content(b'msgid "one"\n\n' + PO), ["syntax", None]),
    ("no-msgid.po", content(b'msgstr "eins"\n\n' + PO), ["syntax", None]),
    ("bare-string.po", content(b'"lost"\n\n' + PO), ["syntax", None]),
    ("latin1.po", content(HEADER % b"ISO-8859-1" + PO), "msgconv --to-code=UTF-8"),
    ("bad-bytes.po", content(HEADER % b"UTF-8" + b'msgid "f\xfcr"\nmsgstr "x"\n\n' + PO), ["header", "encoding", None]),
    ("octal-nul.po", content(PO + b'msgid "a\\000b"\nmsgstr "x"\n'), [None, "nul"]),
    ("prose.po", content(b"This is\nno .po file.\n\nNot at all.\n"), ["syntax", "syntax"]),
    # TMX
    ("cut.tmx", content(tmx(UNIT * 3, after="<tu><tuv")), "cut off after 3 complete units, at line 1, byte"),
    ("bomb.tmx", content(tmx(unit(en="&c;", de="x"), before=BOMB)), "declares an entity ('a')"),
    (
        "external.tmx",
        content(tmx(UNIT, before='<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>')),
        "declares an entity ('x')",
    ),
    ("parameter.tmx", content(tmx(UNIT, before='<!DOCTYPE tmx [<!ENTITY % x "y">]>')), "declares an entity ('x')"),
    ("doctype.tmx", content(tmx(UNIT, before='<!DOCTYPE tmx SYSTEM "http://127.0.0.1:9/tmx14.dtd">')), [None]),
    ("undefined.tmx", content(tmx(unit(en="a&nbsp;b", de="x") + UNIT)), "not well-formed (undefined entity)"),
    (
        "skipped.tmx",
        content(tmx(unit(en="a&nbsp;b", de="x") + UNIT, before='<!DOCTYPE tmx SYSTEM "tmx14.dtd">')),
        ["syntax", None],
    ),
    ("page.tmx", content(b"<html><body>Not found</body></html>"), "its root is <html>, not <tmx>"),
    ("prose.tmx", content(b"This is no TMX.\n"), "not well-formed (syntax error) after 0 complete units"),
    ("no-unit.tmx", content(tmx("")), "no sentences found"),
    ("no-language.tmx", content(tmx("<tu><tuv><seg>a</seg></tuv></tu>")), "found: none"),
    ("one-language.tmx", content(tmx(unit(en="a") * 3)), "1 languages, a pair has two; found: en"),
    ("three.tmx", content(tmx(unit(en="a", de="b", fr="c"))), "3 languages, a pair has two; found: en, de, fr"),
    ("lacking.tmx", content(tmx(UNIT + unit(en="a") + unit(de="b"))), [None, "language", "language"]),
    ("deep.tmx", content(b"<tmx>" + b"<tu>" * 100_000), "over 200 nested elements"),
    ("comment.tmx", content(b"<tmx><!--" + b"x" * (6 << 20)), "a tag or comment of over 4 MB"),
    ("huge-unit.tmx", content(tmx(unit(en="x" * 3_000_000, de="y") + UNIT)), ["too big", None]),
    ("bad-bytes.tmx", content(tmx(UNIT).replace(b"Hallo", b"H\xfcllo")), "not well-formed (invalid token)"),
    ("encoding.tmx", content(tmx(UNIT, before='<?xml version="1.0" encoding="nonsense"?>')), "encoding cannot be read"),
    ("gbk.tmx", content(tmx(UNIT, before='<?xml version="1.0" encoding="gbk"?>')), "encoding cannot be read"),
    ("not-utf16.tmx", content(tmx(UNIT, before='<?xml version="1.0" encoding="utf-16"?>')), "not well-formed"),
    ("junk.tmx", content(tmx(UNIT) + b"<more/>"), "junk after document element) after 1 complete units"),
]


def read(path: Path) -> Iterator[Record]:
    yield from read_pairs(gather([str(path)]))


def raw(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None
    except (OSError, ValueError):
        return None


@pytest.mark.parametrize(("name", "build", "expected"), TABLE, ids=[name.strip("x\0")[:30] for name, _, _ in TABLE])
def test_a_malformed_input_is_reported_and_left_unchanged(
    tmp_path: Path, name: str, build: Builder, expected: str | list[str | None]
) -> None:
    path = tmp_path / name
    build(path)
    before = raw(path)
    if isinstance(expected, str):
        with pytest.raises(DataError) as caught:
            list(read(path))
        assert expected in str(caught.value)
        assert "\n" not in str(caught.value)
        assert str(path)[:20] in str(caught.value)
    else:
        records = list(read(path))
        assert [record.problem and record.problem.kind for record in records] == expected
        assert all(record.problem.place.file == str(path) for record in records if record.problem)
    assert raw(path) == before


@pytest.mark.parametrize("verb", ["doctor", "clean", "train"])
@pytest.mark.parametrize(("name", "build", "expected"), TABLE, ids=[name.strip("x\0")[:30] for name, _, _ in TABLE])
def test_the_command_line_reports_it_too(
    tmp_path: Path, name: str, build: Builder, expected: str | list[str | None], verb: str, command: Callable[..., Any]
) -> None:
    path = tmp_path / name
    build(path)
    before, out = raw(path), tmp_path / "out" / "new.tsv"
    options = {"doctor": [path, "--json"], "clean": [path, "--out", out], "train": ["--pairs", path, "--forecast"]}
    if verb == "train" and not isinstance(expected, str) and None in expected:
        pytest.skip("usable sentences in it: training is another test's business")
    outcome = command(verb, *options[verb])
    assert outcome.code == (2 if isinstance(expected, str) or verb == "train" else 0), outcome
    if outcome.code:
        told = [line for line in outcome.err.removesuffix("\n").split("\n") if not line.startswith("·")]
        assert len(told) == 1
        assert told[0].startswith("glassformer: ")
        assert not out.exists()
    elif verb == "doctor":
        assert json.loads(outcome.out)["units"] == len(expected)
    assert raw(path) == before


def test_the_size_of_a_line_that_is_too_big_is_reported(tmp_path: Path) -> None:
    huge_line(tmp_path / "huge.tsv")
    problem = [record.problem for record in read(tmp_path / "huge.tsv")][1]
    assert problem is not None
    assert "100,000,000 bytes" in problem.detail
    assert (problem.place.number, problem.place.byte) == (2, len(GOOD))


def test_a_file_without_read_permission_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.tsv").write_bytes(GOOD)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything
    with pytest.raises(DataError, match=r"x\.tsv: not readable"):
        list(read(tmp_path / "x.tsv"))


def test_a_failing_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.tsv").write_bytes(GOOD)

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(DataError, match=r"cannot be read: input/output error"):
        list(read(tmp_path / "x.tsv"))


def test_the_table_is_long() -> None:
    assert len(TABLE) > 100
    assert len({name for name, _, _ in TABLE}) == len(TABLE)
