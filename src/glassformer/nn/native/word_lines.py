"""Lines of a word and its numbers, parsed by word_lines.c, or in Python without a compiler (to the same numbers)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassformer.nn.native.compiler import kernels

Floats = NDArray[np.float32]


def parsed(block: bytes, width: int) -> tuple[list[str], Floats, int | None]:
    """Words (n), numbers (n, width), and the first line, from 0, that could not be read, if any.

    The numbers are at the end of a line, so a word may contain spaces. Bytes that are not UTF-8 are replaced.
    """
    library = kernels()
    if library is None:
        return in_python(block, width)
    lines = block.count(b"\n") + 1
    rows, ends, line = np.empty((lines, width), np.float32), np.empty((lines, 2), np.int64), np.empty(1, np.int64)
    count = library.word_lines(block, len(block), width, rows.ctypes.data, ends.ctypes.data, line.ctypes.data)
    words = [block[start:end].decode("utf-8", "replace") for start, end in ends[:count].tolist()]
    return words, rows[:count], None if line[0] < 0 else int(line[0])


def in_python(block: bytes, width: int) -> tuple[list[str], Floats, int | None]:
    words: list[str] = []
    rows: list[Floats] = []
    for number, line in enumerate(block.split(b"\n")):
        line = line.rstrip(b" \t\r")
        if not line:
            continue
        parts = line.replace(b"\t", b" ").rsplit(None, width)
        try:
            if len(parts) <= width or any(b"_" in part for part in parts[1:]):
                raise ValueError
            row = np.array([float(part) for part in parts[1:]], np.float64).astype(np.float32)
        except ValueError:
            return words, as_rows(rows, width), number
        words.append(line[: len(parts[0])].decode("utf-8", "replace"))
        rows.append(row)
    return words, as_rows(rows, width), None


def as_rows(rows: list[Floats], width: int) -> Floats:
    return np.stack(rows) if rows else np.empty((0, width), np.float32)
