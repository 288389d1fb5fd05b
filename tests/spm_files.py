"""Writes SentencePiece model files: a protobuf message by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

UNIGRAM, BPE = 1, 2
SPECIAL = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
BYTES = [(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)]
WORDS = ["▁", "▁the", "▁a", "▁cat", "▁sat", "▁on", "▁mat", *"thecasonm.,igd", "at", "in", "ing"]
WORDS += ["▁i", "▁he", "▁h", "▁t", "▁c", "og", "▁dog", "ß", "▁ß"]


def scored(words: Sequence[str] = WORDS) -> list[tuple[str, float, int]]:
    """The longer, the likelier; no two alike."""
    return [(word, len(word) * 1.5 - 9 - i / 64, 1) for i, word in enumerate(words)]


def write_spm(
    path: Path,
    pieces: Sequence[tuple[str, float, int]],
    *,
    kind: int = UNIGRAM,
    byte_fallback: bool = False,
    dummy_prefix: bool = True,
    remove_spaces: bool = True,
) -> None:
    trainer = number(3, kind) + number(35, byte_fallback) + number(40, 0) + number(41, 1) + number(42, 2)
    normalizer = text(1, b"identity") + number(3, dummy_prefix) + number(4, remove_spaces)
    content = b"".join(text(1, piece(*one)) for one in pieces) + text(2, trainer) + text(3, normalizer)
    path.write_bytes(content)


def piece(word: str, score: float, kind: int) -> bytes:
    return text(1, word.encode()) + bytes([2 << 3 | 5]) + struct.pack("<f", score) + number(3, kind)


def text(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(int(value))


def varint(value: int) -> bytes:
    groups = []
    while True:
        groups.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(groups)
