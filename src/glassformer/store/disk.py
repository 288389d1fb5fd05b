"""Every effect that a run has on the disk, each one a function of its own.

All of `store/` writes through these and in no other way, so that tests can count them, let each in turn fail as a full
disk does, or end the process there. Each takes the path that it changes first.
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
    """Sends a file's content, or a folder's list of names, all the way to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def rename(path: Path, target: Path) -> None:
    """In one step; a file that is there is replaced."""
    path.replace(target)


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def remove_empty(path: Path) -> None:
    """Takes a folder away; one with something in it is an error."""
    path.rmdir()


def remove_tree(path: Path) -> None:
    shutil.rmtree(path)
