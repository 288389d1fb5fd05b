"""What a source gives: training examples as a stream that can be restarted, and validation examples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from glassformer import __version__
from glassformer.data.checks.tally import ICONV, SHOWS_MORE, Tally
from glassformer.data.readers.opening import check_file
from glassformer.data.selection import CHANGED
from glassformer.errors import DataError, SettingsError

E = TypeVar("E")
FILES = "files"  # the key of the raw files' fingerprint, besides those of the examples
Stamps = list[tuple[int, int, int]]


class Listener(Protocol):
    """Receives messages while data is read."""

    def on_stage(self, text: str) -> None: ...
    def on_count(self, done: int, total: int) -> None: ...


@dataclass(frozen=True)
class Examples(Generic[E]):
    """Examples of one task, checked and split."""

    train: Callable[[], Iterator[E]]
    count: int  # number of examples in `train`
    valid: Sequence[E]
    fingerprints: dict[str, str]  # sha256: "train" and "valid" of what is used, "files" of the raw files
    facts: Mapping[str, Any] = field(default_factory=dict)  # findings and other facts for a report


def stamps(paths: Iterable[Path]) -> Stamps:
    """File attributes that change when a file is written: size, time and inode."""
    stats = [path.stat() for path in paths]
    return [(stat.st_size, stat.st_mtime_ns, stat.st_ino) for stat in stats]


def refuse_changed(paths: Sequence[Path], seen: Stamps) -> None:
    """Raises an error if a file has changed since: examples from two versions of a file must not be mixed."""
    if stamps(paths) != seen:
        raise DataError(CHANGED)


def changed_since(begun: Mapping[str, str], digest: Callable[[], str]) -> bool:
    """Whether the digest of the files to learn from is not that of `begun`; False if they are gone."""
    with suppress(DataError, SettingsError, OSError):
        return FILES in begun and digest() != begun[FILES]
    return False


def decision_digest(*decisions: Any, parts: bytes = b"") -> str:
    """sha256 of everything that determines which examples are used: the files, how they are read, each unit's part."""
    return hashlib.sha256(json.dumps([__version__, *decisions]).encode() + parts).hexdigest()


def texts_digest(examples: Iterable[Sequence[str]]) -> str:
    """sha256 of all texts in order."""
    digest = hashlib.sha256()
    for texts in examples:
        sizes = " ".join(str(len(text)) for text in texts)
        digest.update(f"{sizes} {''.join(texts)}".encode())
    return digest.hexdigest()


def meter(paths: Sequence[Path], progress: Callable[[int, int], None] | None) -> Callable[[int], None] | None:
    """Turns the sizes of the blocks read into progress over all files."""
    if progress is None:
        return None
    total, done = sum(check_file(path) for path in paths), 0

    def on_read(size: int) -> None:
        nonlocal done
        done += size
        progress(done, total)

    return on_read


def refuse_unreadable(tally: Tally, *, unit: str) -> None:
    """Raises an error if so much is unreadable that the file is probably in another format."""
    for finding in tally.stops:
        raise DataError(
            f"{finding.count:,} of {tally.units:,} {unit} are unusable ({finding.help}), the first: "
            f"{finding.examples[0].problem}. With this many, the file probably has another format. "
            + (f"{ICONV}. " if finding.kind == "encoding" else "")
            + SHOWS_MORE
        )
