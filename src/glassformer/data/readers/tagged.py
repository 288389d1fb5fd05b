"""Sentences with a label for each word: CoNLL columns (one word per line), or JSON lines (tagged_json.py).

A blank line ends a sentence, a line with the word -DOCSTART- (or `# newdoc` in CoNLL-U) begins a document. Columns are
separated by tabs or, in lines without a tab, by plain spaces: a no-break space belongs to its word.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from glassformer.data.readers.fields import OnRead
from glassformer.data.readers.lines import Line, lines_of
from glassformer.data.readers.naming import unpacked_name
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place, Problem
from glassformer.data.readers.sentences import UNUSABLE
from glassformer.errors import DataError

PEEK = 1000  # lines that determine the number of columns
MOST_WORDS = 20_000  # of a sentence: a file without blank lines is a mistake
DOCUMENT = "-DOCSTART-"
UNIVERSAL = ".conllu"
FORM, UPOS = 1, 3  # columns of CoNLL-U
PLAIN = re.compile(r"[^ \t-\r\x1c-\x1f]+")  # between white space of ASCII
OTHER_SPACES = re.compile(r"[^\S\x00-\x7f]")  # no-break spaces, ideographic spaces, ...
TOO_FEW = "this file has one column. Each line needs a word and a label: Paris<TAB>B-LOC"


@dataclass(slots=True)
class TaggedSentence:
    """The words of a sentence and their labels, as they are in the file. With a `problem` it cannot be used."""

    words: list[str]
    labels: list[str]
    place: Place  # of the first word
    document: int | None = None  # counts from 0 in a file; None: the file marks no documents
    lines: list[Place] = field(default_factory=list)  # of each word, in files of columns
    problem: Problem | None = None
    notes: tuple[Problem, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return (" ".join(self.words),)

    def place_of(self, word: int) -> Place:
        return self.lines[word] if self.lines else self.place


@dataclass(frozen=True)
class Layout:
    """The columns of a file: how many, and where the word and the label are."""

    width: int
    word: int
    label: int
    universal: bool = False

    def is_comment(self, text: str, cells: Sequence[str]) -> bool:
        """`# text = ...`; a word that begins with # has a label, so its line has as many columns as the others."""
        return text.startswith("#") and (self.universal or len(cells) != self.width)

    def is_part(self, cells: Sequence[str]) -> bool:
        """CoNLL-U: a line about several words (1-2), or about an omitted word (1.1)."""
        return self.universal and not cells[0].isdecimal()


def read_tagged_columns(
    path: Path, columns: tuple[str, ...] | None, *, on_read: OnRead = None
) -> Iterator[TaggedSentence]:
    """One record for each sentence. A line with an unusual number of columns makes its sentence unusable."""
    lines = lines_of(blocks_of(path, on_read=on_read), path)
    peek = list(islice(lines, PEEK))
    name = shown(path)
    layout = choose_layout([text for text, _, _ in peek], path, columns)
    if layout is None:
        return
    reader = _Columns(layout, name)
    for number, line in enumerate(chain(peek, lines), 1):
        if (done := reader.add(line, Place(name, number, line[1]))) is not None:
            yield done
    if (done := reader.taken()) is not None:
        yield done


class _Columns:
    """Collects lines into sentences."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.layout, self.name = layout, name
        self.document: int | None = None
        self.open: TaggedSentence | None = None

    def add(self, line: Line, place: Place) -> TaggedSentence | None:
        """The sentence that this line ends, if any."""
        text, _, odd = line
        problem = next((one for one in odd if one.kind in UNUSABLE), None)
        if problem is None and not text.strip():
            return self.taken()
        cells = cells_of(text)
        if problem is None and self.layout.is_comment(text, cells):
            return self.new_document() if text[1:].strip().startswith("newdoc") else None
        if problem is None and cells[0] == DOCUMENT:
            return self.new_document()
        if problem is None and len(cells) != self.layout.width:
            got = f"{len(cells)} column{'s' * (len(cells) != 1)}"
            need = f"need {self.layout.width}{not_separators(text)}: {text.strip()[:40]!r}"
            problem = Problem("columns", f"got {got}, {need}", place)
        if problem is None and self.layout.is_part(cells):
            return None
        self.take(cells, place, problem, tuple(one for one in odd if one.kind not in UNUSABLE))
        return None

    def take(self, cells: list[str], place: Place, problem: Problem | None, notes: tuple[Problem, ...]) -> None:
        self.open = self.open or TaggedSentence([], [], place, self.document)
        sentence = self.open
        sentence.problem, sentence.notes = sentence.problem or problem, sentence.notes + notes
        if problem is None:
            sentence.words.append(cells[self.layout.word])
            sentence.labels.append(cells[self.layout.label])
            sentence.lines.append(place)
        if len(sentence.words) > MOST_WORDS:
            raise DataError(
                f"{sentence.place}: a sentence of more than {MOST_WORDS:,} words. A blank line must end each sentence."
            )

    def new_document(self) -> TaggedSentence | None:
        done = self.taken()
        self.document = 0 if self.document is None else self.document + 1
        return done

    def taken(self) -> TaggedSentence | None:
        done, self.open = self.open, None
        return done


def cells_of(text: str) -> list[str]:
    """A line's columns, each stripped."""
    return [cell.strip() for cell in text.split("\t")] if "\t" in text else split_at_spaces(text)


def split_at_spaces(text: str) -> list[str]:
    """The parts of a text between plain spaces. `str.split` would also split at no-break spaces."""
    return text.split() if text.isascii() else PLAIN.findall(text)


def not_separators(text: str) -> str:
    """`; a no-break space (U+00A0) does not separate columns` if the text has such a space."""
    found = OTHER_SPACES.search(text.strip())
    return f"; {space_name(found[0])} does not separate columns" if found else ""


def space_name(space: str) -> str:
    name = unicodedata.name(space, "special space").lower()
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name} (U+{ord(space):04X})"


def choose_layout(texts: Sequence[str], path: Path, columns: tuple[str, ...] | None) -> Layout | None:
    """Where word and label are; None for a file without words."""
    universal = Path(unpacked_name(path)).suffix.lower() == UNIVERSAL
    rows = [cells_of(text) for text in texts if text.strip() and not (universal and text.startswith("#"))]
    widths = Counter(len(row) for row in rows if row[0] != DOCUMENT)
    if not widths:
        return None
    width = widths.most_common(1)[0][0]
    name = shown(path)
    if width == 1:
        refuse_other_spaces(texts, name)
    if columns is None:
        if width == 1:
            commas = (
                " Commas do not separate columns here: use tabs or spaces."
                if any("," in row[0] for row in rows)
                else ""
            )
            raise DataError(f"{name}: {TOO_FEW}.{commas} For JSON lines, name the file .jsonl.")
        return Layout(width, FORM, UPOS, True) if universal and width > UPOS else Layout(width, 0, width - 1)
    places = [column_number(column, width, name) for column in columns]
    return Layout(width, places[0], places[1], universal)


def refuse_other_spaces(texts: Sequence[str], name: str) -> None:
    """Raises an error if a file of one column seems to have more, with a space between them that does not count."""
    for number, text in enumerate(texts, 1):
        if found := OTHER_SPACES.search(text.strip()):
            raise DataError(
                f"{name}, line {number:,}: {text.strip()[:40]!r} has one column, because {space_name(found[0])} does "
                "not separate columns: it is part of the word. Replace these with tabs: perl -CSD -pe "
                f"'s/\\x{{{ord(found[0]):04X}}}/\\t/g' {name} > NEW_FILE"
            )


def column_number(column: str, width: int, name: str) -> int:
    if column.isdecimal() and 1 <= int(column) <= width:
        return int(column) - 1
    raise DataError(
        f"{name}: --columns names the column {column!r}; this file has no header and {width} columns, so give numbers "
        f"from 1 to {width}: word,label, for instance --columns 1,{width}."
    )
