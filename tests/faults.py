"""A disk that breaks: every effect of `store/disk.py` is counted, and one of them fails or is the process's last."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from glassformer.store import disk

EFFECTS = [name for name, _ in inspect.getmembers(disk, inspect.isfunction)]
PARTLY = ("write", "append", "remove_tree")  # may be cut in the middle; the others are done or not
FULL, DEATH, DEATH_WITHIN = "the disk is full", "death before it", "death in the middle of it"


class Killed(BaseException):
    """Stands for kill -9 or a power cut: nothing catches it, and after it nothing reaches the disk any more."""


class Breaking:
    """Counts the effects; lets the `at`-th (from 1) go wrong in the way that `how` says."""

    def __init__(self, at: int = 0, how: str = DEATH) -> None:
        self.at, self.how = at, how
        self.done: list[tuple[str, Path]] = []
        self.dead = False

    def wrap(self, name: str, effect: Callable[..., None]) -> Callable[..., None]:
        def attempt(path: Path, *rest: Any) -> None:
            if self.dead:
                raise Killed  # what would tidy up after an error must not do so after death
            self.done.append((name, path))
            if len(self.done) != self.at:
                return effect(path, *rest)
            if self.how == FULL:
                raise OSError(errno.ENOSPC, "No space left on device")
            self.dead = True
            if self.how == DEATH_WITHIN:
                half(name, effect, path, *rest)
            raise Killed

        return attempt


def half(name: str, effect: Callable[..., None], path: Path, *rest: Any) -> None:
    """An effect of which only a part reached the disk; one that has no parts is done."""
    if name in PARTLY and name != "remove_tree":
        effect(path, rest[0][: len(rest[0]) // 2])
    elif name == "remove_tree":
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        for file in files[: (len(files) + 1) // 2]:
            file.unlink()
    else:
        effect(path, *rest)


@contextmanager
def breaking_disk(at: int = 0, how: str = DEATH) -> Iterator[Breaking]:
    """While open, the disk breaks; without `at` it only counts."""
    breaking = Breaking(at, how)
    with pytest.MonkeyPatch.context() as patched:
        for name in EFFECTS:
            patched.setattr(disk, name, breaking.wrap(name, getattr(disk, name)))
        yield breaking
