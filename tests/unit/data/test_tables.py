"""TSV and CSV: which columns, which header, and places that stay right across newlines in cells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.data.readers.records import Record
from glassformer.data.readers.tables import read_csv, read_tsv
from glassformer.errors import DataError

Read = Callable[..., list[Record]]


@pytest.fixture
def tsv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)

    def read(content: str, **options: tuple[str, str]) -> list[Record]:
        Path("x.tsv").write_text(content, encoding="utf-8", newline="")
        return list(read_tsv(Path("x.tsv"), **options))

    return read


@pytest.fixture
def csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)

    def read(content: str, **options: tuple[str, str]) -> list[Record]:
        Path("x.csv").write_text(content, encoding="utf-8", newline="")
        return list(read_csv(Path("x.csv"), **options))

    return read


def pairs(records: list[Record]) -> list[tuple[str, str]]:
    return [(record.source, record.target) for record in records if record.problem is None]


def problems(records: list[Record]) -> list[str | None]:
    return [record.problem and record.problem.kind for record in records]


def test_a_tsv_gives_its_first_two_columns_and_says_of_each_row_that_there_are_more(tsv: Read) -> None:
    records = tsv('one\teins\n"two\tzwei" \t3\r\nthree\tdrei\tx\ty\n')
    assert pairs(records) == [("one", "eins"), ('"two', 'zwei"'), ("three", "drei")]
    assert [[str(note) for note in record.notes] for record in records] == [
        [],
        ["x.tsv, line 2, byte 9: 3 columns: only columns 1 and 2 are read"],
        ["x.tsv, line 3, byte 24: 4 columns: only columns 1 and 2 are read"],
    ]


def test_rows_with_further_columns_are_all_counted(tsv: Read, csv: Read) -> None:
    for read, separator in ((tsv, "\t"), (csv, ",")):
        rows = "".join(separator.join((f"one {i}", f"eins {i}", "x")) + "\n" for i in range(7))
        assert sum(len(record.notes) for record in read(rows)) == 7
        assert not any(record.notes for record in read(rows, columns=("1", "2")))


def test_a_bad_row_of_a_tsv_is_reported_with_its_place(tsv: Read) -> None:
    records = tsv("one\teins\nalone\n\t\n\n\tzwei\nthr\x0bee\tdrei\u2028\tx\x0cy\n")
    assert problems(records) == [None, "columns", "blank", "blank", "blank", None]
    assert str(records[1].problem) == "x.tsv, line 2, byte 9: got 1 column, need 2: 'alone'"
    assert records[1].source == "alone"
    assert str(records[4].problem) == "x.tsv, line 5, byte 18: the source is blank"
    assert [str(note) for note in records[5].notes if note.kind == "separator"] == [
        "x.tsv, line 6, byte 27: a vertical tab (U+000B) inside the sentence"
    ]


def test_the_byte_of_a_blank_target_is_where_it_should_be(tsv: Read) -> None:
    records = tsv("ä\tb\nüß\t \n")
    assert str(records[1].problem) == "x.tsv, line 2, byte 10: the target is blank"


HEADERS = ["source\ttarget", "src\ttgt", "SRC\tTRG", "en\tde", "EN\tDE", "en-US\tde_DE", "eng\tdeu", "Source\tde"]


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_of_known_words_is_recognised(tsv: Read, csv: Read, header: str) -> None:
    for read, row in ((tsv, "one\teins"), (csv, "one,eins")):
        records = read(f"{header if read is tsv else header.replace(chr(9), ',')}\n{row}\n")
        assert problems(records) == ["header", None]
        assert pairs(records) == [("one", "eins")]


@pytest.mark.parametrize("row", ["No\tNo", "no\tno", "Hi\tHe", "Source:\tQuelle", "en\tHallo", "so\tSo!"])
def test_a_first_row_of_sentences_is_no_header(tsv: Read, row: str) -> None:
    assert problems(tsv(f"{row}\none\teins\n")) == [None, None]


def test_columns_are_chosen_by_number_or_by_name(tsv: Read, csv: Read) -> None:
    content = "id\tGerman\tEnglish\n7\teins\tone\n"
    for read, text in ((tsv, content), (csv, content.replace("\t", ";"))):
        for chosen in (("English", "German"), ("english", "2"), ("3", "German")):
            records = read(text, columns=chosen)
            assert problems(records) == ["header", None]
            assert pairs(records) == [("one", "eins")]
            assert not records[1].notes
        assert pairs(read(text, columns=("3", "2"))) == [("one", "eins")]
        assert pairs(read(text)) == [("eins", "one")]  # the header names two languages


def test_languages_choose_columns_of_a_header(tsv: Read, csv: Read) -> None:
    content = "id,de-AT,en,fr\n7,eins,one,un\n"
    assert pairs(csv(content, languages=("fr", "de"))) == [("un", "eins")]
    assert pairs(tsv(content.replace(",", "\t"), languages=("EN", "de"))) == [("one", "eins")]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (("English", "French"), "no column is named 'French'; its first row is 'English', 'German'"),
        (("0", "1"), "there is no column 0; columns count from 1"),
        (("2", "2"), "source and target are both column 2"),
        (("1", "7"), "none of its first 2 rows has 7 columns"),
    ],
)
def test_columns_that_are_not_there_are_refused(tsv: Read, csv: Read, columns: tuple[str, str], told: str) -> None:
    for read, text in ((tsv, "English\tGerman\none\teins\n"), (csv, "English,German\none,eins\n")):
        with pytest.raises(DataError, match=told):
            read(text, columns=columns)


def test_a_few_rows_without_tabs_at_the_start_do_not_make_it_no_tsv(tsv: Read) -> None:
    assert problems(tsv("title\n\n" * 200 + "one\teins\n"))[-1] is None


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_of_a_csv_is_found(csv: Read, delimiter: str) -> None:
    rows = [('"Hello, you; there"', '"Hallo, du; da"'), ("yes", "ja"), ("no", '"nein, ""nein"""')]
    records = csv("".join(f"{delimiter.join(row)}\r\n" for row in rows))
    assert pairs(records) == [("Hello, you; there", "Hallo, du; da"), ("yes", "ja"), ("no", 'nein, "nein"')]


def test_commas_in_sentences_do_not_mislead(csv: Read) -> None:
    records = csv("Well, yes;Nun, ja\nNo;Nein\nOne, two, three;Eins, zwei, drei\n")
    assert pairs(records)[0] == ("Well, yes", "Nun, ja")


def test_newlines_in_cells_keep_rows_lines_and_bytes_right(csv: Read) -> None:
    records = csv('"ä\r\nb","c"\n\n"d\n\ne",f\nalone\n"x"y,z\ng,h\n')
    assert [(record.place.number, record.place.byte, record.place.unit) for record in records] == [
        (1, 0, "row"),
        (2, 12, "row"),
        (3, 13, "row"),
        (4, 22, "row"),
        (5, 28, "row"),
        (6, 35, "row"),
    ]
    assert pairs(records) == [("ä\nb", "c"), ("d\n\ne", "f"), ("g", "h")]
    assert problems(records) == [None, "blank", None, "columns", "syntax", None]
    assert "line 8 is not CSV" in str(records[4].problem)
    assert [note.kind for note in records[0].notes] == ["separator"]


def test_a_csv_with_a_byte_order_mark_has_its_header_recognised(csv: Read) -> None:
    records = csv('\ufeff"source","target"\none,eins\n')
    assert problems(records) == ["header", None]
    assert [note.kind for note in records[0].notes] == ["bom"]


def test_a_csv_says_of_each_row_that_there_are_more_columns(csv: Read) -> None:
    records = csv("one,eins,1\ntwo,zwei,2\n")
    assert [[note.kind for note in record.notes] for record in records] == [["columns"], ["columns"]]


def test_a_row_that_only_ends_with_the_file_may_not_grow_without_end(csv: Read) -> None:
    with pytest.raises(DataError, match=r"row 2 \(line 2, byte 4\): a quote opens"):
        csv("a,b\n" + '"\n' + '","\n' * 500_000)


@pytest.mark.parametrize("size", [900_000, 2_000_000])
def test_a_quote_before_a_very_long_line_is_reported_as_open(csv: Read, size: int) -> None:
    with pytest.raises(DataError, match=r"row 2 \(line 2, byte 4\): a quote opens"):
        csv(f'a,b\n"{"x" * 100_000},y\n{"z" * size},b\nc,d\n')


@pytest.mark.parametrize("header", ["ID;English;German", "ID;en;de", "key;Source;Target;note"])
def test_a_header_that_names_two_languages_chooses_them(csv: Read, header: str) -> None:
    records = csv(f"{header}\n7;one;eins;x\n")
    assert problems(records) == ["header", None]
    assert pairs(records) == [("one", "eins")]
