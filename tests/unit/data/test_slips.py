"""Slips of two sides: found where they are, not found where there are none, and put right again."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from glassformer.data.phrasebook import phrasebook
from glassformer.data.slips.evidence import prior
from glassformer.data.slips.path import Judge, Run, likeliest
from glassformer.data.slips.sketches import SKETCH_BYTES, Floats, Side, sketch
from glassformer.data.slips.slip import Slip, SlipFeatures, realign
from slip_finding import find_slips

Sides = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def book() -> Sides:
    phrases = phrasebook(train=4_000, valid=0, test=0).train
    return [phrase.source for phrase in phrases], [phrase.references[0] for phrase in phrases]


@pytest.fixture(scope="module")
def foreign(book: Sides) -> Sides:
    """No word is shared, nor ever said twice: the lengths alone tell."""
    random = Random(1)
    letters = "абвгдежзийклмнопрст    "
    sources = [" ".join(["word"] * random.randint(1, 3) + ["wordy"] * random.randint(0, 9)) for _ in book[0]]
    return sources, ["".join(random.choices(letters, k=round(len(s) * random.gauss(1.1, 0.1)))) for s in sources]


def cut(lines: list[str], first: int, count: int) -> list[str]:
    """Without the lines from `first` (counted from 1) on."""
    return lines[: first - 1] + lines[first - 1 + count :]


def lines_and_offsets(slips: list[Slip]) -> list[tuple[int, int]]:
    return [(slip.source_line, slip.offset) for slip in slips]


@pytest.mark.parametrize("lines", [0, 1, 2, 3, 7, 13, 31, 67, 151, 499, 4_000])
def test_aligned_sides_do_not_slip(book: Sides, foreign: Sides, lines: int) -> None:
    for source, target in (book, foreign):
        assert find_slips(source[4_000 - lines :], target[4_000 - lines :]) == []


@pytest.mark.parametrize("lines", [5, 53, 400, 3_000])
def test_lines_that_are_not_translations_do_not_slip(book: Sides, lines: int) -> None:
    target = book[1][-lines:]
    Random(2).shuffle(target)
    assert find_slips(book[0][-lines:], target) == []


def test_sorted_sides_do_not_slip(book: Sides, foreign: Sides) -> None:
    for sides in (book, foreign):
        by_length = sorted(zip(*sides, strict=True), key=lambda pair: len(pair[0]))
        assert find_slips([source for source, _ in by_length], [target for _, target in by_length]) == []


def test_many_translations_of_one_line_are_no_evidence_of_a_slip(book: Sides) -> None:
    source, target = book[0][:1_000], book[1][:1_000]
    alike = [target[at] for at in range(500) if "der" in target[at]][:40]
    source[500:500] = [source[499]] * len(alike)
    target[500:500] = alike[7:] + alike[:7]
    assert find_slips(source, target) == []


@pytest.mark.parametrize("moved", [1, 2, 3])
def test_a_line_that_comes_a_little_too_early_is_not_a_slip(book: Sides, moved: int) -> None:
    target = list(book[1])
    for at in range(10, 4_000, 50):
        target.insert(at, target.pop(at + moved))
    assert find_slips(book[0], target) == []


def test_blank_lines_hide_nothing(book: Sides) -> None:
    random = Random(3)
    blanks = [[""] * random.choice([0, 0, 1, 3]) for _ in book[0]]
    source, target = ([text for at, line in enumerate(side) for text in (line, *blanks[at])] for side in book)
    assert find_slips(source, target) == []
    first = next(at for at, line in enumerate(source, 1) if at > 1_500 and not line)
    (slip,) = find_slips(source, cut(target, first, 1))
    assert abs(slip.source_line - first) <= 3
    assert slip.offset == -1


@pytest.mark.parametrize("first", [1, 2, 37, 1_999, 3_990])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_lines_missing_in_the_target(book: Sides, first: int, count: int) -> None:
    (slip,) = find_slips(book[0], cut(book[1], first, count))
    assert abs(slip.source_line - first) <= 1
    assert slip.target_line == slip.source_line
    assert (slip.offset, slip.surplus) == (-count, -count)
    assert slip.earliest <= slip.source_line <= slip.latest
    assert slip.is_placed


@pytest.mark.parametrize(("first", "count"), [(1, 3), (2_345, 1), (3_900, 2)])
def test_lines_missing_in_the_source(book: Sides, first: int, count: int) -> None:
    (slip,) = find_slips(cut(book[0], first, count), book[1])
    assert abs(slip.source_line - first) <= 1
    assert (slip.offset, slip.surplus) == (count, count)
    assert slip.until_source_line == 4_000 - count


@pytest.mark.parametrize("first", [3, 700, 2_803, 3_980])
def test_lengths_alone_locate_a_slip_to_a_few_lines(foreign: Sides, first: int) -> None:
    (slip,) = find_slips(foreign[0], cut(foreign[1], first, 1))
    assert abs(slip.source_line - first) <= 10
    assert slip.earliest <= first <= slip.latest


def test_a_shorter_end_is_no_wrong_partner(book: Sides) -> None:
    (longer_target,) = find_slips(book[0][:-3], book[1])
    assert (longer_target.source_line, longer_target.offset, longer_target.until_source_line) == (3_998, 3, 3_997)
    (longer_source,) = find_slips(book[0], book[1][:-3])
    assert (longer_source.source_line, longer_source.offset, longer_source.until_source_line) == (3_998, -3, 3_997)


@pytest.mark.parametrize("length", [20, 100, 2_500])
def test_equal_counts_hide_nothing(book: Sides, length: int) -> None:
    target = cut(book[1], 1_001, 1)
    target.insert(1_000 + length, "Das steht nur hier.")
    gone, back = find_slips(book[0], target)
    assert lines_and_offsets([gone, back]) == [(1_001, -1), (1_002 + length, 0)]
    assert gone.until_source_line == 1_001 + length
    assert back.until_source_line == 4_000


def test_a_shift_from_the_first_line_to_the_last(book: Sides) -> None:
    slips = find_slips(book[0][1:], book[1][:-1])
    assert lines_and_offsets(slips) == [(1, 1), (3_999, 0)]


def test_many_slips_add_up(book: Sides) -> None:
    kept = [line for number, line in enumerate(book[1], 1) if number % 100]
    slips = find_slips(book[0], kept)
    assert [slip.offset for slip in slips] == [-count for count in range(1, 41)]
    assert sum(slip.source_line == 100 * count for count, slip in enumerate(slips, 1)) >= 38


def test_passages_missing_far_beyond_the_band(book: Sides) -> None:
    target = book[1][:1_000] + book[1][1_300:2_500] + book[1][2_900:]
    slips = find_slips(book[0], target)
    assert [slip.offset for slip in slips] == [-300, -700]
    assert all(abs(slip.source_line - true) <= 2 for slip, true in zip(slips, (1_001, 2_501), strict=True))


def test_a_passage_missing_on_each_side_with_equal_counts(book: Sides) -> None:
    slips = find_slips(book[0][:800] + book[0][1_300:], book[1][:3_000] + book[1][3_500:])
    assert [slip.offset for slip in slips] == [500, 0]
    assert all(abs(slip.source_line - true) <= 2 for slip, true in zip(slips, (801, 2_501), strict=True))


def test_a_window_of_each_side_shifted_far(book: Sides) -> None:
    slips = find_slips(book[0][700:], book[1][:-700])
    assert lines_and_offsets(slips) == [(1, 700), (2_601, 0)]
    assert slips[-1].until_source_line == 2_600


class Oracle(Judge):
    """Knows: the first 512 lines stand at offset 0, the others at 900."""

    def band(self, first: int, lowest: int, width: int) -> Floats:
        offsets = np.broadcast_to(lowest + np.arange(width), (512, width))
        return np.where(offsets == (0 if first < 512 else 900), 2, -2).astype(np.float32)


def test_a_path_goes_to_a_far_offset_as_soon_as_it_may() -> None:
    lines = Side(sketch([""] * 1_024))
    runs = likeliest(Oracle(lines, lines, prior()), [Run(512, 1_024, 900)])
    assert runs == [Run(0, 512, 0), Run(512, 1_024, 900)]


def test_a_cycle_of_lines_stays_where_it_is() -> None:
    """Any offset explains it as well, and by the lengths the next line fits better; but nothing speaks against 0."""
    assert find_slips(["one", "2", "three thirty"] * 30, ["eins, das ist lang", "zwo", "3"] * 30) == []


def test_lines_too_alike_are_said_to_be(book: Sides) -> None:
    (slip,) = find_slips(["Yes."] * 500, ["Ja."] * 499)
    assert not slip.is_placed
    assert slip.offset == -1
    assert slip.latest - slip.earliest > 400
    target = book[1][:1_000]
    Random(5).shuffle(target)
    (slip,) = find_slips(book[0][:1_000], target[:-1])
    assert not slip.is_placed


def test_sides_without_lines() -> None:
    assert find_slips([], []) == []
    assert lines_and_offsets(find_slips(["one"], [])) == [(1, -1)]
    assert lines_and_offsets(find_slips([], ["eins", "zwei"])) == [(1, 2)]


def test_blocks_give_the_same_as_the_whole(book: Sides) -> None:
    target = cut(book[1], 2_222, 2)
    features = SlipFeatures()
    for start in range(0, 4_000, 300):
        features.add_source(book[0][start : start + 300])
    for start in range(0, 4_000, 700):
        features.add_target(target[start : start + 700])
    before = features.slips()
    assert before == find_slips(book[0], target)
    features.add_target(["Und noch eine.", "Und noch eine."])
    assert [slip.offset for slip in features.slips()] == [-2, 0]


def test_a_line_costs_29_bytes_however_long() -> None:
    assert SKETCH_BYTES == 29
    assert sketch(["", "x", "word " * 100_000]).nbytes == 3 * 29


def test_sketches_see_through_case_accents_and_endings() -> None:
    lines = ["Café zürich 1984!", "CAFE Zurich 1984！", "cafe zurich 1985!", "cafeteria zurichsee 1984?"]
    one, same, other_number, same_stems = sketch(lines)
    assert (one == same).all()
    assert (one != other_number).any()
    assert (one[5:] != same_stems[5:]).any()  # a word is known by its first five letters, and these have four
    assert sketch(["她走了。"])[0, 2] == 3  # without spaces every character is a word
    assert sketch(["어디에"])[0, 2] == 1


def test_realigned_sides_are_pairs_again(book: Sides) -> None:
    source, target = cut(book[0], 3_000, 2), cut(book[1], 1_000, 3)
    target.insert(2_000, "Das steht nur hier.")
    pairing = realign(find_slips(source, target), len(source), len(target))
    true = set(zip(*book, strict=True))
    got = [(source[i], target[j]) for ours, theirs in pairing.together for i, j in zip(ours, theirs, strict=True)]
    assert len(got) == 3_995
    assert sum(pair in true for pair in got) >= 3_993
    assert [len(gap) for gap in pairing.source_alone] == [3]
    assert [len(gap) for gap in pairing.target_alone] == [1, 2]


def test_realign_without_slips_leaves_everything_together() -> None:
    pairing = realign([], 5, 5)
    assert pairing.together == [(range(5), range(5))]
    assert pairing.source_alone == pairing.target_alone == []


def test_slips_come_in_order(book: Sides) -> None:
    random = Random(7)
    target = list(book[1])
    for at in sorted(random.sample(range(50, 3_950), 12), reverse=True):
        target[at : at + 1] = [] if random.random() < 0.5 else [target[at], "Das steht nur hier."]
    slips = find_slips(book[0], target)
    assert len(slips) >= 10
    assert all(one.until_source_line == other.source_line - 1 for one, other in pairwise(slips))
    assert slips[-1].offset == len(target) - 4_000
