"""The bytes of a file, unpacked, in a stream of blocks.

The first bytes decide how a file is packed (.gz, .xz, .bz2, .zst, or not at all). What is no regular file is refused
before it is opened.
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
    """The name of a file as it is told to people: one line, printable."""
    if path == STDIN:
        return "stdin"
    name = os.fsencode(path).decode("utf-8", "backslashreplace") if "\0" not in str(path) else str(path)
    name = name if name.isprintable() else repr(name)
    return name if len(name) <= 300 else f"{name[:120]}...{name[-120:]}"


def check_file(path: Path) -> int:
    """The size in bytes of what must be a regular file that can be read; looks before it opens, so it never waits."""
    name = shown(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        raise DataError(f"{name}: no such file. Check the name and the folder you are in.") from None
    except PermissionError:
        raise DataError(f"{name}: not readable. Check the permissions of its folder.") from None
    except (OSError, ValueError) as error:  # below a file, too long, a NUL in it, a loop of links
        raise DataError(f"{name}: not a usable file name: {_reason(error)}.") from None
    if stat.S_ISDIR(found.st_mode):
        raise DataError(f"{name} is a folder; give its files, for instance {name.rstrip('/')}/*.en.")
    if not stat.S_ISREG(found.st_mode):
        raise DataError(
            f"{name} is {_special(found.st_mode)}; a file is needed because it is read more than once. "
            "Save what comes out of it to a file first."
        )
    return found.st_size


def _special(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno:
        return {errno.ENAMETOOLONG: "it is too long"}.get(error.errno, os.strerror(error.errno).lower())
    return "there is a NUL in it"


def packing_suffix(path: Path) -> str:
    """The suffix that says how a file is packed, or nothing."""
    return path.suffix if path.suffix in SUFFIXES else ""


def blocks_of(path: Path, *, on_read: Callable[[int], None] | None = None, block: int = BLOCK) -> Iterator[bytes]:
    """The unpacked bytes of a file, or of stdin for `-`, in blocks; `on_read` hears of every packed byte read."""
    name = shown(path)
    packed = _packed_blocks(path, on_read, block)
    head = next(packed, b"")
    while len(head) < 512 and (more := next(packed, b"")):  # as far as the magic bytes of tar reach
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
    """The bytes of a file as they stand on the disk."""
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
        raise DataError("stdin is closed; pipe something in, or give a file.")
    return nullcontext(sys.stdin.buffer)


def _packing_of(head: bytes, path: Path) -> str | None:
    """How a file is packed by its first bytes; its suffix must not say otherwise."""
    packing = packing_by_magic(head)
    promised = SUFFIXES.get(path.suffix)
    if promised and promised != packing:
        found = f"packed by {packing}" if packing else "empty" if not head else "not packed"
        raise DataError(
            f"{shown(path)}: named {path.suffix}, but it is {found}. Copy it again, or give it the suffix that is true."
        )
    return packing
