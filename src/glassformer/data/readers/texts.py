"""The unchanged lines of text files, also blank ones, for commands that must write one line for each line read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from glassformer.data.readers.lines import lines_of
from glassformer.data.readers.opening import blocks_of, check_file
from glassformer.data.readers.sentences import UNUSABLE
from glassformer.errors import DataError

ADVICE = {"encoding": "Save the file as UTF-8, for instance with iconv.", "too big": "Split the line into sentences."}


def texts_of(path: Path) -> Iterator[str]:
    """Every line of a file, plain or compressed. A line that cannot be read raises an error with its place."""
    check_file(path)
    for text, _, oddities in lines_of(blocks_of(path), path):
        for odd in oddities:
            if odd.kind in UNUSABLE:
                raise DataError(f"{odd}. {ADVICE.get(odd.kind, 'Correct or remove this line.')}")
        yield text
