"""Finds text files and tables by name, pattern or folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from glassformer.data.readers.inputs import Input
from glassformer.data.readers.naming import TEXT, expand, kind_of, refuse_repeated, unpacked_name
from glassformer.data.readers.opening import STDIN, shown
from glassformer.data.sources.class_files import has_tabs
from glassformer.errors import DataError

TEXTS = {".txt", ".text", ".md", ".rst"}
CODE = {
    *(".py", ".pyi", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".kt", ".scala", ".go", ".rs", ".swift"),
    *(".js", ".mjs", ".ts", ".tsx", ".jsx", ".rb", ".php", ".lua", ".pl", ".r", ".jl", ".sh", ".sql", ".hs", ".ml"),
}
TEXT_SUFFIXES = TEXTS | CODE  # files that are read from a folder
TABLES = {"tsv", "csv", "jsonl"}


@dataclass(frozen=True)
class Source:
    """Files of examples; a subclass reads them."""

    inputs: tuple[Input, ...]
    columns: tuple[str, ...] | None

    @property
    def paths(self) -> list[Path]:
        return [path for one in self.inputs for path in one.paths]

    @property
    def names(self) -> str:
        """The first files, for messages."""
        return ", ".join(map(str, self.inputs[:3]))


def text_files(names: Sequence[str]) -> tuple[list[Input], list[str]]:
    """The files, each once, and the names of files in folders that are not texts."""
    inputs: list[Input] = []
    skipped: list[str] = []
    for name in names:
        if name and os.path.isdir(name):
            texts, others = _in_folder(Path(name))
            inputs += [Input((path,), TEXT) for path in texts]
            skipped += [shown(path) for path in others]
        else:
            inputs += [Input((path,), kind_of(path)) for path in expand([name])]
    refuse_unsuitable(inputs)
    return inputs, skipped


def table_files(names: Sequence[str]) -> list[Input]:
    """The files, each once: tables, JSON lines or text. A text file with tabs is a TSV."""
    inputs = [Input((path,), kind_of(path)) for path in expand(names)]
    refuse_unsuitable(inputs)
    return [Input(one.paths, "tsv") if one.kind == TEXT and has_tabs(one.paths[0]) else one for one in inputs]


def have_columns(names: Sequence[str]) -> bool:
    """Whether one of the files is a table, or JSON lines."""
    paths = [path for name in names if not (name and os.path.isdir(name)) for path in expand([name])]
    return any(kind_of(path) != TEXT or has_tabs(path) for path in paths)


def refuse_unsuitable(inputs: Sequence[Input]) -> None:
    if not inputs:
        raise DataError("No file was given. Give text files, or .tsv, .csv or .jsonl files.")
    for one in inputs:
        if one.paths[0] == STDIN:
            raise DataError("Data is read more than once, so it cannot come from stdin. Save it to a file first.")
        if one.kind not in TABLES and one.kind != TEXT:
            raise DataError(f"{one} has translations ({one.kind}). Give text files, or .tsv, .csv or .jsonl files.")
    refuse_repeated([path for one in inputs for path in one.paths])


def _in_folder(folder: Path) -> tuple[list[Path], list[Path]]:
    """All texts below a folder, sorted, and its other files; hidden files are ignored."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not _is_hidden(path.relative_to(folder)))
    texts = [path for path in found if Path(unpacked_name(path)).suffix.lower() in TEXT_SUFFIXES]
    if not texts:
        names = ", ".join(shown(path) for path in found[:3]) or "nothing"
        raise DataError(
            f"{shown(folder)}: no text files ({', '.join(sorted(TEXTS))}, source code) in this folder; it contains "
            f"{names}. Give other files by name or pattern."
        )
    return texts, [path for path in found if path not in set(texts)]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
