"""Sentence pairs from files. Only "\\n" ends a line, and a problem names its file and line."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from glassformer.errors import DataError


@dataclass(frozen=True)
class Corpus:
    """Aligned sentences, and how many pairs were left out for which reason."""

    sources: list[str]
    targets: list[str]
    dropped: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sources)

    def fingerprint(self) -> str:
        """sha256 of all sentences in their order."""
        digest = hashlib.sha256()
        for source, target in zip(self.sources, self.targets, strict=True):
            digest.update(f"{len(source)} {len(target)} {source}{target}".encode())
        return digest.hexdigest()


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 text file, plain or .gz; a "\\r" before the line's end and a byte order mark are dropped."""
    lines = _bytes_of(path).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()  # the file ends with a newline, as it should
    return [_decode(line.removesuffix(b"\r"), path, number) for number, line in enumerate(lines, 1)]


def _bytes_of(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except FileNotFoundError:
        raise DataError(f"{path}: no such file. Check the name and the folder you are in.") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; a text file is needed.") from None
    except PermissionError:
        raise DataError(f"{path}: not readable. Check its permissions.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(f"{path}: not a whole gzip file. Make or copy it again.") from None
    except (OSError, ValueError) as error:  # below a file, a name too long or with a NUL in it, ...
        raise DataError(f"{str(path)!r} cannot be read: {error}.") from None


def _decode(line: bytes, path: Path, number: int) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {number:,}, byte {error.start + 1}: not UTF-8 (got 0x{line[error.start]:02x}). "
            "Save the file as UTF-8, for instance with iconv."
        ) from None
    if "\0" in text:
        raise DataError(f"{path}, line {number:,}: a NUL character. This is not a text file, or it is UTF-16.")
    return text


def read_aligned(source: Path, target: Path) -> Corpus:
    """Two text files, line by line. Different numbers of lines are an error, never a silent cut."""
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        longer, count = (source, len(targets)) if len(sources) > len(targets) else (target, len(sources))
        raise DataError(
            f"line {count + 1:,} of {longer} has no partner: {source} has {len(sources):,} lines, "
            f"{target} has {len(targets):,}. The two files must have the same number of lines."
        )
    return without_blanks(sources, targets, origin=f"{source} and {target}")


def read_tsv(path: Path) -> Corpus:
    """One file, source and target in the first two tab-separated columns; further columns are ignored."""
    rows = [(number, line.split("\t")) for number, line in enumerate(read_lines(path), 1) if line.strip()]
    for number, row in rows:
        if len(row) < 2:
            raise DataError(
                f"{path}, line {number:,}: got 1 column, need 2 separated by a tab (source, target): {row[0][:40]!r}."
            )
    return without_blanks([row[0] for _, row in rows], [row[1] for _, row in rows], origin=str(path))


def read_pair_files(paths: Sequence[Path]) -> Corpus:
    """Two aligned files, or one TSV."""
    return read_aligned(paths[0], paths[1]) if len(paths) == 2 else read_tsv(paths[0])


def without_blanks(sources: list[str], targets: list[str], *, origin: str) -> Corpus:
    """The pairs with text on both sides, white space at the ends removed; the rest is counted."""
    stripped = [(source.strip(), target.strip()) for source, target in zip(sources, targets, strict=True)]
    kept = [pair for pair in stripped if pair[0] and pair[1]]
    if not kept:
        raise DataError(f"{origin}: no sentence pair in it ({len(stripped):,} lines, all blank on one side).")
    blank = len(stripped) - len(kept)
    return Corpus([s for s, _ in kept], [t for _, t in kept], {"blank on one side": blank} if blank else {})


def hold_out(corpus: Corpus, *, share: float = 0.02, most: int = 1000, seed: int = 1) -> tuple[Corpus, Corpus]:
    """Splits off a held-out part. A sentence decides by its own hash, so a repeated one never stands on both sides."""
    share = min(share, most / len(corpus))
    chosen = [_hash_share(source, seed) < share for source in corpus.sources]
    if not any(chosen) or all(chosen):
        raise DataError(
            f"Only {len(corpus):,} sentence pairs: too few to hold some out for validation. "
            "Give more, or a held-out part of your own with --valid."
        )
    return _part(corpus, chosen, False), _part(corpus, chosen, True)


def _hash_share(text: str, seed: int) -> float:
    digest = hashlib.sha256(f"{seed} {text}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _part(corpus: Corpus, chosen: Sequence[bool], wanted: bool) -> Corpus:
    index = [i for i, flag in enumerate(chosen) if flag == wanted]
    dropped = {} if wanted else corpus.dropped
    return Corpus([corpus.sources[i] for i in index], [corpus.targets[i] for i in index], dropped)


def all_sides(corpus: Corpus) -> Iterator[str]:
    """Every sentence of both sides, for one shared vocabulary."""
    yield from corpus.sources
    yield from corpus.targets
