"""Statements about slips that hold for any two sides."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.data.phrasebook import phrasebook
from glassformer.data.slips.slip import Slip, realign
from slip_finding import find_slips

LINES = st.lists(
    st.sampled_from(["", "a", "B b?", "1984!", "言葉。", "\ud800\x00"]) | st.text(max_size=30), max_size=40
)


@cache
def book() -> tuple[list[str], list[str]]:
    phrases = phrasebook(train=1_500, valid=0, test=0).train
    return [phrase.source for phrase in phrases], [phrase.references[0] for phrase in phrases]


def check(slips: list[Slip], source: int, target: int) -> None:
    """In order, all their numbers possible, and every line is once in the pairing that they mean."""
    assert (slips[-1].offset if slips else 0) == target - source
    assert all(slip.surplus and 0 <= slip.confidence < 1 for slip in slips)
    assert all(
        1 <= slip.earliest <= slip.source_line <= slip.latest <= source + 1 or not slip.is_placed for slip in slips
    )
    assert all(one.source_line <= other.source_line for one, other in pairwise(slips))
    pairing = realign(slips, source, target)
    assert all(len(ours) == len(theirs) for ours, theirs in pairing.together)
    for side, alone, count in ((0, pairing.source_alone, source), (1, pairing.target_alone, target)):
        together = [pair[side] for pair in pairing.together]
        assert sorted(line for part in (*together, *alone) for line in part) == list(range(count))
        assert all(one.stop <= other.start for one, other in pairwise(together))


@given(LINES, LINES)
def test_any_two_sides_get_an_answer_that_covers_them(source: list[str], target: list[str]) -> None:
    check(find_slips(source, target), len(source), len(target))


@settings(max_examples=20, deadline=None)
@given(st.integers(60, 1_440), st.integers(1, 30), st.booleans())
def test_a_gap_in_a_book_is_found_where_it_is(place: int, count: int, in_target: bool) -> None:
    whole, holed = book() if in_target else reversed(book())
    holed = holed[:place] + holed[place + count :]
    source, target = (whole, holed) if in_target else (holed, whole)
    slips = find_slips(source, target)
    check(slips, len(source), len(target))
    assert [slip.offset for slip in slips] == [-count if in_target else count]
    assert abs(slips[0].source_line - 1 - place) <= 3
