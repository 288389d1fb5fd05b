"""Two text files, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, zip_longest
from pathlib import Path

from glassformer.data.readers.lines import Line, count_lines, lines_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place, Problem, Record
from glassformer.data.readers.sentences import Side, pair


def read_aligned(source: Path, target: Path, *, on_read: Callable[[int], None] | None = None) -> Iterator[Record]:
    """One record for each line of the longer file. A line without a partner gets a problem."""
    lefts = lines_of(blocks_of(source, on_read=on_read), source)
    rights = lines_of(blocks_of(target, on_read=on_read), target)
    left_name, right_name = shown(source), shown(target)
    for number, (left, right) in enumerate(zip_longest(lefts, rights), 1):
        if left is None:
            yield from _surplus(number, chain([right], rights), longer=target, shorter=source)
        elif right is None:
            yield from _surplus(number, chain([left], lefts), longer=source, shorter=target, left=True)
        else:
            (text, byte, odd), (other, other_byte, other_odd) = left, right
            first, second = text.strip(), other.strip()
            place = Place(left_name, number, byte)
            if first and second and not odd and not other_odd:
                yield Record(first, second, place, target_at=(right_name, other_byte))
            else:
                yield pair(Side(text, place, odd), Side(other, Place(right_name, number, other_byte), other_odd))


def _surplus(first: int, lines: Iterator[Line], *, longer: Path, shorter: Path, left: bool = False) -> Iterator[Record]:
    """The rest of the longer file. Its lines are counted first, so that every problem can give both counts."""
    name = shown(longer)
    counts = f"{shown(shorter)} has {first - 1:,} lines, {name} has {count_lines(longer):,}"
    for number, (text, byte, oddities) in enumerate(lines, first):
        place = Place(name, number, byte)
        problem = Problem("no partner", f"no partner: {counts}", place)
        notes = tuple(odd for odd in oddities if odd.kind == "bom")
        text = text.strip()
        yield Record(text if left else "", "" if left else text, place, problem, notes)
