"""PNG images from arrays of bytes, for pages that load nothing. Written with zlib alone."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KINDS = {1: 0, 3: 2, 4: 6}  # channels: PNG's colour type


def png(pixels: NDArray[np.uint8]) -> bytes:
    """(height, width, channels) with 1, 3 or 4 channels -> a PNG file."""
    height, width, channels = pixels.shape
    if channels not in KINDS:
        raise ValueError(f"{channels} channels: PNG has 1, 3 or 4")
    rows = np.ascontiguousarray(pixels).reshape(height, -1)
    filtered = np.concatenate([np.zeros((height, 1), dtype=np.uint8), rows], axis=1)  # filter 0: none
    header = struct.pack(">IIBBBBB", width, height, 8, KINDS[channels], 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(chunk(*part) for part in parts)


def chunk(kind: bytes, content: bytes) -> bytes:
    checked = kind + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """The PNG as an address that contains it."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
