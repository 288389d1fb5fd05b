"""What the names of files say: globs, the kind of a file, its language, and which text files belong together."""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from glassformer.data.readers.languages import is_language
from glassformer.data.readers.opening import STDIN, check_file, packing_suffix, shown
from glassformer.errors import DataError

TEXT = "text"
_KINDS = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".po": "po",
    ".pot": "po",
    ".tmx": "tmx",
}


def expand(names: Sequence[str]) -> list[Path]:
    """The files that names and globs match, each glob in alphabetical order. All are regular files, or stdin."""
    paths = [path for name in names for path in _expand_one(name)]
    for path in paths:
        if path != STDIN:
            check_file(path)
    return paths


def _expand_one(name: str) -> list[Path]:
    if not name:
        raise DataError("An empty name was given instead of a file.")
    if name == "-":
        return [STDIN]
    if "\0" in name or not glob.has_magic(name) or os.path.lexists(name):
        return [_path(name)]
    found = sorted(glob.glob(name, recursive=True))
    files = [one for one in found if not os.path.isdir(one)]
    if not files:
        what = "matches only folders" if found else "matches no file"
        raise DataError(f"{shown(Path(name))} {what}. Check the pattern and the folder you are in.")
    return [_path(one) for one in files]


def _path(name: str) -> Path:
    """`./-` is a file, not stdin."""
    path = Path(name)
    return path.absolute() if path == STDIN else path


def refuse_repeated(paths: Sequence[Path]) -> None:
    """Raises an error if a file is given twice: its examples would silently count double."""
    seen: dict[object, Path] = {}
    for path in paths:
        first = seen.get(_identity(path))
        if first is not None:
            same = "given twice" if first == path else f"the same file as {shown(first)}"
            raise DataError(f"{shown(path)} is {same}. Give every file once.")
        seen[_identity(path)] = path


def same_file(one: Path, other: Path) -> bool:
    return _identity(one) == _identity(other)


def _identity(path: Path) -> object:
    if path == STDIN:
        return path
    found = path.stat()
    return found.st_dev, found.st_ino


def unpacked_name(path: Path) -> str:
    """The name without the compression suffix."""
    return path.name.removesuffix(packing_suffix(path))


def kind_of(path: Path) -> str:
    """The kind of a file by its suffix: a format with both sides, or text."""
    return "tsv" if path == STDIN else _KINDS.get(Path(unpacked_name(path)).suffix.lower(), TEXT)


def language_of(path: Path) -> str | None:
    """The language in a text file's name, as in train.en, train.en.gz or train.en.txt."""
    _, part = _split_language(path)
    return part if is_language(part) else None


def _split_language(path: Path) -> tuple[str, str]:
    """The name with a gap for its language, and the language: the last code in the name, else the last suffix."""
    parts = unpacked_name(path).split(".")
    at = max((i for i, part in enumerate(parts) if i and is_language(part)), default=len(parts) - 1)
    return str(path.parent / ".".join([*parts[:at], "*", *parts[at + 1 :]])), parts[at]


def pair_texts(paths: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Two text files are a pair whatever their names. More files are paired if only their language suffixes differ."""
    if len(paths) == 2:
        return [(paths[0], paths[1])]
    groups: dict[str, list[Path]] = defaultdict(list)
    suffixes: dict[str, None] = {}  # in the order in which they appear
    for path in paths:
        stem, suffix = _split_language(path)
        groups[stem].append(path)
        suffixes.setdefault(suffix)
    order = list(suffixes)
    return [
        _as_pair(sorted(group, key=lambda path: order.index(_split_language(path)[1]))) for group in groups.values()
    ]


def _as_pair(group: list[Path]) -> tuple[Path, Path]:
    if len(group) == 1:
        raise DataError(
            f"{shown(group[0])} has no partner among the files given. Give its translation too, with the same name "
            "except for the language (a.en a.de). A file with both sides, separated by tabs, must be named .tsv."
        )
    if len(group) > 2:
        names = ", ".join(shown(path) for path in group)
        raise DataError(f"{names}: {len(group)} files that belong together; a pair has two. Give two of them.")
    return group[0], group[1]


def refuse_crossed(sources: Sequence[Path], targets: Sequence[Path]) -> None:
    """Raises an error if the names pair the files differently from their order: a.en b.en with b.de a.de."""
    lefts, rights = ([_split_language(path)[0] for path in side] for side in (sources, targets))
    if lefts != rights and sorted(lefts) == sorted(rights):
        place = next(i for i, (left, right) in enumerate(zip(lefts, rights, strict=True)) if left != right)
        raise DataError(
            f"{shown(sources[place])} would be paired with {shown(targets[place])}, but another file's name matches "
            "better. Give source and target files in the same order."
        )
