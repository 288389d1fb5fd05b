"""A file as pieces of its content: translations replace some of them, all others stay byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Write = Callable[[str], str | None]  # a translation -> how it is written in the file; None: it cannot be written
REASONS = 3  # reasons shown


@dataclass(frozen=True)
class Gap:
    """A piece that a translation replaces."""

    at: int  # which piece
    source: str
    write: Write
    old: str = ""  # the existing content, kept if the translation cannot be written


@dataclass
class Fillable:
    """The content of a file in pieces, and which of them to fill."""

    pieces: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    skipped: int = 0  # units that could not be filled
    reasons: list[str] = field(default_factory=list)  # line and reason of the first ones

    @property
    def sources(self) -> list[str]:
        """The texts to translate."""
        return [gap.source for gap in self.gaps]

    def skip(self, line: int, reason: str) -> None:
        self.skipped += 1
        if len(self.reasons) < REASONS:
            self.reasons.append(f"line {line:,}: {reason}")

    def note(self) -> str:
        """A message about what could not be filled; empty if everything was."""
        if not self.skipped:
            return ""
        units = (
            "1 unit could not be filled and was left unchanged"
            if self.skipped == 1
            else (f"{self.skipped:,} units could not be filled and were left unchanged")
        )
        more = self.skipped - len(self.reasons)
        return f"{units}: {'; '.join(self.reasons)}{f'; and {more:,} more' if more else ''}."

    def add(self, source: str, write: Write, *, old: str = "") -> None:
        self.gaps.append(Gap(len(self.pieces), source, write, old))
        self.pieces.append(old)

    def filled(self, translations: Sequence[str]) -> str:
        """The whole content with the translations, in the order of `sources`. Counts those that cannot be written."""
        pieces = list(self.pieces)
        for gap, text in zip(self.gaps, translations, strict=True):
            written = gap.write(text)
            if written is None:
                line = 1 + sum(piece.count("\n") for piece in self.pieces[: gap.at]) if self.skipped < REASONS else 0
                self.skip(line, "the translation lost inline elements or made them overlap")
            pieces[gap.at] = gap.old if written is None else written
        return "".join(pieces)


class Cutter:
    """Copies the raw bytes of a file up to each gap."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._position = raw, 0
        self.found = Fillable()

    def gap(self, start: int, end: int, source: str, write: Write) -> None:
        """A translation replaces the bytes from `start` to `end`."""
        self._copy(start)
        self.found.add(source, write, old=self._raw[start:end].decode())
        self._position = end

    def insert(self, at: int, text: str) -> None:
        self._copy(at)
        self.found.pieces.append(text)

    def done(self) -> Fillable:
        self._copy(len(self._raw))
        return self.found

    def _copy(self, end: int) -> None:
        self.found.pieces.append(self._raw[self._position : end].decode())
        self._position = end
