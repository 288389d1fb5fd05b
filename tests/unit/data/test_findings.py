"""Screening and its findings: every unit counted, every drop with its reason and its place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

import pytest

from glassformer.data.checks.findings import Findings
from glassformer.data.checks.held import Held
from glassformer.data.checks.screen import screen
from glassformer.data.checks.tally import DROP, EXAMPLES, NOTE, STOP
from glassformer.data.readers.records import Place, Problem, Record
from glassformer.errors import SettingsError
from glassformer.printable import printable, shortened


def record(source: str, target: str, number: int = 1, *, kind: str | None = None, note: str | None = None) -> Record:
    place = Place("train.en", number, 10 * number)
    problem = Problem(kind, f"this is {kind}", place) if kind else None
    return Record(source, target, place, problem, (Problem(note, f"a {note}", place),) if note else ())


def numbered(rows: Iterable[Record]) -> list[Record]:
    rows = list(rows)
    for number, one in enumerate(rows, 1):
        one.place = Place("train.en", number, 10 * number)
    return rows


ROWS = [
    ("The dog sleeps.", "Der Hund schläft.", None),
    ("", "Nur rechts.", "blank"),
    ("A\x07 cat.", "Eine Katze.", None),
    ("The dog sleeps.", "Der Hund schläft.", None),
    ("The dog sleeps!", "Der Hund schläft!", None),
    ("Broken", "", "encoding"),
    ("The dog sleeps.", "Ein Hund schläft.", None),
]


def rows() -> list[Record]:
    return numbered(record(source, target, kind=kind) for source, target, kind in ROWS)


def test_without_filters_only_the_reader_drops() -> None:
    findings = Findings()
    verdicts = list(screen(rows(), findings=findings))
    assert [reason for _, reason in verdicts] == [None, "blank", None, None, None, "encoding", None]
    assert [one.place.number for one, _ in verdicts] == [1, 2, 3, 4, 5, 6, 7]
    assert (findings.units, findings.used, findings.dropped) == (7, 5, {"blank": 1, "encoding": 1})


def test_the_first_filter_that_hits_gives_the_reason() -> None:
    findings = Findings()
    verdicts = list(screen(rows(), filters=["near-duplicate", "duplicate", "control"], findings=findings))
    reasons = [reason for _, reason in verdicts]
    assert reasons == [None, "blank", "control", "duplicate", "near-duplicate", "encoding", None]
    assert findings.units == findings.used + findings.dropped.total() == 7
    dropped = verdicts[2][0].problem
    assert dropped == Problem("control", "source: control character U+0007", Place("train.en", 3, 30))
    assert {kind: one.count for kind, one in findings.hits.items()} == {
        "control": 1,
        "duplicate": 1,
        "near-duplicate": 1,
    }


def test_a_pair_that_two_filters_would_drop_is_dropped_once() -> None:
    findings = Findings()
    pair = record("x" * 1200 + "\x07", "y")
    (verdict,) = screen([pair], filters=["all"], findings=findings)
    assert verdict == (pair, "too-long")
    assert findings.dropped == {"too-long": 1}
    assert list(findings.hits) == ["too-long"]


def test_an_unknown_filter_is_reported_before_anything_is_read() -> None:
    with pytest.raises(SettingsError, match="Did you mean control"):
        screen(rows(), filters=["controll"], findings=Findings())


def test_examining_counts_what_each_filter_would_drop_alone() -> None:
    findings = Findings()
    held = Held()
    part = held.add("valid", [record("The dog sleeps", "Der Hund schläft"), record("", "x", kind="blank")])
    verdicts = list(screen(rows(), findings=findings, held=held, examine=math.inf))
    assert [reason for _, reason in verdicts] == [None, "blank", None, None, None, "encoding", None]
    alone = {kind: one.count for kind, one in findings.hits.items()}
    assert alone == {"control": 1, "duplicate": 1, "near-duplicate": 1, "overlap": 4}
    assert findings.left == 0
    assert findings.repeated_sources == 1
    assert findings.examined
    assert (part.pairs, part.unusable, part.sources_in_train, part.pairs_in_train) == (1, 1, 1, 1)
    assert findings.lengths[0].total_words == 14
    assert findings.lengths[1].words[3] == 4
    assert findings.hits["overlap"].examples[1].problem.place == Place("train.en", 4, 40)


def test_what_all_recommended_filters_would_leave() -> None:
    findings = Findings()
    list(screen(rows(), findings=findings, examine=math.inf))
    assert findings.left == 3  # near-duplicate is not among them
    cleaned = Findings()
    list(screen(rows(), filters=["recommended"], findings=cleaned))
    assert cleaned.used == findings.left


def test_at_most_a_few_examples_are_kept_and_they_are_short() -> None:
    findings = Findings()
    many = numbered(record("x" * 500, "", kind="blank") for _ in range(20))
    list(screen(many, findings=findings))
    found = findings.problems["blank"]
    assert (found.count, len(found.examples)) == (20, EXAMPLES)
    assert len(found.examples[0].source) == 120


@pytest.mark.parametrize(
    ("kind", "bad", "good", "severity"),
    [
        ("no partner", 1, 999, STOP),
        ("encoding", 11, 989, STOP),
        ("encoding", 10, 990, DROP),
        ("columns", 1, 59, DROP),  # mistakes in a small file
        ("columns", 5, 20, DROP),
        ("columns", 5, 19, STOP),
        ("columns", 6, 594, DROP),
        ("columns", 6, 54, STOP),
        ("encoding", 1, 1, STOP),
        ("blank", 500, 500, DROP),
        ("header", 1, 999, NOTE),
        ("obsolete", 100, 100, NOTE),
        ("fuzzy", 100, 100, DROP),
    ],
)
def test_how_serious_a_problem_is(kind: str, bad: int, good: int, severity: str) -> None:
    findings = Findings()
    pairs = [record("a", "b") for _ in range(good)] + [record("a", "b", kind=kind) for _ in range(bad)]
    list(screen(numbered(pairs), findings=findings))
    (found,) = findings.ordered()
    assert (found.kind, found.severity, found.count) == (kind, severity, bad)
    assert bool(findings.stops) == (severity == STOP)


def test_findings_come_most_serious_first() -> None:
    findings = Findings()
    pairs = [
        record("a  b", "c", note="separator"),
        record("d", "e", kind="no partner"),
        record("f", "g", kind="blank"),
        record("h", "i", kind="blank"),
        record("a\x07", "j"),
    ]
    list(screen(numbered(pairs), findings=findings, examine=math.inf))
    assert [(one.severity, one.kind, one.count) for one in findings.ordered()] == [
        (STOP, "no partner", 1),
        (DROP, "blank", 2),
        (DROP, "control", 1),
        (NOTE, "double-space", 1),
        (NOTE, "separator", 1),
    ]


def test_a_note_and_a_problem_may_share_a_name() -> None:
    findings = Findings()
    list(screen([record("a", "b", note="columns"), record("c", "", kind="columns")], findings=findings))
    assert findings.notes["columns"].severity == NOTE
    assert sorted((one.kind, one.severity) for one in findings.ordered()) == [("columns", NOTE), ("columns", STOP)]


def test_nothing_odd_is_nothing_found() -> None:
    findings = Findings()
    list(screen([record(f"The dog number {i} sleeps.", f"Der Hund Nummer {i} schläft.") for i in range(90)],
                findings=findings, examine=math.inf))  # fmt: skip
    assert findings.ordered() == []
    assert findings.left == findings.used == 90


def test_everything_is_there_for_a_program() -> None:
    findings = Findings()
    findings.languages = ("en", "de")
    list(screen(rows(), findings=findings, examine=math.inf))
    told = json.loads(json.dumps(findings.to_dict()))
    assert told["units"] == told["used"] + sum(told["dropped"].values()) == 7
    assert told["languages"] == ["en", "de"]
    assert told["filters"]["control"] == 1
    assert told["filters"]["ratio"] == 0
    assert told["left_after_recommended"] == 3
    control = next(one for one in told["findings"] if one["kind"] == "control")
    assert control["examples"] == [
        {
            "detail": "source: control character U+0007",
            "file": "train.en",
            "unit": "line",
            "number": 3,
            "byte": 30,
            "source": "A\x07 cat.",
            "target": "Eine Katze.",
        }
    ]
    assert sum(told["sides"]["source"]["lines_by_words"]) == 5
    assert told["sides"]["target"]["characters"] == sum(len(t) for _, t, kind in ROWS if not kind)


def test_pairs_wait_until_there_are_enough_to_learn_from() -> None:
    taken = []

    def stream() -> Iterable[Record]:
        for number in range(30_000):
            taken.append(number)
            yield record(f"sentence {number}", f"Satz {number}")

    first = next(screen(stream(), filters=["ratio"], findings=Findings()))
    assert first[0].source == "sentence 0"
    assert len(taken) == 20_000
    taken.clear()
    next(screen(stream(), findings=Findings()))
    assert len(taken) < 5_000


def test_what_a_terminal_would_act_on_is_escaped() -> None:
    assert printable("a\x1b[31mb\u202ec\xa0d\u2028e\U000e0001") == "a\\x1b[31mb\\u202ec\\xa0d\\u2028e\\U000e0001"
    assert printable("Größe, 漢字, हिन्दी 🍎") == "Größe, 漢字, हिन्दी 🍎"
    assert shortened("x" * 121) == "x" * 119 + "…"


def test_the_first_drop_of_each_reason_has_its_place_also_where_nobody_examines_any_more() -> None:
    findings = Findings()
    good = [record(f"The dog number {i} sleeps.", f"Der Hund Nummer {i} schläft.") for i in range(3000)]
    late = [record("A\x07 cat.", "Eine Katze."), record("", "Nur rechts.", kind="blank"), record("Two\x07", "Zwei")]
    list(screen(numbered([*good, *late]), filters=["control"], findings=findings, examine=100))
    assert list(findings.first_dropped) == ["control", "blank"]
    assert findings.first_dropped["control"].place == Place("train.en", 3001, 30010)
    assert "control" not in findings.hits
