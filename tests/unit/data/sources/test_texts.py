"""Texts for a language model: nothing is lost, everything is counted, the end or whole texts are held out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.readers.lines import MAX_LINE
from glassformer.data.settings import TextDataSettings
from glassformer.data.sources.examples import Examples
from glassformer.data.sources.running import PIECE, TextPiece
from glassformer.data.sources.texts import examine_texts, read_held_texts, read_text_examples
from glassformer.errors import DataError, GlassformerError, SettingsError

BOOK = "".join(f"line {i} of the book\n\n" for i in range(3000))


class Listener:
    def __init__(self) -> None:
        self.said: list[str] = []

    def on_stage(self, text: str) -> None:
        self.said.append(text)

    def on_count(self, done: int, total: int) -> None:
        assert done <= total


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, content: str | bytes) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def read(*files: str, seed: int = 1, listener: Listener | None = None, **settings: Any) -> Examples[TextPiece]:
    data = TextDataSettings(files=files, **settings)
    return read_text_examples(data, seed=seed, listener=listener or Listener())


def joined(examples: Examples[TextPiece]) -> tuple[str, str]:
    return "".join(p.text for p in examples.train()), "".join(p.text for p in examples.valid)


def test_the_last_tenth_of_a_running_text_is_held_out_to_the_character() -> None:
    examples = read(write("book.txt", BOOK))
    train, valid = joined(examples)
    cut = int(len(BOOK) * 0.9)
    assert train == BOOK[:cut]
    assert valid == BOOK[cut:]
    pieces = list(examples.train())
    assert len(pieces) == examples.count > 1
    assert [piece.starts for piece in pieces] == [True] + [False] * (len(pieces) - 1)
    assert examples.valid[0].starts
    assert not any(piece.starts for piece in examples.valid[1:])
    assert max(len(piece.text) for piece in pieces) < PIECE + 100
    assert joined(examples)[0] == train  # a stream that can be restarted


def test_the_place_of_a_piece_is_where_it_begins() -> None:
    examples = read(write("book.txt", BOOK), valid="20%")
    raw = BOOK.encode()
    for piece in (*examples.train(), *examples.valid):
        assert raw[piece.place.byte :].startswith(piece.text[:50].encode())
        assert raw[: piece.place.byte].count(b"\n") == piece.place.number - 1


@pytest.mark.parametrize("share", ["1%", "50%", "99%"])
def test_a_share_can_be_chosen(share: str) -> None:
    train, valid = joined(read(write("book.txt", BOOK), valid=share))
    assert train + valid == BOOK
    assert len(train) == int(len(BOOK) * (1 - float(share[:-1]) / 100))


def test_line_ends_and_blank_lines_stay_and_a_byte_order_mark_and_carriage_returns_go() -> None:
    listener = Listener()
    text = '\ufeffOne.\r\n\r\n  Two,\u2028 still two.\r\nThree "quoted"\tand tabbed'
    train, valid = joined(examples := read(write("a.txt", text), listener=listener))
    assert train + valid == 'One.\n\n  Two,\u2028 still two.\nThree "quoted"\tand tabbed'
    found = examples.facts["findings"]
    assert (found.units, found.used) == (4, 4)
    assert {one.kind: one.count for one in found.ordered()} == {"bom": 1, "separator": 1}


def test_a_file_packed_is_the_same_text() -> None:
    packed = read(write("book.txt.gz", gzip.compress(BOOK.encode())))
    plain = read(write("book.txt", BOOK))
    assert joined(packed) == joined(plain)
    assert packed.fingerprints["valid"] == plain.fingerprints["valid"]


def test_lines_that_cannot_be_read_are_left_out_and_counted() -> None:
    bad = BOOK.encode() + b"not \xff UTF-8\nkept\na \0 NUL\nthe end"
    listener = Listener()
    train, valid = joined(examples := read(write("book.txt", bad), listener=listener))
    assert train + valid == BOOK + "kept\nthe end"
    found = examples.facts["findings"]
    assert found.units == found.used + found.dropped.total() == 6004
    assert found.dropped == {"encoding": 1, "nul": 1}
    assert found.first_dropped["encoding"].place.number == 6001
    assert any("2 of 6,004 left out: 1 encoding (first: book.txt, line 6,001" in said for said in listener.said)


def test_a_last_line_left_out_takes_nothing_from_the_line_before() -> None:
    train, valid = joined(read(write("book.txt", BOOK.encode() + b"\xff")))
    assert train + valid == BOOK


def test_a_file_that_is_mostly_unreadable_is_refused() -> None:
    with pytest.raises(DataError, match=r"1 of 2 lines are unusable \(not UTF-8\).*iconv"):
        read(write("a.txt", b"one\nt\xe4t\n"))


def test_a_huge_line_is_read_in_pieces() -> None:
    text = "wörter ohne ende " * (3 * MAX_LINE // 17)
    examples = read(write("text8.txt", text), valid="10%")
    train, valid = joined(examples)
    assert train + valid == text
    assert len(train) == int(len(text) * 0.9)
    assert {piece.place.number for piece in examples.train()} == {1}
    assert examples.facts["findings"].notes["continued"].count == 3


def test_a_huge_line_without_spaces_is_cut_between_characters() -> None:
    text = "字" * MAX_LINE + "\n\r\nlast"
    train, valid = joined(examples := read(write("a.txt", text)))
    assert train + valid == "字" * MAX_LINE + "\n\nlast"
    assert not examples.facts["findings"].dropped


def test_carriage_returns_inside_a_huge_line_stay() -> None:
    text = "\r" * (2 * MAX_LINE) + "x"
    assert "".join(joined(read(write("a.txt", text)))) == text


def test_empty_files_are_reported_and_nothing_at_all_is_an_error() -> None:
    examples = read(write("a.txt", BOOK), write("empty.txt", ""))
    assert examples.facts["findings"].dropped == {"empty": 1}
    for name, content, why in (
        ("nothing.txt", "", "1 of 1 left out: 1 empty"),
        ("nothing.jsonl", "", "the input is empty"),
        ("blank.txt", "\n \n", "there is only white space in them"),
    ):
        with pytest.raises(DataError, match=f"{name}: no text to train on: {why}"):
            read(write(name, content))
        assert why in examine_texts([name], listener=Listener()).refused


def test_of_several_files_the_end_of_each_is_held_out() -> None:
    train, valid = joined(read(write("a.txt", "a" * 100 + "\n"), write("b.txt", "b" * 200 + "\n"), valid="10%"))
    assert (train.count("a"), train.count("b")) == (90, 180)
    assert (valid.count("a"), valid.count("b")) == (10, 20)


def test_of_many_files_whole_ones_are_held_out_by_a_hash() -> None:
    for i in range(40):
        write(f"books/{i:02}.txt", f"Chapter {i}\n" + "text\n" * i)
    write("books/cover.jpg", "no text")
    write("books/.hidden.txt", "hidden")
    listener = Listener()
    examples = read("books", valid="10%", listener=listener)
    assert len(examples.valid) == 4
    assert all(piece.starts for piece in examples.valid)
    assert examples.count == len(list(examples.train())) == 36
    assert {p.text for p in examples.valid} != {p.text for p in read("books", valid="10%", seed=2).valid}
    assert {p.text for p in examples.valid}.isdisjoint(p.text for p in examples.train())
    assert any("books/cover.jpg" in said for said in listener.said)


def test_a_folder_without_texts_says_what_it_holds() -> None:
    write("pictures/a.jpg", "x")
    with pytest.raises(DataError, match=r"pictures: no text files .*it contains pictures/a\.jpg"):
        read("pictures")


def test_rows_are_texts_of_their_own() -> None:
    rows = [{"id": i, "text": f"Text {i}\nwith a second line "} for i in range(200)]
    rows[7] = {"id": 7, "text": "  "}
    rows[8] = {"id": 8, "text": 5}
    rows[9] = rows[10]
    lines = "\n".join(json.dumps(row) for row in rows)
    examples = read(write("a.jsonl", lines), valid="10%")
    assert examples.count + len(examples.valid) == 198
    assert all(piece.starts and piece.text.endswith("line ") for piece in examples.train())
    found = examples.facts["findings"]
    assert found.dropped == {"blank": 1, "json": 1}
    assert found.notes["duplicate"].count == 1


def test_a_column_is_chosen_by_name_number_or_usual_name() -> None:
    table = "id,Text\n" + "".join(f'{i},"Row ""{i}"", first line\nsecond line"\n' for i in range(20))
    texts = {f'Row "{i}", first line\nsecond line' for i in range(20)}
    for columns in (None, "Text", "text", "2"):
        examples = read(write("a.csv", table), columns=columns, valid="10%")
        got = {piece.text for piece in (*examples.train(), *examples.valid)}
        assert got == texts
    with pytest.raises(DataError, match="no column is named 'body'; its first row is 'id', 'Text'"):
        read("a.csv", columns="body")
    with pytest.raises(DataError, match=r"not clear which of its 3 columns are text.*--columns text"):
        read(write("b.tsv", "a\tb\tc\nd\te\tf\n"))


def test_files_to_validate_with_are_compared_with_those_to_learn_from() -> None:
    long = "A long line that certainly is in both of the two files.\n"
    examples = read(write("a.txt", BOOK + long), valid=write("b.txt", "short\n" + long))
    assert joined(examples) == (BOOK + long, "short\n" + long)
    assert examples.facts["findings"].notes["held-out line"].count == 1
    assert str(examples.facts["findings"].held[0]) == (
        "valid: 1 of 1 lines of 40 or more characters is also in the training data"
    )
    rows = read(write("a.tsv", "one text\nanother text\n"), valid=write("b.tsv", "One text!\n"))
    assert [piece.text for piece in rows.train()] == ["another text"]
    assert rows.facts["findings"].dropped == {"overlap": 1}


def test_the_same_file_twice_is_refused() -> None:
    write("a.txt", BOOK)
    for files, valid in ((("a.txt", "./a.txt"), ()), (("a.txt",), ("a.txt",))):
        with pytest.raises(DataError, match=r"a.txt is given twice|the same file"):
            read(*files, valid=valid)


def test_files_that_change_while_they_are_read_are_refused() -> None:
    examples = read(write("a.txt", BOOK))
    stream = examples.train()
    next(stream)
    write("a.txt", BOOK + "more")
    with pytest.raises(DataError, match="changed while they were read"):
        list(stream)


def test_fingerprints_follow_the_text_and_the_choice_not_the_name() -> None:
    first = read(write("a.txt", BOOK)).fingerprints
    assert read(write("b.txt", BOOK)).fingerprints == first
    changed = read(write("c.txt", BOOK.replace("7", "8"))).fingerprints
    assert all(changed[name] != first[name] for name in ("train", "valid", "files"))
    other = read("a.txt", valid="20%").fingerprints
    assert (other["files"], other["train"] != first["train"]) == (first["files"], True)


@pytest.mark.parametrize(
    ("files", "settings", "message"),
    [
        ((), {}, "No file was given"),
        (("-",), {}, "cannot come from stdin"),
        (("a.txt",), {"columns": "text"}, "running text and has no columns"),
        (("a.txt", "a.tsv"), {}, "Give one kind at a time"),
        (("a.po",), {}, "has translations"),
        (("missing.txt",), {}, "no such file"),
    ],
)
def test_what_cannot_be_read_as_texts_is_an_error(
    files: tuple[str, ...], settings: dict[str, Any], message: str
) -> None:
    for name in ("a.txt", "a.tsv", "a.po"):
        write(name, "text\n")
    with pytest.raises(GlassformerError, match=message):
        read(*files, **settings)


def test_settings_are_bounded() -> None:
    for wrong in ({"valid": "0%"}, {"valid": "100%"}, {"max_tokens": 1}, {"columns": "a,b"}):
        with pytest.raises(ValueError, match=r"."):
            TextDataSettings(files=("a.txt",), **wrong)
    assert issubclass(SettingsError, GlassformerError)


def test_an_examination_counts_repeated_lines() -> None:
    long = "A long line that is in this file more than just once.\n"
    found = examine_texts([write("a.txt", BOOK + 3 * long)], listener=Listener())
    assert found.notes["repeated line"].count == 2
    assert found.to_dict()["characters"] == len(BOOK) + 3 * len(long)
    assert found.units == found.used == 6003


def test_columns_of_the_training_data_do_not_matter_for_running_text_to_validate_with() -> None:
    rows = write("a.jsonl", "".join(json.dumps({"body": f"text {i}"}) + "\n" for i in range(30)))
    assert joined(read(rows, columns="body", valid=write("v.txt", "a line\n")))[1] == "a line\n"
    held, _ = read_held_texts(["v.txt"], ("body",), Listener())
    assert [piece.text for piece in held or ()] == ["a line\n"]
