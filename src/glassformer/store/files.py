"""Files that are whole or not there: written under a temporary name, flushed to the disk, then renamed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import safetensors
from safetensors.torch import load, save
from torch import Tensor

from glassformer.errors import RunError
from glassformer.store import disk

MANIFEST = "manifest.json"
TEMPORARY = ".*.tmp"  # left behind only by a process that was killed
FORMAT = 1
SEAL = "seal"  # the manifest's key for the sha256 of all its other keys
BEFORE = "before"  # an entry's key for the sha256 of a file that is just being replaced


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces `path` in one step; a crash leaves the old file or the new one, never a half."""
    temporary = temporary_name(path)
    with told_in_words(path, "What stood there before is unchanged"), removed_if_cut(temporary, disk.remove):
        write_through(temporary, content)
        disk.rename(temporary, path)
    sync_folder(path.parent)


def replace_quickly(path: Path, content: bytes) -> None:
    """Like `write_atomically`, but does not wait for the disk: after a power cut the file may be lost or empty."""
    temporary = temporary_name(path)
    with told_in_words(path, "What stood there before is unchanged"), removed_if_cut(temporary, disk.remove):
        disk.write(temporary, content)
        disk.rename(temporary, path)


def temporary_name(path: Path) -> Path:
    """What `path` is called until it is whole; TEMPORARY matches it."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def is_left_behind(path: Path, names: re.Pattern[str]) -> bool:
    """Whether this is a temporary file or folder of ours for one of these names, and its process is gone."""
    found = re.fullmatch(r"\.(.+)\.(\d{1,10})\.tmp", path.name)
    return found is not None and names.fullmatch(found[1]) is not None and not _lives_on(int(found[2]))


def _lives_on(process: int) -> bool:
    """Whether another process with this number runs."""
    if process == os.getpid():
        return False  # it had our number before us
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # another user's
    return True


@contextmanager
def told_in_words(path: Path, unharmed: str) -> Iterator[None]:
    """A disk that is full or fails is one line: what could not be written, what is unharmed, what to do."""
    try:
        yield
    except OSError as error:
        todo = "Make room" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "Check the disk"
        raise RunError(
            f"{path}: cannot be written ({error.strerror}). {unharmed}. {todo} and run the same command again."
        ) from None


@contextmanager
def removed_if_cut(temporary: Path, remove: Callable[[Path], None]) -> Iterator[None]:
    """Takes away what an error left half written."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            remove(temporary)
        raise


def write_through(path: Path, content: bytes) -> None:
    """Writes a file all the way to the disk."""
    disk.write(path, content)
    disk.flush(path)


def sync_folder(folder: Path) -> None:
    """Makes a rename inside `folder` durable."""
    with told_in_words(folder, "What was written before is unchanged"):
        disk.flush(folder)


def write_folder(path: Path, files: Mapping[str, bytes], *, about: Mapping[str, Any]) -> None:
    """A new folder with these files and their manifest, complete from the moment it has its name."""
    temporary = temporary_name(path)
    with told_in_words(path, "What was saved before is unchanged"), removed_if_cut(temporary, disk.remove_tree):
        if temporary.exists():
            disk.remove_tree(temporary)
        disk.make_folder(temporary)
        for name, content in {**files, MANIFEST: manifest_of(files, about=about)}.items():
            write_through(temporary / name, content)
        disk.flush(temporary)
        disk.rename(temporary, path)
    sync_folder(path.parent)


def make_parents(path: Path) -> None:
    """The folders that `path` is to stand in."""
    with told_in_words(path, "Nothing was written"):
        disk.make_folder(path.parent)


def remove_folder(path: Path) -> None:
    """Takes a folder away; it loses its name first, so that no half of it is ever seen under it."""
    doomed = temporary_name(path)
    try:
        if doomed.exists():
            disk.remove_tree(doomed)
        disk.rename(path, doomed)
        disk.remove_tree(doomed)
    except OSError as error:
        raise RunError(f"{path}: cannot be removed ({error.strerror}). All that is needed is saved.") from None


def manifest_of(files: Mapping[str, bytes], *, about: Mapping[str, Any]) -> bytes:
    """What a folder holds: the sha256 and size of each file, and what they are about; sealed by its own sha256."""
    entries = {name: {"sha256": sha256(content), "bytes": len(content)} for name, content in sorted(files.items())}
    return sealed({"format": FORMAT, **about, "files": entries})


def sealed(manifest: Mapping[str, Any]) -> bytes:
    return to_json({**manifest, SEAL: sha256(to_json(manifest))})


def read_manifest(folder: Path, *, must_be_sealed: bool = False) -> dict[str, Any]:
    """The manifest of a folder; its format must be one that this version knows. The runs of old have no seal."""
    manifest = read_json(folder / MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        got = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise RunError(f"{folder / MANIFEST}: format {got!r}; this version reads format {FORMAT}. Update glassformer.")
    entries, seal = manifest.get("files"), manifest.pop(SEAL, None)
    if not isinstance(entries, dict) or not all(_is_entry(entry) for entry in entries.values()):
        raise RunError(f"{folder / MANIFEST}: no sha256 of each file in it. It is damaged; restore it from a copy.")
    if seal != sha256(to_json(manifest)) and (must_be_sealed or seal is not None):
        raise RunError(f"{folder / MANIFEST} is damaged or was changed. Restore it from a copy.")
    return manifest


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("sha256"), str) and isinstance(entry.get("bytes"), int)


def read_checked(folder: Path, name: str, manifest: Mapping[str, Any]) -> bytes:
    """A file's bytes, refused where they are not those that were written."""
    content = read_bytes(folder / name)
    entry = manifest["files"].get(name)
    if entry is None:
        raise RunError(f"{folder / name} is not in the manifest beside it: it does not belong to this folder.")
    if sha256(content) not in (entry["sha256"], entry.get(BEFORE)):
        raise RunError(
            f"{folder / name} is damaged or was changed: {len(content):,} bytes, expected {entry['bytes']:,} "
            f"with sha256 {entry['sha256'][:12]}..., got {sha256(content)[:12]}... Restore it from a copy."
        )
    return content


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise RunError(f"{path} is missing. Restore it from a copy.") from None
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}).") from None


def read_json(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError):  # brackets in thousands of brackets
        raise RunError(f"{path}: not valid JSON. The file is damaged; restore it from a copy.") from None


def to_json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False) + "\n").encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def pack_tensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Tensors as safetensors bytes: no code runs when they are read."""
    return save({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()})


def unpack_tensors(content: bytes, *, origin: str) -> dict[str, Tensor]:
    try:
        return load(content)
    except safetensors.SafetensorError as error:
        raise RunError(f"{origin}: not a safetensors file ({error}).") from None
