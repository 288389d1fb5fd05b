"""Lines from blocks: where they end, where they begin, what is odd about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.data.readers.lines import MAX_LINE, Line, count_lines, lines_of
from glassformer.errors import DataError

FILE = Path("corpus.en")


def read(*blocks: bytes) -> list[Line]:
    return list(lines_of(blocks, FILE))


def kinds(*blocks: bytes) -> list[list[str]]:
    return [[odd.kind for odd in oddities] for _, _, oddities in read(*blocks)]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [("", 0)]),
        (b"a", [("a", 0)]),
        (b"a\n", [("a", 0)]),
        (b"a\n\n", [("a", 0), ("", 2)]),
        (b"a\r\nb\r\n", [("a", 0), ("b", 3)]),
        (b"a\r\nb\r", [("a", 0), ("b", 3)]),
        (b"a\r\r\nb", [("a\r", 0), ("b", 4)]),
        ("ü\né".encode(), [("ü", 0), ("é", 3)]),
        (b"a\x0bb\x0cc\x1cd", [("a\x0bb\x0cc\x1cd", 0)]),
        ("a\u2028b\u2029c\x85d\n".encode(), [("a\u2028b\u2029c\x85d", 0)]),
    ],
)
def test_only_a_line_feed_ends_a_line_and_each_knows_its_byte(data: bytes, lines: list[tuple[str, int]]) -> None:
    assert [(text, byte) for text, byte, _ in read(data)] == lines
    assert [(text, byte) for text, byte, _ in read(*(data[i : i + 1] for i in range(len(data))))] == lines


def test_clean_lines_have_nothing_odd() -> None:
    assert kinds("Ein Satz.\r\nNoch einer: äöü, 你好, 😀\n\n".encode()) == [[], [], []]


@pytest.mark.parametrize(
    ("line", "kind", "at"),
    [
        (b"ab\xffcd", "encoding", 2),
        ("ü".encode() + b"\xc3", "encoding", 2),
        (b"a\xed\xb0\x80", "encoding", 1),
        (b"\xe4\xb8", "encoding", 0),
        (b"a\0b", "nul", 1),
        ("ü\0".encode(), "nul", 2),
        ("äb\u2028c".encode(), "separator", 3),
        (b"a\rb", "separator", 1),
        (b"a\x0cb\x0bc", "separator", 1),
    ],
)
def test_oddities_are_reported_with_line_and_byte(line: bytes, kind: str, at: int) -> None:
    before = "Gut: ä\n".encode()
    _, (_, start, (odd,)), (last, _, clean) = read(before + line + b"\nlast")
    assert (odd.kind, odd.place.number, odd.place.byte) == (kind, 2, start + at)
    assert str(odd.place) == f"corpus.en, line 2, byte {start + at}"
    assert (last, clean) == ("last", ())


def test_a_bad_byte_is_named_and_the_rest_of_the_line_can_be_shown() -> None:
    ((text, _, (odd,)),) = read(b"f\xfcr")
    assert text == "f\ufffdr"
    assert odd.detail == "not UTF-8 (got byte 0xfc)"


def test_a_byte_order_mark_is_dropped_with_a_note() -> None:
    lines = read(b"\xef", b"\xbb\xbfone\ntwo")
    assert [(text, byte) for text, byte, _ in lines] == [("one", 3), ("two", 7)]
    assert [[(odd.kind, odd.place.byte) for odd in oddities] for _, _, oddities in lines] == [[("bom", 0)], []]


def test_a_byte_order_mark_before_a_bad_line_hides_nothing() -> None:
    assert kinds(b"\xef\xbb\xbf\xff\na") == [["bom", "encoding"], []]
    assert kinds(b"\xef\xbb\xbf" + b"x" * (MAX_LINE + 1)) == [["bom", "too big"]]


def test_a_line_that_is_too_big_is_let_go_and_measured() -> None:
    def blocks() -> Iterator[bytes]:
        yield b"first\nx"
        for _ in range(50):
            yield b"x" * 100_000
        yield b"x\nlast"

    lines = list(lines_of(blocks(), FILE))
    assert [(text, byte) for text, byte, _ in lines] == [("first", 0), ("", 6), ("last", 6 + 5_000_003)]
    (odd,) = lines[1][2]
    assert (odd.kind, odd.place.number, odd.place.byte) == ("too big", 2, 6)
    assert "5,000,002 bytes" in odd.detail


@pytest.mark.parametrize("size", [MAX_LINE, MAX_LINE + 1])
@pytest.mark.parametrize("block", [1 << 16, 1 << 20, 1 << 22])
@pytest.mark.parametrize("end", [b"", b"\n", b"\nmore\n"])
def test_how_big_is_too_big_does_not_depend_on_the_blocks(size: int, block: int, end: bytes) -> None:
    data = b"x" * size + end
    lines = read(*(data[i : i + block] for i in range(0, len(data), block)))
    assert [bool(oddities) for _, _, oddities in lines][:1] == [size > MAX_LINE]
    assert len(lines) == 1 + (end == b"\nmore\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["Guten Tag\nwie geht es?\n", "Größe und Übermaß\n"])
def test_wide_encodings_are_refused_with_the_command_that_converts_them(encoding: str, text: str) -> None:
    with pytest.raises(DataError) as caught:
        read(text.encode(encoding))
    name = encoding.upper().replace("-LE", "LE").replace("-BE", "BE")
    assert f"looks like {name}" in str(caught.value)
    assert f"iconv -f {name} -t UTF-8 corpus.en > NEW_FILE" in str(caught.value)


@pytest.mark.parametrize("data", [b"a\0b\n" * 3, b"\0\0\0\0\0\0\0\0\n", b"Hello\0 world\n", b"plain\n" * 900 + b"\0\0"])
def test_a_few_nuls_are_no_utf16(data: bytes) -> None:
    assert ["nul"] in kinds(data)


@pytest.mark.parametrize("data", [b"", b"\n", b"a", b"a\n", b"a\nb", b"\n\n\n"])
def test_lines_are_counted_as_they_are_read(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    assert count_lines(tmp_path / "x") == len(read(data))
