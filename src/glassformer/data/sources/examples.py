"""What a source gives: examples to learn from as a stream that can be restarted, and examples to validate with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from glassformer import __version__
from glassformer.data.checks.tally import ICONV, Tally
from glassformer.data.readers.opening import check_file
from glassformer.data.selection import CHANGED
from glassformer.errors import DataError

E = TypeVar("E")
FILES = "files"  # the fingerprint of the raw files, beside those of the examples
Stamps = list[tuple[int, int, int]]


class Listener(Protocol):
    """Hears what is found while data is read."""

    def on_stage(self, text: str) -> None: ...
    def on_count(self, done: int, total: int) -> None: ...


@dataclass(frozen=True)
class Examples(Generic[E]):
    """Examples of one task, checked and split."""

    train: Callable[[], Iterator[E]]
    count: int  # examples that `train` gives
    valid: Sequence[E]
    fingerprints: dict[str, str]  # sha256: "train" and "valid" of what is used, "files" of the raw files
    facts: Mapping[str, Any] = field(default_factory=dict)  # findings and what else a report shows


def stamps(paths: Iterable[Path]) -> Stamps:
    """What changes when a file is written to: size, time and inode."""
    stats = [path.stat() for path in paths]
    return [(stat.st_size, stat.st_mtime_ns, stat.st_ino) for stat in stats]


def refuse_changed(paths: Sequence[Path], seen: Stamps) -> None:
    """Examples from two states of a file would be data that nobody has."""
    if stamps(paths) != seen:
        raise DataError(CHANGED)


def decision_digest(*decisions: Any, parts: bytes = b"") -> str:
    """sha256 of all that decides which examples are used: the files, how they are read, and each unit's part."""
    return hashlib.sha256(json.dumps([__version__, *decisions]).encode() + parts).hexdigest()


def texts_digest(examples: Iterable[Sequence[str]]) -> str:
    """sha256 of all texts in their order."""
    digest = hashlib.sha256()
    for texts in examples:
        sizes = " ".join(str(len(text)) for text in texts)
        digest.update(f"{sizes} {''.join(texts)}".encode())
    return digest.hexdigest()


def meter(paths: Sequence[Path], progress: Callable[[int, int], None] | None) -> Callable[[int], None] | None:
    """Turns the sizes of blocks that are read into progress over all files."""
    if progress is None:
        return None
    total, done = sum(check_file(path) for path in paths), 0

    def on_read(size: int) -> None:
        nonlocal done
        done += size
        progress(done, total)

    return on_read


def refuse_unreadable(tally: Tally, *, unit: str) -> None:
    """Training on a file that is not what it seems would be wasted time."""
    for finding in tally.stops:
        raise DataError(
            f"{finding.count:,} of {tally.units:,} {unit} are unusable ({finding.help}), the first: "
            f"{finding.examples[0].problem}. That is more than 1%, so the file is probably not what it seems. "
            + (f"{ICONV}. " if finding.kind == "encoding" else "")
            + "`glassformer doctor` shows more."
        )
