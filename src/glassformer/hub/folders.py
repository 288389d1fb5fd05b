"""Writes a folder completely or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from glassformer.errors import ExportError
from glassformer.models.registry import RECURRENT
from glassformer.printable import opening


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to write into. It becomes `path` if there was no error; otherwise it is removed."""
    if path.exists():
        raise ExportError(f"{path} already exists. Choose another --out, or remove it first.")
    made = [parent for parent in path.parents if not parent.exists()]
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with disk_errors_in_words(path):
        part.mkdir(parents=True)
    try:
        yield part
        with disk_errors_in_words(path):
            part.rename(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        for parent in made:
            with suppress(OSError):  # something is in it
                parent.rmdir()


@contextmanager
def disk_errors_in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ExportError(f"{path}: cannot be written ({error.strerror}). Nothing was exported.") from None


def refuse_recurrent(kind: str, program: str) -> None:
    """An error for models that other programs do not have."""
    if kind in RECURRENT:
        raise ExportError(
            f"{opening(kind)} model cannot be exported: {program} has no such architecture. Its run folder is its "
            "format: copy the folder to another machine that has glassformer."
        )


def write_json(path: Path, value: Any) -> None:
    with disk_errors_in_words(path):
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
