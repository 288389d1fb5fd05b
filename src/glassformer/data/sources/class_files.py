"""One text file per class: each line is a text, and the label is in the file's name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from glassformer.data.readers.fields import Fields, OnRead
from glassformer.data.readers.lines import lines_of
from glassformer.data.readers.naming import unpacked_name
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place
from glassformer.data.readers.sentences import UNUSABLE
from glassformer.errors import DataError

PEEK = 50  # lines that determine whether a text file is a table


def has_tabs(path: Path) -> bool:
    """Whether most of the first lines have a tab, so that a text file is a table."""
    lines = [text for text, _, _ in islice(lines_of(blocks_of(path), path), PEEK) if text.strip()]
    return bool(lines) and 2 * sum("\t" in line for line in lines) > len(lines)


def class_labels(paths: Sequence[Path]) -> list[str]:
    """The labels in the file names: reviews.pos reviews.neg are pos and neg, good.txt bad.txt are good and bad."""
    names = [Path(unpacked_name(path)) for path in paths]
    suffixes = [name.suffix.removeprefix(".") for name in names]
    labels = suffixes if len({name.stem for name in names}) == 1 else [name.stem for name in names]
    if len(set(labels)) < len(labels) or "" in labels:
        got = ", ".join(shown(path) for path in paths[:4])
        raise DataError(f"{got}: each file must have a different name, which is the label of its lines.")
    return labels


def read_class_file(path: Path, label: str, *, on_read: OnRead = None) -> Iterator[Fields]:
    """One record for each line."""
    name = shown(path)
    for number, (text, byte, odd) in enumerate(lines_of(blocks_of(path, on_read=on_read), path), 1):
        problem = next((one for one in odd if one.kind in UNUSABLE), None)
        notes = tuple(one for one in odd if one.kind not in UNUSABLE)
        yield Fields((text, label), Place(name, number, byte), problem, notes)
