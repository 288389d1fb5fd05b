"""Files as llama2.c writes them: a tiny random model and its vocabulary."""

from __future__ import annotations

import lzma
import struct
from pathlib import Path

import numpy as np

LETTERS = [" ", "a", "b", "c", "n"]
MERGED = [("an", -1.0), (" a", -2.0), (" an", -3.0), ("ban", -4.0), ("ana", -5.0), (" b", -6.0), ("  ", -7.0)]


def pieces() -> list[tuple[str, float]]:
    bytes_ = [(f"<0x{byte:02X}>", 0.0) for byte in range(256)]
    marks = [("<unk>", 0.0), ("\n<s>\n", 0.0), ("\n</s>\n", 0.0)]
    return [*marks, *bytes_, *MERGED, *((letter, -10.0 - i) for i, letter in enumerate(LETTERS))]


def vocabulary_bytes(entries: list[tuple[str, float]]) -> bytes:
    body = b"".join(struct.pack("<fi", score, len(text.encode())) + text.encode() for text, score in entries)
    return struct.pack("<i", max(len(text) for text, _ in entries)) + body


def model_bytes(*, shared: bool = True, d: int = 12, d_ff: int = 7, layers: int = 2, heads: int = 3) -> bytes:
    size, longest, width = len(pieces()), 23, d // heads
    floats = 2 * size * d if not shared else size * d
    floats += layers * (2 * d + 2 * d * d + 2 * width * d + 3 * d * d_ff) + d + longest * width
    header = struct.pack("<7i", d, d_ff, layers, heads, 1, size if shared else -size, longest)
    numbers = np.random.default_rng(3).normal(scale=0.7, size=floats).astype("<f4")
    angles = np.arange(longest)[:, None] * 10000.0 ** -(np.arange(0, width, 2) / width)
    at = floats - longest * width - (0 if shared else size * d)  # the tables are last, but for a head
    numbers[at : at + longest * width] = np.concatenate([np.cos(angles).ravel(), np.sin(angles).ravel()])
    return header + numbers.tobytes()


def write(folder: Path, model: bytes, *, packed: bool = False) -> Path:
    files = {"story.bin": model, f"tok{len(pieces())}.bin": vocabulary_bytes(pieces())}
    for name, content in files.items():
        (folder / f"{name}{'.xz' if packed else ''}").write_bytes(lzma.compress(content) if packed else content)
    return folder
