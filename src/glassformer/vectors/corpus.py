"""A text as numbers: every word one id, every line end LINE_END. Read once, in a stream; plain or compressed.

The ids of a text larger than memory are in a temporary file that the system maps into memory, 4 bytes per word.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from glassformer.data.readers.lines import lines_of
from glassformer.data.readers.opening import STDIN, blocks_of
from glassformer.data.readers.sentences import UNUSABLE
from glassformer.data.sources.text_split import TextSource, text_source
from glassformer.errors import DataError
from glassformer.vectors.words import LINE_END, splitter

END = -1  # the id of a line end
IN_MEMORY = 1 << 27  # ids; longer texts are kept in a temporary file
BLOCK = 1 << 22  # ids

Ids = NDArray[np.int32]
Counts = NDArray[np.int64]
Progress = Callable[[int, int], None]  # (bytes read, bytes in all)


@dataclass(frozen=True)
class Corpus:
    """The words, most frequent first, how often each occurs, and the text as ids; rare words are left out of it."""

    words: tuple[str, ...]
    counts: Counts  # (V,)
    ids: Ids  # with END after each line
    read: int  # words, rare ones included
    distinct: int  # words before rare ones were left out
    unusable: int = 0  # lines that could not be read

    @property
    def tokens(self) -> int:
        return int(self.counts.sum())


class _Ids:
    """Ids that are appended: in memory, or in a file when there are too many."""

    def __init__(self, folder: Path | None, most: int) -> None:
        self.folder, self.most = folder, most
        self.parts: list[Ids] = []
        self.count = 0
        self.file: IO[bytes] | None = None

    def append(self, ids: Ids) -> None:
        self.count += len(ids)
        if self.file is not None:
            self.file.write(ids.tobytes())
            return
        self.parts.append(ids)
        if self.count > self.most:
            self.file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 (`whole` closes it)
            for part in self.parts:
                self.file.write(part.tobytes())
            self.parts = []

    def whole(self) -> Ids:
        if self.file is None:
            found = np.concatenate([*self.parts, np.empty(0, np.int32)])
            self.parts = []
            return found
        self.file.flush()
        with self.file:  # the mapping keeps it
            return np.memmap(self.file, np.int32, "r+", shape=(self.count,))


def read_corpus(
    files: Sequence[str],
    *,
    columns: tuple[str, ...] | None = None,
    min_count: int = 5,
    most_words: int | None = None,
    split: str = "words",
    lower: bool = True,
    progress: Progress | None = None,
    folder: Path | None = None,
    in_memory: int = IN_MEMORY,
) -> Corpus:
    """The words of text files, of one column of tables, or of stdin (`-`). `folder`: where a temporary file may be."""
    unusable = [0]
    texts = stdin_texts(unusable) if list(files) == ["-"] else file_texts(files, columns, progress, unusable)
    found = corpus_of(
        texts,
        min_count=min_count,
        most_words=most_words,
        split=split,
        lower=lower,
        folder=folder,
        in_memory=in_memory,
        origin=", ".join(files[:3]) if list(files) != ["-"] else "stdin",
    )
    return Corpus(found.words, found.counts, found.ids, found.read, found.distinct, unusable[0])


def file_texts(
    files: Sequence[str], columns: tuple[str, ...] | None, progress: Progress | None, unusable: list[int]
) -> Iterator[str]:
    source = text_source(files, columns)
    if source.is_running:
        findings = source.findings()
        for pieces in source.files(findings=findings, progress=progress):
            last = LINE_END
            for piece in pieces:
                last = piece.text
                yield last
            if not last.endswith(LINE_END):
                yield LINE_END
        unusable[0] = findings.units - findings.used
        return
    yield from row_texts(source, progress, unusable)


def row_texts(source: TextSource, progress: Progress | None, unusable: list[int]) -> Iterator[str]:
    for row in source.rows(progress=progress):
        if row.problem is None:
            yield f"{row.texts[0]}{LINE_END}"
        else:
            unusable[0] += 1


def stdin_texts(unusable: list[int]) -> Iterator[str]:
    for text, _, odd in lines_of(blocks_of(STDIN), STDIN, pieces=True):
        if any(one.kind in UNUSABLE for one in odd):
            unusable[0] += 1
        else:
            yield f"{text}{' ' if any(one.kind == 'continued' for one in odd) else LINE_END}"


def corpus_of(
    texts: Iterable[str],
    *,
    min_count: int = 5,
    most_words: int | None = None,
    split: str = "words",
    lower: bool = True,
    folder: Path | None = None,
    in_memory: int = IN_MEMORY,
    origin: str = "the text",
) -> Corpus:
    """The words of texts. A line end in a text ends a line; the pieces of a line may be several texts."""
    words_of = splitter(split=split, lower=lower)
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    numbers[LINE_END]  # gets 0
    ids = _Ids(folder, in_memory)
    last = LINE_END
    for text in texts:
        if words := words_of(text):
            ids.append(np.fromiter(map(numbers.__getitem__, words), np.int32, len(words)))
            last = words[-1]
    if last != LINE_END:
        ids.append(np.zeros(1, np.int32))
    return _by_frequency(ids.whole(), list(numbers), min_count, most_words, origin)


def _by_frequency(ids: Ids, words: list[str], min_count: int, most: int | None, origin: str) -> Corpus:
    """Ids by frequency, the most frequent word first; equal ones in the order of the alphabet."""
    counts = np.zeros(len(words), np.int64)
    for start in range(0, len(ids), BLOCK):
        counts += np.bincount(ids[start : start + BLOCK], minlength=len(words))
    counts[0] = 0
    order = sorted(np.flatnonzero(counts >= max(1, min_count)).tolist(), key=lambda i: (-counts[i], words[i]))[:most]
    refuse_empty(order, counts, min_count, origin)
    new = np.full(len(words), END - 1, np.int32)
    new[order], new[0] = np.arange(len(order)), END
    length = 0
    for start in range(0, len(ids), BLOCK):
        part = new[ids[start : start + BLOCK]]
        part = part[part >= END]
        ids[length : length + len(part)] = part  # never ahead of what is read
        length += len(part)
    read, distinct = int(counts.sum()), int(np.count_nonzero(counts))
    return Corpus(tuple(words[i] for i in order), counts[order], ids[:length], read, distinct)


def refuse_empty(order: Sequence[int], counts: Counts, min_count: int, origin: str) -> None:
    if order:
        return
    if not counts.any():
        raise DataError(f"{origin}: no words were found. Give a text; `--split spaces` takes every character as it is.")
    raise DataError(
        f"{origin}: no word occurs {min_count:,} times; the most frequent occurs {counts.max():,} times. Use a smaller "
        "min_count (--min-count), or more text."
    )
