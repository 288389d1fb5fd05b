"""The data of a page: arrays and texts in chunks, each a text of base64 of gzip. The same data give the same bytes.

A chunk holds at most 1 MiB before compression. What does not fit begins a new chunk; what is larger than a chunk begins
a new one and continues at the beginning of those that follow.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 20  # bytes before compression
ALIGNED = 4  # offsets are multiples of this, so that a page can read numbers in place
LEVEL = 9  # of gzip: weights hardly become smaller, indices and texts do

Kind: TypeAlias = Literal["f32", "f16", "i32"]
DTYPES: dict[Kind, str] = {"f32": "<f4", "f16": "<f2", "i32": "<i4"}


@dataclass(frozen=True)
class ArrayRef:
    """Where an array begins: in the unpacked bytes of a chunk."""

    chunk: int
    offset: int
    shape: tuple[int, ...]
    dtype: Kind

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class TextRef:
    """Where a UTF-8 text begins, and how many bytes it has."""

    chunk: int
    offset: int
    length: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Chunks:
    """Collects arrays and texts."""

    size: int = CHUNK
    blocks: list[bytearray] = field(default_factory=list)

    def add(self, array: NDArray[Any], dtype: Kind = "f32") -> ArrayRef:
        place = self._place(np.ascontiguousarray(array, dtype=DTYPES[dtype]).tobytes())
        return ArrayRef(*place, array.shape, dtype)

    def add_text(self, text: str) -> TextRef:
        content = text.encode("utf-8")
        return TextRef(*self._place(content), len(content))

    def _place(self, content: bytes) -> tuple[int, int]:
        """Appends the bytes; returns where they begin."""
        used = -(-len(self.blocks[-1]) // ALIGNED) * ALIGNED if self.blocks else self.size
        if not self.blocks or used + len(content) > self.size:
            self.blocks.append(bytearray())
            used = 0
        block = self.blocks[-1]
        block.extend(bytes(used - len(block)))
        place = len(self.blocks) - 1, used
        block.extend(content[: self.size - used])
        for start in range(self.size - used, len(content), self.size):
            self.blocks.append(bytearray(content[start : start + self.size]))
        return place

    def packed(self) -> Iterator[str]:
        """The text of each chunk."""
        return map(packed, self.blocks)


def packed(content: bytes | bytearray) -> str:
    """Base64 of gzip. Its header has no date and no name, so equal content gives equal text."""
    return base64.b64encode(gzip.compress(content, LEVEL, mtime=0)).decode("ascii")


def unpacked(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text, validate=True))


def bytes_at(blocks: Sequence[bytes | bytearray], chunk: int, offset: int, length: int) -> bytes:
    """The bytes from a place on, over as many chunks as they need."""
    found = bytes(blocks[chunk][offset : offset + length])
    while len(found) < length:
        chunk += 1
        found += bytes(blocks[chunk][: length - len(found)])
    return found


def array_at(blocks: Sequence[bytes | bytearray], ref: ArrayRef) -> NDArray[Any]:
    dtype = np.dtype(DTYPES[ref.dtype])
    count = int(np.prod(ref.shape, dtype=np.int64))
    content = bytes_at(blocks, ref.chunk, ref.offset, count * dtype.itemsize)
    return np.frombuffer(content, dtype=dtype).reshape(ref.shape)


def text_at(blocks: Sequence[bytes | bytearray], ref: TextRef) -> str:
    return bytes_at(blocks, ref.chunk, ref.offset, ref.length).decode("utf-8")
