"""Every operation that changes the disk, one function for each.

`store/` writes only through these functions. Tests can therefore count them, make each one fail like a full disk, or
end the process at any of them. The first argument is always the path that is changed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def make_folder(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def flush(path: Path) -> None:
    """Flushes a file's content, or a folder's list of names, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def rename(path: Path, target: Path) -> None:
    """Renames atomically; an existing file is replaced."""
    path.replace(target)


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def remove_empty(path: Path) -> None:
    """Removes an empty folder; an error if it is not empty."""
    path.rmdir()


def remove_tree(path: Path) -> None:
    shutil.rmtree(path)
