"""Files that are whole or not there: written under a temporary name, flushed to the disk, then renamed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
from safetensors.torch import load, save
from torch import Tensor

from glassformer.errors import RunError

MANIFEST = "manifest.json"
TEMPORARY = ".*.tmp"  # left behind only by a process that was killed
FORMAT = 1


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces `path` in one step; a crash leaves the old file or the new one, never a half."""
    temporary = temporary_name(path)
    try:
        write_through(temporary, content)
        temporary.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror}). What stood there before is unchanged.") from None
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def replace_quickly(path: Path, content: bytes) -> None:
    """Like `write_atomically` for a reader of the file, but a power cut may take it: nothing waits for the disk."""
    temporary = temporary_name(path)
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror}). What stood there before is unchanged.") from None
    finally:
        temporary.unlink(missing_ok=True)


def temporary_name(path: Path) -> Path:
    """What `path` is called until it is whole; TEMPORARY matches it."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def write_through(path: Path, content: bytes) -> None:
    """Writes a file all the way to the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Makes a rename inside `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        raise RunError(f"{folder}: cannot be flushed to the disk ({error.strerror}). Check the disk.") from None
    finally:
        os.close(handle)


def write_folder(path: Path, files: Mapping[str, bytes], *, about: Mapping[str, Any]) -> None:
    """A new folder with these files and their manifest, complete from the moment it has its name."""
    temporary = temporary_name(path)
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        for name, content in {**files, MANIFEST: manifest_of(files, about=about)}.items():
            write_through(temporary / name, content)
        sync_folder(temporary)
        temporary.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror}). Earlier checkpoints are unchanged.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_folder(path.parent)


def manifest_of(files: Mapping[str, bytes], *, about: Mapping[str, Any]) -> bytes:
    """What a folder holds: the sha256 and size of each file, and what they are about."""
    entries = {name: {"sha256": sha256(content), "bytes": len(content)} for name, content in sorted(files.items())}
    return to_json({"format": FORMAT, **about, "files": entries})


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; its format must be one that this version knows."""
    manifest = read_json(folder / MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        got = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise RunError(f"{folder / MANIFEST}: format {got!r}; this version reads format {FORMAT}. Update glassformer.")
    entries = manifest.get("files")
    if not isinstance(entries, dict) or not all(_is_entry(entry) for entry in entries.values()):
        raise RunError(f"{folder / MANIFEST}: no sha256 of each file in it. It is damaged; restore it from a copy.")
    return manifest


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("sha256"), str) and isinstance(entry.get("bytes"), int)


def read_checked(folder: Path, name: str, manifest: Mapping[str, Any]) -> bytes:
    """A file's bytes, refused where they are not those that were written."""
    content = read_bytes(folder / name)
    entry = manifest["files"].get(name)
    if entry is None:
        raise RunError(f"{folder / name} is not in the manifest beside it: it does not belong to this folder.")
    if sha256(content) != entry["sha256"]:
        raise RunError(
            f"{folder / name} is damaged or was changed: {len(content):,} bytes, expected {entry['bytes']:,} "
            f"with sha256 {entry['sha256'][:12]}..., got {sha256(content)[:12]}... Restore it from a copy."
        )
    return content


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}).") from None


def read_json(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path))
    except (ValueError, UnicodeDecodeError):
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
