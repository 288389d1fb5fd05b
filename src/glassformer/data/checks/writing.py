"""Writes new files atomically: all of them appear complete, or none."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, cast

import zstandard

from glassformer.data.readers.opening import packing_suffix, shown
from glassformer.errors import DataError


def check_new(path: Path) -> None:
    """Raises an error unless `path` can become a new file. Its folder need not exist yet."""
    if os.path.lexists(path):
        raise DataError(f"{shown(path)} already exists. Choose another output, or remove it first.")
    folder = next(parent for parent in path.parents if os.path.lexists(parent))
    if not folder.is_dir():
        raise DataError(f"{shown(path)} cannot be written: {shown(folder)} is not a folder.")


class NewFiles:
    """Files for writing text, compressed by suffix, under temporary names until the block ends without an error.

    After an error, the files and the folders made for them are removed.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        for path in paths:
            check_new(path)
        self.paths = list(paths)
        self.files: list[IO[str]] = []
        self._temporary = [path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in paths]
        self._folders: list[Path] = []
        self._open = ExitStack()

    def __enter__(self) -> list[IO[str]]:
        try:
            for path, temporary in zip(self.paths, self._temporary, strict=True):
                self._make_folder(path.parent)
                raw = self._open.enter_context(temporary.open("xb"))
                self.files.append(self._open.enter_context(_packing(raw, packing_suffix(path))))
        except OSError as error:
            self._leave_nothing()
            raise _unwritable(error, self.paths[len(self.files)]) from None
        return self.files

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            if kind is None:
                self._open.close()
                self._give_names()
        except OSError as failure:
            raise _unwritable(failure, self.paths[0]) from None
        finally:
            self._leave_nothing()
        if isinstance(error, OSError):
            raise _unwritable(error, self.paths[0]) from None

    def _make_folder(self, folder: Path) -> None:
        missing = [one for one in (folder, *folder.parents) if not one.exists()]
        for one in reversed(missing):
            one.mkdir()
            self._folders.append(one)

    def _give_names(self) -> None:
        for path in self.paths:
            check_new(path)  # nobody else has created it in the meantime
        given: list[Path] = []
        try:
            for path, temporary in zip(self.paths, self._temporary, strict=True):
                temporary.rename(path)
                given.append(path)
        except BaseException:
            for path in given:
                path.unlink(missing_ok=True)
            raise
        self._folders.clear()

    def _leave_nothing(self) -> None:
        with suppress(OSError):  # the disk is full: some data was still buffered
            self._open.close()
        for path in self._temporary:
            path.unlink(missing_ok=True)
        for folder in reversed(self._folders):
            with suppress(OSError):  # somebody else put something there
                folder.rmdir()
        self._folders.clear()


def _packing(raw: IO[bytes], suffix: str) -> IO[str]:
    """A text file that compresses what is written. The same text always gives the same bytes."""
    packed: IO[bytes] = raw
    if suffix == ".gz":
        packed = cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
    elif suffix == ".xz":
        packed = lzma.LZMAFile(raw, "wb")  # noqa: SIM115 (whoever asks for it closes it)
    elif suffix == ".bz2":
        packed = cast(IO[bytes], bz2.BZ2File(raw, "wb"))
    elif suffix == ".zst":
        packed = zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
    return io.TextIOWrapper(packed, encoding="utf-8", newline="\n", write_through=False)


def _unwritable(error: OSError, path: Path) -> DataError:
    return DataError(f"{shown(path)} cannot be written ({error.strerror}). Nothing was left behind.")
