"""Lines of text from blocks of bytes: each with the byte where it begins and its oddities.

Only "\\n" ends a line, and one "\\r" before it is dropped. Clean blocks are decoded at once; lines are examined one by
one only if their block contains something odd. A line too long to be a sentence is never held in memory: it is
reported, or given in pieces if the caller asks for that.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, count, repeat
from operator import add
from pathlib import Path

from glassformer.data.readers.opening import STDIN, blocks_of, packing_suffix, shown
from glassformer.data.readers.records import Place, Problem
from glassformer.errors import DataError

MAX_LINE = 1 << 20
BOM = b"\xef\xbb\xbf"

CONTINUED = "continued"  # marks every piece of a long line except the last

# Characters that other programs take for the end of a line.
SEPARATORS = {
    "\n": "line feed",
    "\x0b": "vertical tab",
    "\x0c": "form feed",
    "\r": "carriage return",
    "\x1c": "file separator",
    "\x1d": "group separator",
    "\x1e": "record separator",
    "\x85": "next line",
    "\u2028": "line separator",
    "\u2029": "paragraph separator",
}
_LOOK_CLOSER = ["\0", *(sign for sign in SEPARATORS if sign != "\n")]
_SAMPLE = 4096  # bytes that decide whether this is UTF-16

# Text, the byte where it begins in the unpacked file, its oddities. A plain tuple, because creating an object would
# cost more than reading the line.
Line = tuple[str, int, tuple[Problem, ...]]


def lines_of(blocks: Iterable[bytes], path: Path, *, pieces: bool = False) -> Iterator[Line]:
    """All lines, in order. Kinds of oddities: encoding, nul, too big (unusable), bom and separator.

    With `pieces`, a line that is too big is given in pieces instead, each except the last with the oddity `continued`.
    """
    return chain.from_iterable(_runs(iter(blocks), path, pieces))


def count_lines(path: Path) -> int:
    """How many lines a file has."""
    lines, last = 0, b"\n"
    for block in blocks_of(path):
        lines, last = lines + block.count(b"\n"), block[-1:]
    return lines + (last != b"\n")


def _runs(blocks: Iterator[bytes], path: Path, pieces: bool) -> Iterator[Iterable[Line]]:
    """Lines in chunks, so that chaining them needs no Python code between two lines."""
    name, number = shown(path), 1
    head = _head(blocks)
    _refuse_utf16(head, path)
    start = len(BOM) if head.startswith(BOM) else 0
    most = 1 << 62 if pieces else MAX_LINE  # chunks of whole lines are in memory already
    for chunk in _chunks(chain([head[start:]], blocks), pieces):
        if isinstance(chunk, int):
            run: list[Line] | Iterator[Line] = [_too_big(chunk, start, number, name)]
            length, lines = chunk + 1, 1
        elif isinstance(chunk, _Piece):
            run, lines, length = [_continued(chunk.raw, start, number, name)], 0, len(chunk.raw)
        else:
            run, lines = _run(chunk, start, number, name, most)
            length = len(chunk)
        yield _noting_bom(run, name) if start == len(BOM) and head.startswith(BOM) else run
        start, number = start + length, number + lines


def _head(blocks: Iterator[bytes]) -> bytes:
    head = b""
    while len(head) < _SAMPLE and (block := next(blocks, b"")):
        head += block
    return head


@dataclass(frozen=True)
class _Piece:
    """A part of a long line; the line continues."""

    raw: bytes


def _chunks(blocks: Iterable[bytes], pieces: bool) -> Iterator[bytes | int | _Piece]:
    """Whole lines, many at once; or the size of one line that is too big, or pieces of it."""
    rest, let_go = b"", 0
    for block in blocks:
        if let_go:
            end = block.find(b"\n")
            if end < 0:
                let_go += len(block)
                continue
            yield let_go + end
            block, let_go = block[end + 1 :], 0
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
        rest = block[end:] if end else rest + block
        while pieces and len(rest) > MAX_LINE:
            end = _cut_at(rest[:MAX_LINE])
            yield _Piece(rest[:end])
            rest = rest[end:]
        if len(rest) > MAX_LINE:
            rest, let_go = b"", len(rest)
    if let_go:
        yield let_go
    if rest:
        yield rest


def _cut_at(raw: bytes) -> int:
    """Where to cut a long line: after its last space, else between two characters."""
    if end := raw.rfind(b" ") + 1:
        return end
    end = len(raw)
    while end > len(raw) - 4 and raw[end - 1] & 0xC0 == 0x80:  # inside a character
        end -= 1
    return end - 1  # before its first byte


def _run(chunk: bytes, start: int, number: int, name: str, most: int) -> tuple[Iterator[Line], int]:
    """The lines of a chunk, and how many there are."""
    raw = chunk.split(b"\n")
    if not raw[-1]:
        raw.pop()
    starts = map(add, accumulate(map(len, raw), initial=start), count())
    texts = _clean_texts(chunk) if max(map(len, raw)) <= most else None
    if texts is not None:
        return zip(texts, starts, repeat(()), strict=False), len(raw)
    places = zip(raw, starts, count(number), strict=False)
    return (_line(line, byte, n, name, most) for line, byte, n in places), len(raw)


def _clean_texts(chunk: bytes) -> list[str] | None:
    """All texts of a chunk, or None if its lines must be examined one by one."""
    try:
        text = chunk.decode("utf-8")
    except UnicodeDecodeError:
        return None
    text = text.removesuffix("\n").removesuffix("\r")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return None if any(sign in text for sign in _LOOK_CLOSER) else text.split("\n")


def _continued(raw: bytes, start: int, number: int, name: str) -> Line:
    text, byte, oddities = _line(raw + b"\r", start, number, name, len(raw) + 1)  # keeps a "\r" of its own
    detail = f"a line of over {MAX_LINE:,} bytes, read in pieces"
    return text, byte, (*oddities, Problem(CONTINUED, detail, Place(name, number, start)))


def _line(raw: bytes, start: int, number: int, name: str, most: int) -> Line:
    """One line on its own."""
    if len(raw) > most:
        return _too_big(len(raw), start, number, name)
    raw = raw.removesuffix(b"\r")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        detail = f"not UTF-8 (got byte 0x{raw[error.start]:02x})"
        place = Place(name, number, start + error.start)
        return raw.decode("utf-8", "replace"), start, (Problem("encoding", detail, place),)
    if "\0" in text:
        place = Place(name, number, start + raw.index(b"\0"))
        return text, start, (Problem("nul", "a NUL character: not text, or UTF-16", place),)
    return text, start, separator_notes(text, Place(name, number, start))


def _too_big(size: int, start: int, number: int, name: str) -> Line:
    detail = f"a line of {size:,} bytes: sentences have at most {MAX_LINE:,}"
    return "", start, (Problem("too big", detail, Place(name, number, start)),)


def separator_notes(text: str, place: Place, *, exact: bool = True) -> tuple[Problem, ...]:
    """A note on the first character in `text` that other programs take for a line end. `place`: where it begins."""
    signs = [sign for sign in SEPARATORS if sign in text]
    if not signs:
        return ()
    sign = min(signs, key=text.index)
    byte = place.byte + len(text[: text.index(sign)].encode()) if exact else place.byte
    detail = f"a {SEPARATORS[sign]} (U+{ord(sign):04X}) inside the sentence"
    return (Problem("separator", detail, Place(place.file, place.number, byte, place.unit)),)


def _noting_bom(run: Iterable[Line], name: str) -> Iterator[Line]:
    lines = iter(run)
    for text, byte, oddities in lines:
        yield text, byte, (Problem("bom", "a byte order mark was dropped", Place(name, 1, 0)), *oddities)
        break
    yield from lines


def _refuse_utf16(head: bytes, path: Path) -> None:
    """Recognises UTF-16 and UTF-32 by a byte order mark, or by NULs in every second byte."""
    encoding = _wide_encoding(head[:_SAMPLE])
    if encoding is None:
        return
    unpack = {".gz": "zcat", ".xz": "xzcat", ".bz2": "bzcat", ".zst": "zstdcat"}.get(packing_suffix(path))
    file = "FILE" if path == STDIN else shlex.quote(shown(path))
    command = f"{unpack} {file} | iconv -f {encoding}" if unpack else f"iconv -f {encoding}"
    raise DataError(
        f"{shown(path)} looks like {encoding}; UTF-8 is needed. Convert it: "
        f"{command} -t UTF-8{'' if unpack else ' ' + file} > NEW_FILE"
    )


def _wide_encoding(sample: bytes) -> str | None:
    if sample.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    most, least = max(even, odd), min(even, odd)
    if most < 4 or most * 20 < len(sample):
        return None
    if least * 10 <= most:
        return "UTF-16LE" if odd > even else "UTF-16BE"
    quarters = [sample[i::4].count(0) for i in range(4)]
    if quarters[0] * 10 <= quarters[3]:
        return "UTF-32LE"
    return "UTF-32BE" if quarters[3] * 10 <= quarters[0] else None
