"""A folder that only this user can change, for files that are run as code. POSIX only.

No path is checked first and opened later. The folders on the path are opened one after the other, each is checked
through its descriptor, and files are opened relative to the last descriptor.
"""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DESCRIPTORS = Path("/proc/self/fd")
LOCK = "lock"


class PrivateFolder:
    """An open folder, created with mode 0700 if missing. PermissionError if others could change or replace it."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()  # links on the path are followed only here
        self.descriptor = open_from_root(self.path)

    def __enter__(self) -> PrivateFolder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def open(self, name: str) -> int:
        """A descriptor of a regular file in it that only this user can write."""
        descriptor = os.open(name, FILE, dir_fd=self.descriptor)
        try:
            check_own(os.fstat(descriptor), self.path / name, is_right_kind=stat.S_ISREG)
        except PermissionError:
            os.close(descriptor)
            raise
        return descriptor

    def loadable(self, name: str, descriptor: int) -> str:
        """The path for loading an opened file: that of its descriptor where the system has one, else its own.

        Nobody else can change the file at its own path, since all its folders were checked.
        """
        return str(DESCRIPTORS / str(descriptor) if DESCRIPTORS.is_dir() else self.path / name)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time, unless the file system has no locks."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(LOCK, flags, 0o600, dir_fd=self.descriptor)
        try:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def open_from_root(path: Path) -> int:
    descriptor = os.open("/", FOLDER)
    try:
        walked = Path("/")
        for name in path.parts[1:]:
            check_parent(os.fstat(descriptor), walked)
            inner = open_or_make(name, descriptor)
            os.close(descriptor)
            descriptor, walked = inner, walked / name
        check_own(os.fstat(descriptor), path, is_right_kind=stat.S_ISDIR)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_or_make(name: str, parent: int) -> int:
    with suppress(FileNotFoundError):
        return os.open(name, FOLDER, dir_fd=parent)
    with suppress(FileExistsError):  # another process was faster
        os.mkdir(name, 0o700, dir_fd=parent)
    return os.open(name, FOLDER, dir_fd=parent)


def check_parent(found: os.stat_result, path: Path) -> None:
    """Others must not be able to replace what is in it. In a folder with the sticky bit they cannot."""
    if found.st_uid not in (0, os.geteuid()):
        raise PermissionError(f"{path} belongs to another user")
    by_others = found.st_mode & 0o002 or (found.st_mode & 0o020 and not is_private_group(found.st_gid))
    if by_others and not found.st_mode & stat.S_ISVTX:
        raise PermissionError(f"other users can write to {path} (mode {stat.S_IMODE(found.st_mode):04o})")


def check_own(found: os.stat_result, path: Path, *, is_right_kind: Callable[[int], bool]) -> None:
    if not is_right_kind(found.st_mode):
        raise PermissionError(f"{path} is neither a folder nor a regular file")
    if found.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to another user")
    if found.st_mode & 0o022:
        raise PermissionError(f"other users can write to {path} (mode {stat.S_IMODE(found.st_mode):04o})")


def is_private_group(number: int) -> bool:
    """Many systems give each user a group of the same name and let it write (umask 002)."""
    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
