"""Two files line by line: pairs, what is wrong with one side, and lines without a partner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.data.checks.doctor import examine
from glassformer.data.readers.aligned import read_aligned
from glassformer.data.readers.inputs import Input
from glassformer.data.readers.records import Record

Read = Callable[[bytes, bytes], list[Record]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)

    def read(source: bytes, target: bytes) -> list[Record]:
        Path("a.en").write_bytes(source)
        Path("a.de").write_bytes(target)
        return list(read_aligned(Path("a.en"), Path("a.de")))

    return read


def test_lines_are_paired_and_stripped(read: Read) -> None:
    first, second = read(b" one \r\ntwo\n", b"eins\nzwei")
    assert (first.source, first.target, second.source, second.target) == ("one", "eins", "two", "zwei")
    assert str(second.place) == "a.en, line 2, byte 7"
    assert first.problem is None
    assert first.notes == ()


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        (b" ", b"eins", "a.en, line 2, byte 2: the source is blank"),
        (b"one", b"", "a.de, line 2, byte 3: the target is blank"),
        (b"", b"\t", "a.en, line 2, byte 2: both sides are blank"),
        (b"one", b"ein\xdf", "a.de, line 2, byte 6: not UTF-8 (got byte 0xdf)"),
        (b"\xff", b"\xfe", "a.en, line 2, byte 2: not UTF-8 (got byte 0xff)"),
        (b"one", b"\0", "a.de, line 2, byte 3: a NUL character: not text, or UTF-16"),
    ],
)
def test_a_problem_names_the_file_that_has_it(read: Read, source: bytes, target: bytes, told: str) -> None:
    good, bad, last = read(b"a\n" + source + b"\nz", "ä\n".encode() + target + b"\nz")
    assert good.problem is None
    assert str(bad.problem) == told
    assert last.problem is None


def test_separators_inside_a_sentence_are_noted_and_those_at_its_ends_are_not(read: Read) -> None:
    (record,) = read("\u2028one\x0c".encode(), "ein\u2028s \x0b".encode())
    assert (record.source, record.target, record.problem) == ("one", "ein\u2028s", None)
    assert [str(note) for note in record.notes] == [
        "a.de, line 1, byte 3: a line separator (U+2028) inside the sentence"
    ]


@pytest.mark.parametrize("longer", ["source", "target"])
def test_surplus_lines_have_no_partner_and_report_both_counts(read: Read, longer: str) -> None:
    more, less = b"one\ntwo\n\nfour", b"eins\n"
    records = read(more, less) if longer == "source" else read(less, more)
    file, other = ("a.en", "a.de") if longer == "source" else ("a.de", "a.en")
    assert [record.problem and record.problem.kind for record in records] == [None, *["no partner"] * 3]
    assert str(records[1].problem) == f"{file}, line 2, byte 4: no partner: {other} has 1 lines, {file} has 4"
    assert [getattr(record, longer) for record in records[1:]] == ["two", "", "four"]
    assert [record.place.byte for record in records[1:]] == [4, 8, 9]


def test_marks_of_both_files_are_noted(read: Read) -> None:
    (record,) = read(b"\xef\xbb\xbfone", b"\xef\xbb\xbfeins")
    assert (record.source, record.target) == ("one", "eins")
    assert [(note.kind, note.place.file) for note in record.notes] == [("bom", "a.en"), ("bom", "a.de")]


def test_one_file_may_be_empty(read: Read) -> None:
    assert [record.problem and record.problem.kind for record in read(b"", b"a\nb\n")] == ["no partner"] * 2
    assert read(b"", b"") == []


def test_what_is_odd_about_a_target_is_placed_in_the_targets_file(tmp_path: Path) -> None:
    (tmp_path / "x.en").write_text("a long first line\nthe dog\n" * 30)
    (tmp_path / "x.de").write_text("kurz\nder \u00adHund\n" * 30)
    files = (tmp_path / "x.en", tmp_path / "x.de")
    findings = examine([Input(files, "aligned")])
    problem = findings.oddities["soft-hyphen"].examples[0].problem
    assert (problem.place.file, problem.place.number, problem.place.byte) == (str(files[1]), 2, 5)
    assert problem.detail.startswith("target: ")
