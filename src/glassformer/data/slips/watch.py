"""Finds the slips of aligned files, with their places, while the records are read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from glassformer.data.readers.inputs import Input, read_pairs
from glassformer.data.readers.opening import shown
from glassformer.data.readers.records import Problem, Record
from glassformer.data.slips.slip import Slip, SlipFeatures

_LINES = 4096  # passed on together


@dataclass(frozen=True)
class FoundSlip:
    """A slip, and the two files that it is in."""

    source_file: str
    target_file: str
    slip: Slip

    def __str__(self) -> str:
        slip = self.slip
        side, count = ("target", slip.surplus) if slip.surplus > 0 else ("source", -slip.surplus)
        lines = f"{count:,} line{'s' if count != 1 else ''} too many in the {side}"
        where = f"at or near source line {slip.source_line:,} and target line {slip.target_line:,}"
        if not slip.is_placed:
            where = f"somewhere between source lines {slip.earliest:,} and {slip.latest:,}"
        if slip.offset == 0:
            return f"{lines}, {where}: from here on the lines are in step again"
        return f"{lines}, {where}: from here to source line {slip.until_source_line:,} all partners are wrong"


class SlipWatch:
    """Watches the records of aligned inputs while they are read. Keeps a few bytes of each line, not the line."""

    def __init__(self, inputs: Sequence[Input], *, most: float = math.inf) -> None:
        """Only the first `most` lines of each input are used."""
        self._most = most
        self._aligned = [one for one in inputs if one.kind == "aligned"]
        self._features = [SlipFeatures() for _ in self._aligned]
        self._lines = [0 for _ in self._aligned]
        self._place_of = {shown(path): at for at, one in enumerate(self._aligned) for path in one.paths}
        self._targets = {shown(one.paths[1]) for one in self._aligned}

    def passing(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records; after the last one, `slips` is available."""
        if not self._aligned:
            yield from records
            return
        at: int | None = None
        sources: list[str] = []
        targets: list[str] = []
        for record in records:
            here = self._place_of.get(record.place.file)
            if here != at or len(sources) + len(targets) >= _LINES:
                self._hand_on(at, sources, targets)
                at, sources, targets = here, [], []
            surplus = record.problem is not None and record.problem.kind == "no partner"
            if not (surplus and record.place.file in self._targets):
                sources.append(record.source)
            if not surplus or record.place.file in self._targets:
                targets.append(record.target)
            yield record
        self._hand_on(at, sources, targets)

    def _hand_on(self, at: int | None, sources: list[str], targets: list[str]) -> None:
        if at is not None and self._lines[at] < self._most:
            self._lines[at] += len(sources)
            self._features[at].add_source(sources)
            self._features[at].add_target(targets)

    def slips(self) -> Iterator[tuple[Input, list[FoundSlip]]]:
        """The slips of each input that has any. Extra lines at the end of one file are not a slip."""
        for one, features in zip(self._aligned, self._features, strict=True):
            names = shown(one.paths[0]), shown(one.paths[1])
            found = [FoundSlip(*names, slip) for slip in features.slips() if slip.source_line <= slip.until_source_line]
            if found:
                yield one, found


def slips_of(one: Input) -> list[FoundSlip]:
    """Reads one aligned input to find its slips."""
    watch = SlipWatch([one])
    for _ in watch.passing(read_pairs([one])):
        pass
    return [slip for _, found in watch.slips() for slip in found]


def slip_problems(one: Input, slips: Sequence[FoundSlip]) -> Iterator[tuple[Problem, Record]]:
    """Each slip as a problem with the place and texts of its line. Reads the input once more."""
    wanted = {found.slip.source_line: found for found in slips}
    for number, record in enumerate(read_pairs([one]), 1):
        if number in wanted:
            yield Problem("slip", str(wanted.pop(number)), record.place), record
            if not wanted:
                return
