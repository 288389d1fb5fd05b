"""Files that are either complete or absent: written under a temporary name, flushed to the disk, then renamed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.errors import RunError
from glassformer.store import disk
from glassformer.text.foreign import JSON_BYTES, regular_bytes

if TYPE_CHECKING:
    from torch import Tensor

MANIFEST = "manifest.json"
TEMPORARY = ".*.tmp"  # left behind only by a process that was killed
FORMAT = 1
SEAL = "seal"  # the manifest's key for the sha256 of all its other keys
BEFORE = "before"  # an entry's key for the sha256 of the old version of a file that is being replaced


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces `path` atomically: a crash leaves the old file or the new one, never a part of it."""
    temporary = temporary_name(path)
    with disk_errors_in_words(path, "The previous content is unchanged"), removed_on_error(temporary, disk.remove):
        write_through(temporary, content)
        disk.rename(temporary, path)
    sync_folder(path.parent)


def write_new(path: Path, blocks: Iterable[bytes]) -> None:
    """Writes a new file of any size block by block; under its own name it is complete."""
    temporary = temporary_name(path)
    with disk_errors_in_words(path, "Nothing was written"), removed_on_error(temporary, disk.remove):
        disk.write(temporary, b"")
        for block in blocks:
            disk.append(temporary, block)
        disk.flush(temporary)
        disk.rename(temporary, path)
    sync_folder(path.parent)


def replace_quickly(path: Path, content: bytes) -> None:
    """Like `write_atomically`, but does not wait for the disk: after a power cut the file may be lost or empty."""
    temporary = temporary_name(path)
    with disk_errors_in_words(path, "The previous content is unchanged"), removed_on_error(temporary, disk.remove):
        disk.write(temporary, content)
        disk.rename(temporary, path)


def temporary_name(path: Path) -> Path:
    """The name of `path` until it is complete; TEMPORARY matches it."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def is_left_behind(path: Path, names: re.Pattern[str]) -> bool:
    """Whether this is one of our temporary files or folders, for one of these names, whose process has ended."""
    found = re.fullmatch(r"\.(.+)\.(\d{1,10})\.tmp", path.name)
    return found is not None and names.fullmatch(found[1]) is not None and not _is_running(int(found[2]))


def _is_running(process: int) -> bool:
    """Whether another process with this id is running."""
    if process == os.getpid():
        return False  # an earlier process with our id
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # another user's process
    return True


@contextmanager
def disk_errors_in_words(path: Path, unharmed: str) -> Iterator[None]:
    """Turns a disk error into one line: what could not be written, what is unharmed, what to do."""
    try:
        yield
    except OSError as error:
        todo = "Free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "Check the disk"
        raise RunError(
            f"{path}: cannot be written ({error.strerror}). {unharmed}. {todo} and run the same command again."
        ) from None


@contextmanager
def removed_on_error(temporary: Path, remove: Callable[[Path], None]) -> Iterator[None]:
    """Removes a temporary file or folder if writing it fails."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            remove(temporary)
        raise


def write_through(path: Path, content: bytes) -> None:
    """Writes a file and flushes it to the disk."""
    disk.write(path, content)
    disk.flush(path)


def sync_folder(folder: Path) -> None:
    """Makes a rename inside `folder` durable."""
    with disk_errors_in_words(folder, "What was written before is unchanged"):
        disk.flush(folder)


def write_folder(path: Path, files: Mapping[str, bytes], *, about: Mapping[str, Any]) -> None:
    """Writes a new folder with these files and their manifest. Under its final name it is always complete."""
    temporary = temporary_name(path)
    unharmed = "What was saved before is unchanged"
    with disk_errors_in_words(path, unharmed), removed_on_error(temporary, disk.remove_tree):
        if temporary.exists():
            disk.remove_tree(temporary)
        disk.make_folder(temporary)
        for name, content in {**files, MANIFEST: manifest_of(files, about=about)}.items():
            write_through(temporary / name, content)
        disk.flush(temporary)
        disk.rename(temporary, path)
    sync_folder(path.parent)


def make_parents(path: Path) -> None:
    """Creates the parent folders of `path`."""
    with disk_errors_in_words(path, "Nothing was written"):
        disk.make_folder(path.parent)


def remove_folder(path: Path) -> None:
    """Removes a folder. It is renamed first, so that a part of it is never seen under its name."""
    doomed = temporary_name(path)
    try:
        if doomed.exists():
            disk.remove_tree(doomed)
        disk.rename(path, doomed)
        disk.remove_tree(doomed)
    except OSError as error:
        raise RunError(f"{path}: cannot be removed ({error.strerror}). Everything needed is saved.") from None


def manifest_of(files: Mapping[str, bytes], *, about: Mapping[str, Any]) -> bytes:
    """The manifest of a folder: the sha256 and size of each file, and `about`; sealed by its own sha256."""
    entries = {name: {"sha256": sha256(content), "bytes": len(content)} for name, content in sorted(files.items())}
    return sealed({"format": FORMAT, **about, "files": entries})


def sealed(manifest: Mapping[str, Any]) -> bytes:
    return to_json({**manifest, SEAL: sha256(to_json(manifest))})


def read_manifest(folder: Path, *, must_be_sealed: bool = False) -> dict[str, Any]:
    """The manifest of a folder; an error if this version does not know its format. Old runs have no seal."""
    manifest = read_json(folder / MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        got = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise RunError(f"{folder / MANIFEST}: format {got!r}; this version reads format {FORMAT}. Update glassformer.")
    entries, seal = manifest.get("files"), manifest.pop(SEAL, None)
    if not isinstance(entries, dict) or not all(_is_entry(entry) for entry in entries.values()):
        raise RunError(f"{folder / MANIFEST}: damaged (an entry has no valid sha256). Restore it from a copy.")
    if seal != sha256(to_json(manifest)) and (must_be_sealed or seal is not None):
        raise RunError(f"{folder / MANIFEST} is damaged or was changed. Restore it from a copy.")
    return manifest


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("sha256"), str) and isinstance(entry.get("bytes"), int)


def read_checked(folder: Path, name: str, manifest: Mapping[str, Any]) -> bytes:
    """The bytes of a file; an error if they are not those that were written."""
    entry = manifest["files"].get(name)
    if entry is None:
        read_bytes(folder / name)  # an error if it is missing
        raise RunError(f"{folder / name} is not in the manifest beside it: it does not belong to this folder.")
    content = read_bytes(folder / name, limit=max(entry["bytes"], JSON_BYTES))
    if sha256(content) not in (entry["sha256"], entry.get(BEFORE)):
        raise RunError(
            f"{folder / name} is damaged or was changed: {len(content):,} bytes, expected {entry['bytes']:,} "
            f"with sha256 {entry['sha256'][:12]}..., got {sha256(content)[:12]}... Restore it from a copy."
        )
    return content


def read_bytes(path: Path, *, limit: int = JSON_BYTES) -> bytes:
    """The bytes of a regular file with at most `limit` of them."""
    try:
        return regular_bytes(path, limit=limit, error=RunError)
    except FileNotFoundError:
        raise RunError(f"{path} is missing. Restore it from a copy.") from None
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}).") from None


def read_json(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError):  # RecursionError: brackets nested thousands deep
        raise RunError(f"{path}: not valid JSON. The file is damaged; restore it from a copy.") from None


def to_json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False) + "\n").encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def pack_tensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Tensors as safetensors bytes; reading them runs no code."""
    from safetensors.torch import save  # it loads torch, which files of word vectors do not need

    return save({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()})


def unpack_tensors(content: bytes, *, origin: str) -> dict[str, Tensor]:
    import safetensors
    from safetensors.torch import load

    try:
        return load(content)
    except safetensors.SafetensorError as error:
        raise RunError(f"{origin}: not a safetensors file ({error}).") from None
