"""The page of the data: what it tells adds up, whatever the corpus."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glassformer.data.checks.findings import Findings
from glassformer.data.checks.held import Held
from glassformer.data.checks.ratios import MIDDLE
from glassformer.data.checks.screen import screen
from glassformer.data.readers.records import Place, Problem, Record
from glassformer.explain.data_report import (
    BARS,
    WIDEST,
    Learning,
    bars_of,
    examination_report,
    file_names,
    quantile,
    shown_data,
)
from glassformer.explain.page import page_data
from glassformer.explain.report import ShownData, ShownLengths
from glassformer.printable import embedded

SOME = [(f"The dog number {i} sleeps.", f"Der Hund Nummer {i} schläft.") for i in range(67)]


def examined(
    pairs: Iterable[tuple[str, str]],
    *,
    filters: Iterable[str] = (),
    held: Held | None = None,
    examine: float = math.inf,
) -> Findings:
    """Findings of these pairs; a blank side makes a pair unusable."""
    records = []
    for number, (source, target) in enumerate(pairs, 1):
        place = Place("train.en", number, 10 * number)
        problem = None if source and target else Problem("blank", "a side is blank", place)
        records.append(Record(source, target, place, problem))
    findings = Findings()
    list(screen(records, filters=list(filters), findings=findings, held=held, examine=examine))
    return findings


def histogram_of(lengths: Iterable[int], places: int = 1001) -> np.ndarray:
    return np.bincount(np.minimum(list(lengths), places - 1), minlength=places)


def assert_every_unit_is_accounted_for(data: ShownData) -> None:
    """Each sum is the one before it less the rows between them."""
    rest = data.units[0].count
    for row in data.units:
        rest -= 0 if row.is_sum else row.count
        assert not row.is_sum or row.count == rest
        assert row.count >= 0
    assert data.units[0].is_sum
    assert data.units[-1].is_sum


# Units


def test_every_unit_of_an_examination_is_accounted_for() -> None:
    data = shown_data(examined([*SOME, ("", "x"), ("x", ""), SOME[0]], filters=["duplicate"]))
    assert_every_unit_is_accounted_for(data)
    assert [(row.name, row.count) for row in data.units] == [
        ("units read", 70),
        ("blank", 2),
        ("duplicate", 1),
        ("pairs that can be used", 67),
    ]
    assert data.units[1].help == "one side or both are blank"
    assert (data.usable, data.examined) == (68, 68)


def test_every_unit_of_a_training_is_accounted_for() -> None:
    findings = examined([*SOME, ("", "x")])
    data = shown_data(findings, Learning(pairs=50, left_out=4, most=200))
    assert_every_unit_is_accounted_for(data)
    assert [(row.name, row.count) for row in data.units[-4:]] == [
        ("pairs used", 67),
        ("held out", 13),
        ("too many tokens", 4),
        ("pairs learned from", 50),
    ]
    assert data.tokens is not None
    assert (data.tokens.allowed, data.tokens.left_out, data.tokens.of) == (200, 4, 54)


def test_a_training_that_used_all_says_nothing_of_leaving_out() -> None:
    data = shown_data(examined(SOME), Learning(pairs=67, left_out=0, most=200))
    assert [row.name for row in data.units] == ["units read", "pairs used", "pairs learned from"]


def test_where_only_the_first_pairs_were_examined_shares_are_of_those() -> None:
    pairs = [(f"The dog {i} sleeps.", f"Der Hund {i} schläft.") for i in range(3000)]
    pairs[7] = ("A\x07 cat.", "Eine Katze.")
    pairs[2999] = ("A\x07 dog.", "Ein Hund.")
    data = shown_data(
        examined([*pairs, ("", "")], filters=["control"], examine=100), Learning(2998, 0, 200, ("control",))
    )
    assert_every_unit_is_accounted_for(data)
    assert (data.usable, data.examined) == (3000, 2048)
    assert [(row.name, row.count) for row in data.units[1:3]] == [("control", 2), ("blank", 1)]
    assert [(one.name, one.count, one.applied) for one in data.filters] == [("control", 1, True)]
    assert {one.kind: one.of for one in data.findings} == {"control": 2048, "blank": 3001}


def test_a_filter_that_hits_only_after_the_examined_pairs_is_reported_as_a_drop_alone() -> None:
    pairs = [(f"The dog {i} sleeps.", f"Der Hund {i} schläft.") for i in range(3000)]
    findings = examined([*pairs, ("A\x07 cat.", "Eine Katze.")], filters=["control"], examine=100)
    data = shown_data(findings, Learning(3000, 0, 200, ("control",)))
    assert [(row.name, row.count, row.help) for row in data.units[1:2]] == [
        ("control", 1, "control characters in the text")
    ]
    assert data.filters == ()
    assert "control" not in findings.hits


# Lengths


@pytest.mark.parametrize(
    "lengths",
    [
        [1],
        [7, 7],
        range(1, 61),
        range(1, 62),
        range(1, 1500),
        [30] * 1000 + [900],
        [5000],
        [999],
        [1000],
        [3] * 7 + [2000],
    ],
)
def test_every_line_is_in_one_bar(lengths: Iterable[int]) -> None:
    here = list(lengths)
    other = [2] * len(here)
    shown = bars_of("characters", (histogram_of(here), histogram_of(other)))
    assert sum(shown.bars[0]) == sum(shown.bars[1]) == len(here)
    assert len(shown.bars[0]) == len(shown.bars[1]) <= BARS + 1
    closed = len(shown.bars[0]) - shown.is_open
    for i in range(closed):
        inside = [n for n in here if i * shown.width < n <= (i + 1) * shown.width]
        assert shown.bars[0][i] == len(inside)
    assert shown.is_open == any(n > closed * shown.width for n in here)
    assert shown.bars[0][-1] or shown.bars[1][-1] or len(shown.bars[0]) == 1


def test_a_few_very_long_lines_do_not_squeeze_the_others() -> None:
    shown = bars_of("characters", (histogram_of([*range(20, 80)] * 20 + [950]), histogram_of([40] * 1201)))
    assert shown.is_open
    assert (shown.width, len(shown.bars[0])) == (2, 41)
    assert shown.bars[0][-1] == 1


@pytest.mark.parametrize("share", [0.5, 0.95, 0.995])
def test_quantiles_are_those_of_the_lines(share: float) -> None:
    lengths = np.random.default_rng(3).integers(1, 400, size=997)
    assert quantile(histogram_of(lengths), share) == np.quantile(lengths, share, method="inverted_cdf")


def test_lengths_are_those_of_the_sides() -> None:
    characters, words = shown_data(examined([("ab cd", "x"), ("ab cd ef", "yy zz"), ("a", "uvw")])).lengths
    assert (characters.measure, words.measure) == ("characters", "words")
    assert (characters.medians, characters.p95) == ((5, 3), (8, 5))
    assert (words.medians, words.p95) == ((2, 1), (3, 2))
    assert words.bars == ((1, 1, 1), (2, 1, 0))
    assert (characters.limit, words.limit) == (1000, None)


def test_what_is_longer_than_the_histograms_reach_is_known_to_be_so() -> None:
    characters, words = shown_data(examined([("x " * 600, "y " * 600)])).lengths
    assert characters.medians[0] == characters.longest_known == 1000
    assert words.medians[0] == words.longest_known == 200
    assert characters.over_limit == 1
    assert characters.is_open


def test_huge_counts_stay_exact() -> None:
    many = 10**15 + 1
    shown = bars_of("words", (histogram_of([4]) * many, histogram_of([5]) * many))
    assert json.loads(embedded(page_data_of(shown)))["bars"] == [[0, 0, 0, many, 0], [0, 0, 0, 0, many]]


def page_data_of(shown: ShownLengths) -> object:
    report = examination_report(examined(SOME), [Path("a")])
    assert report.data is not None
    return page_data(replace(report, data=replace(report.data, lengths=(shown,))))["data"]["lengths"][0]


def test_without_a_usable_pair_there_are_no_lengths() -> None:
    data = shown_data(examined([("", "x")]))
    assert data.lengths == ()
    assert data.ratios is None
    assert data.examined == 0
    assert_every_unit_is_accounted_for(data)


def test_every_pair_is_in_one_bar_of_the_ratios_and_the_limit_is_inside_the_picture() -> None:
    pairs = [("a" * n, "b" * (n + n % 7)) for n in range(40, 140)]
    ratios = shown_data(examined([*pairs, ("a", "b " * 400)])).ratios
    assert ratios is not None
    assert sum(ratios.bars) == 101
    assert len(ratios.bars) == 1 - 2 * ratios.first
    assert ratios.bars[-1] == 1  # far beyond, in the last bar
    assert -MIDDLE <= ratios.first < -ratios.steps * math.log2(ratios.limit)
    assert ratios.over_limit == 1
    assert ratios.factor == pytest.approx(1, abs=0.1)


def test_too_few_pairs_have_no_usual_ratio() -> None:
    assert shown_data(examined(SOME[:49])).ratios is None
    assert shown_data(examined(SOME[:50])).ratios is not None


# Findings


def test_examples_are_printable_and_short() -> None:
    data = shown_data(examined([*SOME, ("bell \x07 \u202e" * 60, "שלום"), ("\x1b[31m", "x")]))
    control = next(one for one in data.findings if one.kind == "control")
    assert control.count == 2
    first, second = control.examples
    assert first.source.startswith("bell \\x07 \\u202ebell")
    assert len(first.source) == WIDEST
    assert first.target == "שלום"
    assert second.source == "\\x1b[31m"
    assert first.place == "train.en, line 68, byte 680"
    assert first.detail == "source: control character U+0007"


def test_one_slip_is_no_share_of_the_lines() -> None:
    findings = examined(SOME)
    place = Place("a.en", 5, 50)
    findings.slips["slip"].add(Problem("slip", "out of step", place), Record("a", "b", place))
    (slip,) = shown_data(findings).findings
    assert (slip.kind, slip.severity, slip.of) == ("slip", "stop", None)


def test_filters_tell_what_they_would_drop_and_which_would_drop_nothing() -> None:
    data = shown_data(examined([*SOME, SOME[3], ("the dog number 5 sleeps", SOME[5][1])]))
    assert [(one.name, one.count, one.recommended, one.applied) for one in data.filters] == [
        ("duplicate", 1, True, False),
        ("near-duplicate", 1, False, False),
    ]
    assert data.left == 68
    assert "control" in data.silent
    assert "overlap" not in data.silent  # nobody knows
    assert "duplicate" not in data.silent


def test_held_out_parts_show_how_much_of_them_is_in_the_data() -> None:
    held = Held()
    place = Place("valid.en", 1, 0)
    held.add(
        "valid", [Record(*SOME[3], place), Record("THE DOG number 4 sleeps", "anders", place), Record("n", "n", place)]
    )
    data = shown_data(examined(SOME, held=held))
    (part,) = data.held
    assert (part.name, part.pairs, part.sources_met, part.pairs_met) == ("valid", 3, 2, 1)
    held = Held()
    held.add("valid", [Record("nowhere", "nirgends", place)])
    assert "overlap" in shown_data(examined(SOME, held=held)).silent


def test_nothing_found_is_nothing_shown() -> None:
    data = shown_data(examined(SOME))
    assert (data.findings, data.filters, data.held, data.repeated_sources) == ((), (), (), 0)
    assert data.left == 67


# The page


def test_the_page_of_an_examination_has_the_data_alone() -> None:
    report = examination_report(examined(SOME), [Path("some/train.en"), Path("some/train.de")])
    data = json.loads(embedded(page_data(report)))
    assert set(data) == {"title", "subtitle", "about", "data", "held", "predictions", "tokens"}
    assert data["title"] == "train.en, train.de"
    assert data["data"]["units"][0] == {"name": "units read", "count": 67, "help": "", "is_sum": True}


def test_many_files_are_named_by_the_first_few() -> None:
    names = file_names([Path(f"x/{i}.tmx") for i in range(1207)])
    assert names == "0.tmx, 1.tmx, 2.tmx, 3.tmx and 1,203 more"
    assert file_names([Path("-")]) == "stdin"
    assert file_names([Path("a\nb.tsv")]) == "'a\\nb.tsv'"


def test_sides_tell_names_and_scripts_as_far_as_known() -> None:
    findings = examined(SOME)
    assert [side.known for side in shown_data(findings).sides] == ["Latin", "Latin"]
    findings.languages = ("en", None)
    assert [side.known for side in shown_data(findings).sides] == ["named en, Latin", "Latin"]
    assert [side.known for side in shown_data(examined(SOME[:3])).sides] == ["", ""]
