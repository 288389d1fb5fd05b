"""Unpacks gzip, xz, bzip2 and zstd streams block by block, with limits on the output size.

An archive that unpacks to an absurd size is refused before it fills the memory. A truncated or damaged archive is
always an error, never read as a shorter one.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterator
from typing import Protocol

import zstandard

from glassformer.errors import DataError

PIECE = 1 << 18
BOMB_RATIO = 250  # text compresses 3 to 10 times, the most repetitive logs 100 times
BOMB_START = 4 << 20  # below this size any ratio is harmless
PACKED_STEP = BOMB_START // BOMB_RATIO  # compressed bytes per step: bounds the output of a step
UNPACKING_MEMORY = 128 << 20  # enough for `xz -9` and `zstd --ultra -22`

_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an office document",
    b"PK\x05\x06": "an empty zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a rar archive",
    b"%PDF-": "a PDF document",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an office document",
    b"{\\rtf": "an RTF document",
    b"\x1f\x9d": "a file packed by `compress`",
    b"\x04\x22\x4d\x18": "a file packed by lz4",
}


def packing_by_magic(head: bytes) -> str | None:
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head.startswith(b"\xfd7zXZ\0"):
        return "xz"
    if head.startswith(b"BZh") and head[3:4] in b"123456789" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90", b""):
        return "bzip2"
    if head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F):
        return "zstd"
    return None


def refuse_foreign(head: bytes, name: str) -> None:
    """Raises an error for archives of several files and for documents: they are not lines of text."""
    what = next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), None)
    if head[257:262] == b"ustar":
        what = "a tar archive"
    if again := packing_by_magic(head):
        what = f"compressed twice, inside with {again}"
    if what:
        raise DataError(f"{name} is {what}. Unpack it or save it as plain text first, and give the text files in it.")


class _Unpacker(Protocol):
    """One compressed stream: a member of a gzip file, a frame of zstd, ..."""

    @property
    def eof(self) -> bool: ...

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What `data` unpacks to, in pieces of bounded size; at the end of the stream, `rest` is what comes after."""

    rest: bytes


class _Gzip:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(31)
        self.rest = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while True:
            piece = self._inner.decompress(data, PIECE)
            yield piece
            data = self._inner.unconsumed_tail
            if self.eof or (not data and len(piece) < PIECE):
                break
        self.rest = self._inner.unused_data


class _Stepwise:
    def __init__(self, inner: lzma.LZMADecompressor | bz2.BZ2Decompressor) -> None:
        self._inner = inner
        self.rest = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    def pieces(self, data: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(data, PIECE)
        while not (self._inner.eof or self._inner.needs_input):
            yield self._inner.decompress(b"", PIECE)
        self.rest = self._inner.unused_data if self.eof else b""


class _Zstd:
    _STEP = 1 << 10  # the library unpacks all its input at once; one KB becomes at most 32 MB

    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=UNPACKING_MEMORY).decompressobj()
        self.rest = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    def pieces(self, data: bytes) -> Iterator[bytes]:
        out, size = [], 0
        for start in range(0, len(data), self._STEP):
            piece = self._inner.decompress(data[start : start + self._STEP])
            out.append(piece)
            size += len(piece)
            if self.eof:
                self.rest = self._inner.unused_data + data[start + self._STEP :]
                break
            if size >= PIECE:
                yield b"".join(out)
                out, size = [], 0
        yield b"".join(out)


def _new_unpacker(packing: str) -> _Unpacker:
    if packing == "gzip":
        return _Gzip()
    if packing == "xz":
        return _Stepwise(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=UNPACKING_MEMORY))
    return _Zstd() if packing == "zstd" else _Stepwise(bz2.BZ2Decompressor())


def unpacked(packed: Iterator[bytes], name: str, packing: str) -> Iterator[bytes]:
    """All compressed streams of a file in order; NULs between and after them are padding."""
    unpacker: _Unpacker | None = _new_unpacker(packing)
    before, size_in, size_out = 0, 0, 0  # `before`: unpacked by the streams before this one
    for data in _cut(packed):
        size_in += len(data)
        while data:
            if unpacker is None:
                data = data.lstrip(b"\0")
                unpacker, before = _new_unpacker(packing) if data else None, size_out
                continue
            try:
                for piece in unpacker.pieces(data):
                    size_out += len(piece)
                    _check_ratio(name, size_in, size_out)
                    if piece:
                        if size_out == len(piece):
                            refuse_foreign(piece, name)
                        yield piece
            except (zlib.error, lzma.LZMAError, OSError, EOFError, zstandard.ZstdError) as error:
                raise _damaged(name, packing, error, size_out, appended=size_out == before > 0) from None
            data = unpacker.rest if unpacker.eof else b""
            unpacker = None if unpacker.eof else unpacker
    if unpacker is not None:
        raise DataError(f"{name}: cut off after {size_out:,} bytes unpacked ({packing}). Create or copy it again.")


def _cut(packed: Iterator[bytes]) -> Iterator[bytes]:
    for data in packed:
        for start in range(0, len(data), PACKED_STEP):
            yield data[start : start + PACKED_STEP]


def _check_ratio(name: str, size_in: int, size_out: int) -> None:
    if size_out > BOMB_START and size_out > BOMB_RATIO * size_in:
        raise DataError(
            f"{name}: {size_in:,} bytes unpack to more than {size_out:,}, over {BOMB_RATIO} times as much: "
            "texts and weights do not compress that well. If the file is really yours, unpack it first."
        )


def _damaged(name: str, packing: str, error: Exception, size: int, *, appended: bool) -> DataError:
    if "emory" in str(error):  # in the messages of lzma and zstandard
        return DataError(f"{name}: unpacking it takes over {UNPACKING_MEMORY >> 20} MB of memory. Unpack it first.")
    if appended:
        return DataError(
            f"{name}: other data follows the end of the {packing} data ({size:,} bytes unpacked). "
            "Create or copy it again."
        )
    return DataError(f"{name}: damaged after {size:,} bytes unpacked ({packing}). Create or copy it again.")
