"""Files of word vectors: word2vec's text and binary formats, GloVe's text (without a first line), plain or compressed.

The first bytes decide which format it is. Text is read as a stream into one array that grows with the file; nothing is
believed before it is checked, so a wrong first line cannot take all memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glassformer.data.readers.opening import STDIN, blocks_of, check_file, shown
from glassformer.errors import DataError
from glassformer.limits import WORD_ROWS, WORD_WIDTH
from glassformer.nn.native import word_lines
from glassformer.vectors.word_vectors import Floats, WordVectors

HEAD = 1 << 16  # bytes that decide the format
LINES = 1 << 22  # bytes that are parsed together
LONGEST_WORD = 1 << 12  # bytes
FIRST_ROWS = 1 << 14
FIRST_LINE = re.compile(rb"[ \t]*(\d{1,12})[ \t]+(\d{1,12})[ \t]*\r?\n")
WRONG_FIRST = re.compile(rb"\S+[ \t]+\d{1,12}$")
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|[+-]?(nan|inf)$", re.IGNORECASE)
FASTTEXT = (793712314).to_bytes(4, "little")
PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
AGAIN = "Download or copy the file again."

Progress = Callable[[int, int], None]


def load(path: str | Path, *, most: int | None = None, progress: Progress | None = None) -> WordVectors:
    """The vectors of a file. `most`: read only this many words, the first, which are usually the most frequent."""
    path = Path(path)
    name = shown(path)
    if path.is_dir():
        raise DataError(
            f"{name} is a folder. For the embedding table of a model: gf.load({str(path)!r}).word_vectors(); in a "
            "terminal, `glassformer vectors` takes the folder itself."
        )
    total, done = (0 if path == STDIN else check_file(path)), 0

    def on_read(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(done, total)

    blocks = blocks_of(path, on_read=on_read, block=1 << 20)
    head = b""
    while len(head) < HEAD and (block := next(blocks, b"")):
        head += block
    refuse_others(head, name)
    found = FIRST_LINE.match(head)
    stream = Stream(head, blocks)
    if found is None:
        width = width_of(head, name)
        rows = read_text(stream, width, None, most, name)
    else:
        count, width = int(found[1]), int(found[2])
        check_first_line(count, width, name)
        stream.skip(found.end())
        reader = read_text if looks_like_text(head[found.end() :], width) else read_binary
        rows = reader(stream, width, count, most, name)
    return WordVectors(rows.words, rows.matrix(), about={"file": name, "repeated": rows.repeated})


def refuse_others(head: bytes, name: str) -> None:
    """Raises an error for an empty file, and for formats that have the same endings."""
    if not head.strip():
        raise DataError(f"{name} is empty. {AGAIN}")
    if head.startswith(FASTTEXT):
        raise DataError(f"{name} is a fastText model (.bin), whose words are sums of parts. Use its .vec file.")
    if head.startswith(PICKLES):
        raise DataError(
            f"{name} is a Python pickle, which can run code when it is opened. In gensim: "
            "vectors.save_word2vec_format('vectors.bin', binary=True), and load that file."
        )
    if head.startswith(b"\x93NUMPY"):
        raise DataError(f"{name} has numbers only (.npy), no words. Give a file of word2vec or GloVe.")


def check_first_line(count: int, width: int, name: str) -> None:
    if not 1 <= width <= WORD_WIDTH or not 1 <= count <= WORD_ROWS:
        raise DataError(
            f"{name}: its first line promises {count:,} words with {width:,} numbers each; allowed are 1 to "
            f"{WORD_ROWS:,} words and 1 to {WORD_WIDTH:,} numbers. {AGAIN}"
        )


def width_of(head: bytes, name: str) -> int:
    """The numbers per word in a file without a first line: those at the end of its first lines."""
    lines = head.split(b"\n")
    lines = [line.rstrip() for line in (lines[:-1] if len(lines) > 1 else lines) if line.strip()][:20]
    widths = [numbers_at_end(line) for line in lines]
    if len(lines) > 1 and WRONG_FIRST.match(lines[0]) and min(widths[1:]) > 1:
        raise DataError(
            f"{name}, line 1: {lines[0][:40].decode('utf-8', 'backslashreplace')!r} has one number and the next line "
            f"{widths[1]:,}. A first line is `WORDS WIDTH`, two whole numbers, or a word like the others. {AGAIN}"
        )
    width = min(widths, default=0)  # a word may be a number itself
    if not 1 <= width <= WORD_WIDTH:
        shown_line = lines[0][:40].decode("utf-8", "backslashreplace") if lines else ""
        raise DataError(
            f"{name}: not a file of word vectors; its first line is {shown_line!r}. Expected lines like `word 0.12 "
            "-0.3 ...`, or word2vec's formats, which begin with `WORDS WIDTH`."
        )
    return width


def numbers_at_end(line: bytes) -> int:
    """How many numbers a line has after its word."""
    parts = line.split(b" ")[1:]
    parts = parts if len(parts) else line.split(b"\t")[1:]
    return next((i for i, part in enumerate(reversed(parts)) if not NUMBER.match(part)), len(parts))


def looks_like_text(head: bytes, width: int) -> bool:
    """Whether the bytes after the first line are text. Binary vectors of a few words nearly always have other bytes."""
    line = head.split(b"\n", 1)[0].rstrip()
    parts = line.split(b"\t" if b" " not in line else b" ")
    if b"\0" in head or len(parts) <= width:
        return False
    return all(NUMBER.match(part) for part in parts[-width:])


@dataclass
class Stream:
    """Blocks of bytes that are read in other portions."""

    buffer: bytes
    blocks: Iterator[bytes]
    start: int = 0

    def skip(self, count: int) -> None:
        self.start += count

    def more(self) -> bool:
        """Adds the next block; False at the end."""
        block = next(self.blocks, b"")
        self.buffer, self.start = self.buffer[self.start :] + block, 0
        return bool(block)

    def at_least(self, count: int) -> bool:
        parts, size = [self.buffer[self.start :]], len(self.buffer) - self.start
        while size < count and (block := next(self.blocks, b"")):
            parts.append(block)
            size += len(block)
        self.buffer, self.start = b"".join(parts), 0
        return size >= count

    def lines(self) -> Iterator[bytes]:
        """Whole lines, many at once."""
        while True:
            more = self.at_least(LINES)
            end = self.buffer.rfind(b"\n") + 1 if more else len(self.buffer)
            if end:
                yield self.buffer[:end]
                self.start = end
            elif more and len(self.buffer) > 16 * LINES:
                yield self.buffer  # one endless line: refused by the caller
                return
            if not more:
                return


@dataclass
class Rows:
    """Words and rows, in an array that grows."""

    width: int
    most: int | None
    name: str
    words: list[str] = field(default_factory=list)
    table: Floats = field(init=False)
    seen: set[str] = field(default_factory=set)
    repeated: int = 0
    count: int = 0

    def __post_init__(self) -> None:
        self.table = np.empty((min(FIRST_ROWS, self.most or FIRST_ROWS), self.width), np.float32)

    @property
    def is_full(self) -> bool:
        return self.most is not None and self.count >= self.most

    def add(self, words: list[str], rows: Floats) -> None:
        """Appends rows; a word that was there before is left out and counted, as the first one counts."""
        if self.most is not None:
            words, rows = words[: self.most - self.count], rows[: self.most - self.count]
        check_finite(words, rows, self.name)
        before = len(self.seen)
        self.seen.update(words)
        if len(self.seen) - before < len(words):
            words, rows = self._new_ones(words, rows)
        if self.count + len(words) > len(self.table):
            self.table.resize((max(self.count + len(words), 2 * len(self.table)), self.width), refcheck=False)
        self.table[self.count : self.count + len(words)] = rows
        self.words += words
        self.count += len(words)

    def _new_ones(self, words: list[str], rows: Floats) -> tuple[list[str], Floats]:
        known = set(self.words)
        new = [i for i, word in enumerate(words) if not (word in known or known.add(word))]  # type: ignore[func-returns-value]
        self.repeated += len(words) - len(new)
        return [words[i] for i in new], rows[new]

    def matrix(self) -> Floats:
        return self.table[: self.count]


def check_finite(words: list[str], rows: Floats, name: str) -> None:
    wrong = ~np.isfinite(rows).all(axis=1)
    if wrong.any():
        raise DataError(f"{name}: the vector of {words[int(wrong.argmax())]!r} has NaN or infinite numbers. {AGAIN}")


# Text


def read_text(stream: Stream, width: int, count: int | None, most: int | None, name: str) -> Rows:
    """Lines of a word and its numbers. A word may contain spaces, as in GloVe's largest files."""
    found, lines = Rows(width, most, name), 1 if count is None else 2
    for block in stream.lines():
        words, rows, problem = word_lines.parsed(block, width)
        if problem is not None and not (found.most is not None and found.count + len(words) >= found.most):
            line = block.split(b"\n")[problem]
            raise DataError(
                f"{name}, line {lines + problem:,}: expected a word and {width:,} numbers, got "
                f"{line[:60].decode('utf-8', 'backslashreplace')!r}{'...' if len(line) > 60 else ''}. {AGAIN}"
            )
        found.add(words, rows)
        lines += block.count(b"\n")
        if found.is_full:
            break
    check_count(found, count, name)
    return found


def check_count(found: Rows, count: int | None, name: str) -> None:
    """Raises an error if there are fewer words than the first line promises."""
    read = found.count + found.repeated
    if count is not None and not found.is_full and read != count:
        raise DataError(f"{name}: its first line promises {count:,} words, but it has {read:,}. {AGAIN}")
    if not found.count:
        raise DataError(f"{name} has no words. {AGAIN}")


# Binary


def read_binary(stream: Stream, width: int, count: int, most: int | None, name: str) -> Rows:
    """Each word, a space, its numbers as little-endian float32; a line end may follow, as from the authors' program."""
    found, size = Rows(width, most, name), 4 * width
    wanted = count if most is None else min(count, most)
    while found.count + found.repeated < wanted and not found.is_full:
        words, places, end = binary_words(stream.buffer, stream.start, size, wanted - found.count - found.repeated)
        if words:
            raw = np.frombuffer(stream.buffer, np.uint8)
            rows = rows_at(raw, places, size)
            base = stream.start
            stream.start = end
            try:
                found.add([word.decode("utf-8") for word in words], rows)
            except UnicodeDecodeError:
                bad = next(word for word in words if not is_utf8(word))
                raise DataError(f"{name}: a word near byte {base:,} is not UTF-8: {bad[:40]!r}. {AGAIN}") from None
            continue
        if len(stream.buffer) - stream.start > size + LONGEST_WORD or not stream.more():
            read = found.count + found.repeated
            raise DataError(
                f"{name} ends or is damaged after {read:,} of the {count:,} words that its first line promises. {AGAIN}"
            )
    return found


def is_utf8(word: bytes) -> bool:
    try:
        word.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def binary_words(buffer: bytes, start: int, size: int, most: int) -> tuple[list[bytes], list[int], int]:
    """The words that are wholly in the buffer, where their numbers begin, and where the next word begins."""
    words: list[bytes] = []
    places: list[int] = []
    at, length = start, len(buffer)
    find = buffer.find
    while len(words) < most:
        space = find(b" ", at, at + LONGEST_WORD)
        if space < 0 or space + 1 + size > length:
            break
        words.append(buffer[at:space].lstrip(b"\n"))
        places.append(space + 1)
        at = space + 1 + size
    return words, places, at


def rows_at(raw: NDArray[np.uint8], places: list[int], size: int) -> Floats:
    rows = np.empty((len(places), size), np.uint8)
    for number, place in enumerate(places):
        rows[number] = raw[place : place + size]
    return rows.view("<f4").astype(np.float32, copy=False)
