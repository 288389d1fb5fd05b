"""One shard of a token cache: a safetensors file with the ids and lengths of every column, and a checksum.

The checksum is in the file's metadata. It covers the file's name, the number of examples left out and each tensor's
name, type, shape and bytes, so it detects a flipped bit anywhere, a truncated file and two files with swapped names.
Files are flushed to disk before they get their name.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from glassformer.data.columns import Columns, Encoded, Ragged
from glassformer.errors import DataError

IDS, LENGTHS = ".ids", ".lengths"  # after a column's name
ABOUT = "about"  # the metadata's only entry: the library writes several in any order, which would change the bytes
BLOCK = 1 << 20  # elements hashed at a time, so that a check needs little memory

Array = NDArray[np.generic]


class Damaged(DataError):
    """A shard that is not what was written."""


def write_shard(path: Path, encoded: Encoded) -> None:
    """Writes a shard with its checksum, atomically."""
    tensors: dict[str, Array] = {}
    for name, column in encoded.columns.columns.items():
        tensors[name + IDS] = column.flat
        tensors[name + LENGTHS] = column.lengths.astype(np.int32)
    counts = f"{encoded.left_out} {encoded.cut}"
    about = f"{checksum(f'{path.name} {counts}', _whole(tensors))} {counts}"
    with in_place(path) as temporary:
        save_file(tensors, temporary, metadata={ABOUT: about})


def read_shard(path: Path) -> Encoded:
    """The columns of one shard. Raises an error if they are not what was written."""
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
        counts = _compare(path, file, _whole(tensors))
    names = sorted(name.removesuffix(IDS) for name in tensors if name.endswith(IDS))
    return Encoded(Columns({name: Ragged(tensors[name + IDS], tensors[name + LENGTHS]) for name in names}), *counts)


def check_shard(path: Path) -> None:
    """The same check without holding the shard in memory."""
    with _opened(path) as file:
        _compare(path, file, (_blocks(name, file.get_slice(name)) for name in sorted(file.keys())))


Part = tuple[str, str, tuple[int, ...], Iterable[Array]]  # name, type, shape, the values block by block


def checksum(name: str, parts: Iterable[Part]) -> str:
    digest = hashlib.sha256(name.encode())
    for tensor, kind, shape, blocks in parts:
        digest.update(f"\n{tensor} {kind} {list(shape)}\n".encode())
        for block in blocks:
            digest.update(np.ascontiguousarray(block).view(np.uint8).data)
    return digest.hexdigest()


def _blocks(name: str, values: object) -> Part:
    (length,) = values.get_shape()  # type: ignore[attr-defined]
    blocks = (values[start : min(start + BLOCK, length)] for start in range(0, length, BLOCK))  # type: ignore[index]
    return name, str(values[:0].dtype), (length,), blocks  # type: ignore[index]


def _whole(tensors: Mapping[str, Array]) -> Iterator[Part]:
    return ((name, str(value.dtype), value.shape, [value]) for name, value in sorted(tensors.items()))


def _compare(path: Path, file: safe_open, parts: Iterable[Part]) -> tuple[int, int]:
    """How many examples were left out and how many truncated. Raises an error if the checksum differs."""
    expected, _, counts = (file.metadata() or {}).get(ABOUT, "").partition(" ")
    if expected != checksum(f"{path.name} {counts}", parts):
        raise Damaged(_describe(path, "its checksum does not match"))
    left_out, cut = counts.split()
    return int(left_out), int(cut)


@contextmanager
def _opened(path: Path) -> Iterator[safe_open]:
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (OSError, SafetensorError, ValueError) as error:
        raise Damaged(_describe(path, str(error))) from None


def _describe(path: Path, why: str) -> str:
    return f"{path} is damaged ({why}). Run the same command again: it will be rebuilt from the data."


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file atomically: it is complete or not there."""
    with in_place(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def in_place(path: Path) -> Iterator[Path]:
    """A temporary name to write to. The file is then flushed to disk and renamed to `path`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
    except (OSError, SafetensorError) as error:
        temporary.unlink(missing_ok=True)
        raise DataError(
            f"{path}: cannot be written ({error}). Free some space, or set GLASSFORMER_CACHE to another folder."
        ) from None


def flush(path: Path) -> None:
    """Flushes a file's content, or a folder's list of names, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
