"""Single files made by others, plain or packed by xz, with the same limits as for text files."""

from __future__ import annotations

from pathlib import Path

from glassformer.data.readers.unpacking import unpacked
from glassformer.errors import DataError, ImportingError
from glassformer.text.foreign import NO_LIMIT, read_regular

PACKED = ".xz"
BLOCK = 1 << 18


def read_unpacked(file: Path, *, limit: int = NO_LIMIT) -> bytes:
    """The bytes of a file, unpacked if its name ends in .xz. `limit` applies to the unpacked bytes."""
    content = read_regular(file, limit=limit, error=ImportingError)
    if file.suffix != PACKED:
        return content
    blocks = (content[at : at + BLOCK] for at in range(0, len(content), BLOCK))
    found = bytearray()
    try:
        for piece in unpacked(blocks, str(file), "xz"):
            found += piece
            if len(found) > limit:
                raise ImportingError(f"{file} unpacks to more than {limit:,} bytes, which no such file has.")
    except DataError as error:
        raise ImportingError(f"It cannot be unpacked. {error}") from None
    return bytes(found)
