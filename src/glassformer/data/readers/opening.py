"""The decompressed bytes of a file, as a stream of blocks.

The first bytes determine how a file is compressed (.gz, .xz, .bz2, .zst, or not at all). Anything that is not a regular
file is refused before it is opened.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

from glassformer.data.readers.unpacking import packing_by_magic, refuse_foreign, unpacked
from glassformer.errors import DataError

BLOCK = 1 << 18
STDIN = Path("-")

SUFFIXES = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstd"}


def shown(path: Path) -> str:
    """The name of a file for messages: one line, printable."""
    if path == STDIN:
        return "stdin"
    name = os.fsencode(path).decode("utf-8", "backslashreplace") if "\0" not in str(path) else str(path)
    name = name if name.isprintable() else repr(name)
    return name if len(name) <= 300 else f"{name[:120]}...{name[-120:]}"


def check_file(path: Path) -> int:
    """The size in bytes of a file that must be regular and readable. Checks before opening, so it never blocks."""
    name = shown(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        raise DataError(f"{name}: no such file. Check the name and the folder you are in.") from None
    except PermissionError:
        raise DataError(f"{name}: not readable. Check the permissions of its folder.") from None
    except (OSError, ValueError) as error:  # below a file, too long, contains a NUL, a loop of links
        raise DataError(f"{name}: not a usable file name: {_reason(error)}.") from None
    if stat.S_ISDIR(found.st_mode):
        raise DataError(f"{name} is a folder; give its files, by name or as a pattern: {name.rstrip('/')}/*.")
    if not stat.S_ISREG(found.st_mode):
        raise DataError(
            f"{name} is {_special(found.st_mode)}; a regular file is needed because it is read more than once. "
            "Save its output to a file first."
        )
    return found.st_size


def _special(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno:
        return {errno.ENAMETOOLONG: "it is too long"}.get(error.errno, os.strerror(error.errno).lower())
    return "it contains a NUL character"


def packing_suffix(path: Path) -> str:
    """The suffix that says how a file is compressed, or nothing."""
    return path.suffix if path.suffix in SUFFIXES else ""


def blocks_of(path: Path, *, on_read: Callable[[int], None] | None = None, block: int = BLOCK) -> Iterator[bytes]:
    """The unpacked bytes of a file, or of stdin for `-`, in blocks. `on_read` gets the compressed bytes read."""
    name = shown(path)
    packed = _packed_blocks(path, on_read, block)
    head = next(packed, b"")
    while len(head) < 512 and (more := next(packed, b"")):  # enough for the magic bytes of tar
        head += more
    packing = _packing_of(head, path)
    packed = _chain(head, packed)
    if packing is None:
        refuse_foreign(head, name)
        yield from packed
    else:
        yield from unpacked(packed, name, packing)


def _chain(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from rest


def _packed_blocks(path: Path, on_read: Callable[[int], None] | None, block: int) -> Iterator[bytes]:
    """The raw bytes of a file."""
    try:
        with _opened(path) as file:
            while data := file.read(block):
                if on_read is not None:
                    on_read(len(data))
                yield data
    except PermissionError:
        raise DataError(f"{shown(path)}: not readable. Check its permissions.") from None
    except OSError as error:
        raise DataError(f"{shown(path)} cannot be read: {_reason(error)}.") from None


def _opened(path: Path) -> AbstractContextManager[IO[bytes]]:
    if path != STDIN:
        check_file(path)
        return path.open("rb", buffering=0)
    if sys.stdin is None:
        raise DataError("stdin is closed. Pipe data into it, or give a file.")
    return nullcontext(sys.stdin.buffer)


def _packing_of(head: bytes, path: Path) -> str | None:
    """How a file is compressed, by its first bytes; its suffix must agree."""
    packing = packing_by_magic(head)
    promised = SUFFIXES.get(path.suffix)
    if promised and promised != packing:
        found = f"packed by {packing}" if packing else "empty" if not head else "not packed"
        raise DataError(f"{shown(path)}: named {path.suffix}, but it is {found}. Copy it again, or correct its suffix.")
    return packing
