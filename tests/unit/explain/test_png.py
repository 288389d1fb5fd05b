"""PNG files, read again by the rules of the format."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest
from numpy.typing import NDArray

from glassformer.explain.png import data_uri, png


def chunks(content: bytes) -> dict[bytes, bytes]:
    """Every chunk by its name; each checksum must be right."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    found, place = dict[bytes, bytes](), 8
    while place < len(content):
        (size,) = struct.unpack(">I", content[place : place + 4])
        body = content[place + 4 : place + 8 + size]
        assert struct.unpack(">I", content[place + 8 + size : place + 12 + size])[0] == zlib.crc32(body)
        found[body[:4]], place = body[4:], place + 12 + size
    return found


def read(content: bytes) -> NDArray[np.uint8]:
    parts = chunks(content)
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    channels = {0: 1, 2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), dtype=np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()  # filter 0: the bytes as they are
    return rows[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_the_pixels_are_read_again(channels: int) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (5, 7, channels)).astype(np.uint8)
    np.testing.assert_array_equal(read(png(pixels)), pixels)
    assert list(chunks(png(pixels))) == [b"IHDR", b"IDAT", b"IEND"]


def test_an_address_holds_the_file() -> None:
    pixels = np.zeros((2, 2, 1), dtype=np.uint8)
    head, _, content = data_uri(pixels).partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(content) == png(pixels)


def test_two_channels_are_refused() -> None:
    with pytest.raises(ValueError, match="2 channels"):
        png(np.zeros((2, 2, 2), dtype=np.uint8))
