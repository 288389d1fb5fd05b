"""Realigns files that are out of step: every line occurs once, with or without a partner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from glassformer.data.readers.inputs import Input
from glassformer.data.readers.lines import Line, count_lines, lines_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place, Problem, Record
from glassformer.data.readers.sentences import Side, pair
from glassformer.data.slips.slip import Slip, realign
from glassformer.data.slips.watch import slips_of

Numbered = Iterator[tuple[int, Line]]


def read_realigned(one: Input, *, on_read: Callable[[int], None] | None = None) -> Iterator[Record]:
    """The records of one aligned input, with its lines paired according to its slips.

    Lines without a partner get a problem, and so do lines so near to a slip that their partner is uncertain.
    """
    counts = [count_lines(path) for path in one.paths]
    slips = [found.slip for found in slips_of(one)] if any(counts) else []
    lefts, rights = (enumerate(lines_of(blocks_of(path, on_read=on_read), path), 1) for path in one.paths)
    names = shown(one.paths[0]), shown(one.paths[1])
    pairing = realign(slips, *counts)
    source = target = 0
    for together, others in pairing.together:
        yield from _alone(islice(lefts, together.start - source), names[0], left=True)
        yield from _alone(islice(rights, others.start - target), names[1], left=False)
        both = zip(islice(lefts, len(together)), islice(rights, len(together)), strict=False)
        for (number, left), (other, right) in both:
            record = _pair(left, Place(names[0], number, left[1]), right, Place(names[1], other, right[1]))
            yield _doubted(record) if record.problem is None and _is_doubtful(number, slips) else record
        source, target = together.stop, others.stop
    yield from _alone(lefts, names[0], left=True)
    yield from _alone(rights, names[1], left=False)


def _pair(left: Line, place: Place, right: Line, other: Place) -> Record:
    return pair(Side(left[0], place, left[2]), Side(right[0], other, right[2]))


def _alone(lines: Numbered, name: str, *, left: bool) -> Iterator[Record]:
    for number, (text, byte, _) in lines:
        place = Place(name, number, byte)
        problem = Problem("no partner", "no partner after realignment", place)
        yield Record(text.strip() if left else "", "" if left else text.strip(), place, problem)


def _is_doubtful(number: int, slips: Sequence[Slip]) -> bool:
    return any(slip.earliest < slip.latest and slip.earliest <= number <= slip.latest for slip in slips)


def _doubted(record: Record) -> Record:
    detail = "partner uncertain: too near to where the files get out of step"
    record.problem = Problem("no partner", detail, record.place)
    return record
