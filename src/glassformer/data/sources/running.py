"""Running text for language models, in pieces of whole lines. Joined, the pieces of a file are its text.

Line ends are kept, as "\\n"; so are blank lines. A line that cannot be read is left out and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from glassformer.data.checks.text_findings import LineCheck, TextFindings
from glassformer.data.readers.fields import Fields
from glassformer.data.readers.lines import CONTINUED, Line, lines_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place, Problem
from glassformer.data.readers.sentences import UNUSABLE

PIECE = 1 << 14  # characters; a piece ends at the first line end after this many


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a document, or a whole document."""

    text: str
    place: Place  # where it begins
    starts: bool = True  # whether it is the beginning of a document
    whole: bool = False  # whether it is a whole document: a row of a table


class RunningText:
    """One file of running text. Pass findings to check it; omit them to use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = shown(path)

    def pieces(
        self,
        *,
        findings: TextFindings | None = None,
        check: LineCheck | None = None,
        on_read: Callable[[int], None] | None = None,
    ) -> Iterator[TextPiece]:
        """The text in order. Every line is counted in `findings`."""
        lines: list[tuple[str, Place]] = []
        size, starts, number, any_line = 0, True, 1, False
        ending = _Ending(blocks_of(self.path, on_read=on_read))
        for text, byte, odd in lines_of(ending.blocks(), self.path, pieces=True):
            any_line = True
            place = Place(self.name, number, byte)
            continued = bool(odd) and any(one.kind == CONTINUED for one in odd)
            number += not continued
            if odd and not _is_usable((text, byte, odd), place, findings):
                continue
            if size >= PIECE:
                yield self._piece(lines, starts, findings, check)
                lines, size, starts = [], 0, False
            lines.append((text if continued else f"{text}\n", place))
            size += len(text) + 1
            if findings is not None and not odd:
                findings.units += 1
                findings.used += 1
        if lines:
            if not ending.is_line_end and lines[-1][1].number == number - 1:
                lines[-1] = (lines[-1][0].removesuffix("\n"), lines[-1][1])
            yield self._piece(lines, starts, findings, check)
        elif findings is not None and not any_line:
            place = Place(self.name, 1, 0)
            findings.count(Fields((), place, Problem("empty", "an empty file", place)), "empty")

    def _piece(
        self, lines: list[tuple[str, Place]], starts: bool, findings: TextFindings | None, check: LineCheck | None
    ) -> TextPiece:
        text = "".join([line for line, _ in lines])
        if findings is not None:
            findings.documents += starts
            findings.characters += len(text)
            findings.words += len(text.split())
        if check is not None:
            check.check(lines)
        return TextPiece(text, lines[0][1], starts)


class _Ending:
    """Passes on blocks and remembers whether the last one ended with a line feed."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self.is_line_end = True

    def blocks(self) -> Iterator[bytes]:
        for block in self._blocks:
            self.is_line_end = block.endswith(b"\n")
            yield block


def _is_usable(line: Line, place: Place, findings: TextFindings | None) -> bool:
    """Whether an odd line can be used; counts it."""
    text, _, odd = line
    problem = next((one for one in odd if one.kind in UNUSABLE), None)
    if findings is not None:
        notes = tuple(one for one in odd if one.kind not in UNUSABLE)
        findings.count(Fields((text,), place, problem, notes), problem.kind if problem else None)
    return problem is None
