"""Labelled examples: every row is used or reported, labels are ordered, the held-out part is stratified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.settings import LabelledDataSettings
from glassformer.data.sources.examples import Examples
from glassformer.data.sources.labelled import Labelled, examine_labelled, read_labelled_examples
from glassformer.errors import DataError


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
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def read(*files: str, seed: int = 1, listener: Listener | None = None, **settings: Any) -> Examples[Labelled]:
    data = LabelledDataSettings(files=files, **settings)
    return read_labelled_examples(data, seed=seed, listener=listener or Listener())


def reviews(count: int = 100) -> str:
    return "".join(f"review number {i}\t{'good' if i % 4 else 'bad'}\n" for i in range(count))


def all_of(examples: Examples[Labelled]) -> list[Labelled]:
    return [*examples.train(), *examples.valid]


def test_every_label_is_held_out_in_proportion_and_the_choice_follows_the_seed() -> None:
    examples = read(write("a.tsv", reviews()), columns="1,2", valid="20%")
    assert examples.facts["labels"] == ("bad", "good")
    assert examples.facts["label_counts"] == {"bad": 20, "good": 60}
    assert examples.facts["valid_label_counts"] == {"bad": 5, "good": 15}
    assert examples.count == len(list(examples.train())) == 80
    assert sorted(all_of(examples)) == sorted(
        Labelled((text,), label) for text, label in (line.split("\t") for line in reviews().split("\n") if line)
    )
    assert read("a.tsv", columns="1,2", valid="20%").valid == examples.valid
    assert read("a.tsv", columns="1,2", valid="20%", seed=2).valid != examples.valid


def test_labels_that_the_held_out_part_lacks_are_named() -> None:
    rare = write("a.tsv", reviews() + "one of its kind\trare\n")
    listener = Listener()
    examples = read(rare, columns="1,2", listener=listener)
    assert examples.facts["valid_label_counts"]["rare"] == 0
    warning = "Warning: the validation data has no example of 1 label ('rare'), so its scores say nothing about them"
    assert [line for line in listener.said if line.startswith(warning)]
    found = examine_labelled([rare], columns=("1", "2"), listener=Listener())
    assert found.to_dict()["missing_labels"] == {"valid": ["rare"]}
    good = write("good.tsv", "very fine\tgood\n")
    found = examine_labelled([rare], columns=("1", "2"), held={"valid": [good]}, listener=Listener())
    assert found.missing == {"valid": ["bad", "rare"]}
    twice = write("b.tsv", reviews() + "one of its kind\trare\nanother one\trare\n")
    assert read(twice, columns="1,2").facts["valid_label_counts"]["rare"] == 1


def test_equal_texts_stay_on_one_side_and_every_label_keeps_an_example() -> None:
    rows = [f"text {i // 2}\t{'ab'[i // 2 % 2]}" for i in range(200)] + ["the only one\trare"]
    examples = read(write("a.tsv", "\n".join(rows)), valid="30%")
    held = {example.texts for example in examples.valid}
    assert held.isdisjoint(example.texts for example in examples.train())
    assert examples.facts["label_counts"]["rare"] == 1
    assert examples.facts["findings"].notes["duplicate"].count == 100


def test_the_label_column_is_found_by_its_name_or_by_its_repeated_values() -> None:
    expected = sorted(all_of(read(write("a.tsv", reviews()), columns="1,2")))
    swapped = "".join("\t".join(reversed(line.split("\t"))) + "\n" for line in reviews().split("\n") if line)
    assert sorted(all_of(read(write("b.tsv", swapped)))) == expected
    assert sorted(all_of(read(write("SMSSpamCollection", swapped)))) == expected
    header = "id\tLabel\tText\n" + "".join(f"{i}\t{line}\n" for i, line in enumerate(swapped.split("\n")) if line)
    assert sorted(all_of(read(write("c.tsv", header)))) == expected
    unclear = "".join(f"{i}\t{i}\n" for i in range(20))
    with pytest.raises(DataError, match=r"d\.tsv: not clear which of its 2 columns is the label.*--columns 1,2"):
        read(write("d.tsv", unclear))


def test_csv_with_quotes_newlines_tabs_and_a_byte_order_mark() -> None:
    table = "\ufefftext,label\r\n" + "".join(
        f'"He said ""no"" {i}, twice\n\tand left \u2028",{i % 2}\r\n' for i in range(20)
    )
    examples = read(write("a.csv", table), columns="text,label")
    assert sorted(text for (text,), _ in all_of(examples))[0] == 'He said "no" 0, twice\n\tand left'
    assert examples.facts["labels"] == ("0", "1")
    assert examples.facts["findings"].dropped == {"header": 1}


def test_json_lines_may_have_numbers_and_truth_values_as_labels() -> None:
    def lines(*labels: Any) -> str:
        rows = [json.dumps({"id": 1, "text": f"text {i}", "label": labels[i % len(labels)]}) for i in range(40)]
        return "\n".join(rows)

    assert read(write("a.jsonl", lines(10, 9, -1))).facts["labels"] == ("-1", "9", "10")
    assert read(write("a.jsonl", lines(True, False))).facts["labels"] == ("false", "true")
    assert read(write("a.jsonl", lines("b", "10", "9"))).facts["labels"] == ("10", "9", "b")
    arrays = "\n".join(json.dumps([f"text {i}", i % 2]) for i in range(20))
    assert read(write("b.jsonl", arrays), columns="1,2").facts["labels"] == ("0", "1")


def test_two_texts_and_a_label() -> None:
    rows = [{"premise": f"It rains {i}.", "hypothesis": "It is wet.", "gold": "yn"[i % 2]} for i in range(20)]
    rows[3]["hypothesis"] = ""
    write("a.jsonl", "\n".join(map(json.dumps, rows)))
    examples = read("a.jsonl", columns="premise,hypothesis,gold")
    assert all(len(example.texts) == 2 for example in all_of(examples))
    problem = examples.facts["findings"].first_dropped["blank"]
    assert (problem.detail, problem.place.number) == ("text 2 is blank", 4)


def test_one_file_a_class() -> None:
    for label, word in (("pos", "good"), ("neg", "bad")):
        write(f"polarity.{label}", "".join(f"a {word} film {i}\n" for i in range(30)) + "\n")
        write(f"{word}.txt", "".join(f"a {word} film {i}\n" for i in range(30)))
    examples = read("polarity.pos", "polarity.neg")
    assert examples.facts["labels"] == ("neg", "pos")
    assert examples.facts["findings"].dropped == {"blank": 2}
    assert read("good.txt", "bad.txt").facts["labels"] == ("bad", "good")
    with pytest.raises(DataError, match="a text file without tabs"):
        read("good.txt")


def test_malformed_rows_are_counted_with_file_and_line() -> None:
    listener = Listener()
    bad = [
        b"no label here",
        b"text with a\ttab inside\tgood",
        b"\tgood",
        b"text\t ",
        b"",
        b"not \xff UTF-8\tgood",
        b"a \0 NUL\tgood",
        b"x" * (1 << 20) + b"\tgood",
    ]
    examples = read(write("a.tsv", reviews(2000).encode() + b"\n".join(bad)), columns="1,2", listener=listener)
    found = examples.facts["findings"]
    assert found.units == found.used + found.dropped.total() == 2008
    assert found.used == 2000
    assert found.dropped == {"columns": 2, "blank": 2, "label": 1, "encoding": 1, "nul": 1, "too big": 1}
    assert {kind: problem.place.number for kind, problem in found.first_dropped.items()} == {
        "columns": 2001,
        "blank": 2003,
        "label": 2004,
        "encoding": 2006,
        "nul": 2007,
        "too big": 2008,
    }
    assert "got 1 column, need 2: 'no label here'" in str(found.first_dropped["columns"])
    assert any("8 of 2,008 left out: 2 columns (first: a.tsv, line 2,001" in said for said in listener.said)


def test_a_few_bad_rows_of_a_small_file_are_left_out_and_all_reported() -> None:
    listener = Listener()
    rows = reviews().splitlines(keepends=True)[:57]
    rows[20:20], rows[30:30] = ["no label here\n"], ["none\n", "none either\n"]
    examples = read(write("a.tsv", "".join(rows)), columns="1,2", listener=listener)
    assert (examples.facts["findings"].used, examples.facts["findings"].units) == (57, 60)
    (said,) = [said for said in listener.said if "left out" in said]
    assert said.startswith("Rows: 3 of 60 left out: 3 columns (first: a.tsv, line 21, byte ")
    assert said.endswith("; a.tsv, line 31; a.tsv, line 32)")
    with pytest.raises(DataError, match=r"6 of 63 rows are unusable .*With this many, the file probably has another"):
        read(write("b.tsv", "".join(rows) + "none\n" * 3), columns="1,2")


def test_the_same_text_with_other_labels_is_reported() -> None:
    found = read(write("a.tsv", reviews() + "review number 1\tbad\nreview number 2\tgood\n")).facts["findings"]
    assert (found.notes["conflict"].count, found.notes["duplicate"].count) == (1, 1)
    (example,) = found.notes["conflict"].examples
    assert (example.problem.place.number, example.texts) == (101, ("review number 1", "bad"))


def test_texts_that_are_also_held_out_are_not_learnt_from() -> None:
    write("valid.tsv", "Review number 1!\tbad\nnew\tgood\nunknown\tugly\nreview number 2\tgood\n")
    listener = Listener()
    examples = read(write("a.tsv", reviews()), columns="1,2", valid="valid.tsv", listener=listener)
    found = examples.facts["findings"]
    assert found.dropped == {"overlap": 2}
    assert found.to_dict()["held"] == [{"name": "valid", "examples": 4, "texts_in_train": 2}]
    assert [example.label for example in examples.valid] == ["bad", "good", "good"]
    valid = examples.facts["valid_findings"]
    assert valid.units == valid.used + valid.dropped.total() == 4
    assert any("1 held-out example left out" in said and "'ugly'" in said for said in listener.said)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tx\nb\tx\nc\tx\n", "3 usable examples, all with the label 'x'. A classifier needs two labels"),
        ("".join(f"t{i}\tthe label is a text {i}\n" for i in range(20)), "20 different labels in 20 examples"),
        ("".join(f"t{i % 9}\tlabel {i}\n" for i in range(3000)), "more than 1,000 different labels, for instance"),
        ("\n\n", "no usable examples: 2 of 2 left out: 2 blank"),
        ("", "a.tsv: no usable examples: the input is empty"),
        ("the same text\ta\nthe same text\tb\n" * 150, "300 usable examples with 1 different text, of which 300 would"),
        ("one\ta\ntwo\tb\n", "2 usable examples with 2 different texts, of which 1 would be held out .*so 1 would be"),
        ("a b\nc d\n", r"most of its first 2 rows have 1 column, but column 2 was requested"),
    ],
)
def test_what_cannot_be_learnt_is_refused(content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(write("a.tsv", content), columns="1,2")


def test_an_unknown_column_or_key_names_what_there_is() -> None:
    with pytest.raises(DataError, match="no column is named 'klass'; its first row is 'text', 'label'"):
        read(write("a.tsv", "text\tlabel\n" + reviews()), columns="text,klass")
    with pytest.raises(DataError, match="no 'klass' in an object of 'text', 'label'"):
        read(write("a.jsonl", '{"text": "a", "label": 1}\n'), columns="text,klass")
    with pytest.raises(DataError, match="does not look like JSON lines"):
        read(write("b.jsonl", "text,label\na,b\n"))
    with pytest.raises(DataError, match="column 1 is chosen twice"):
        read("a.tsv", columns="1,1")


def test_fingerprints_follow_the_examples() -> None:
    first = read(write("a.tsv", reviews()), columns="1,2").fingerprints
    assert read(write("b.tsv", reviews()), columns="1,2").fingerprints == first
    other = read(write("c.tsv", reviews().replace("9", "nine")), columns="1,2").fingerprints
    assert all(other[name] != first[name] for name in ("train", "files"))
    assert read("a.tsv", columns="1,2", valid="5%").fingerprints["train"] != first["train"]


def test_files_that_change_while_they_are_read_are_refused() -> None:
    examples = read(write("a.tsv", reviews()), columns="1,2")
    write("a.tsv", reviews(99))
    with pytest.raises(DataError, match="changed while they were read"):
        list(examples.train())


def test_an_examination_counts_without_refusing_what_is_small() -> None:
    found = examine_labelled([write("a.tsv", "text\tlabel\na\tx\n")], columns=("text", "label"), listener=Listener())
    assert (found.units, found.used, found.balance()) == (2, 1, {"x": 1})
    assert (found.lost, found.examples_read) == (0, 1)  # the header is no example
    assert found.to_dict()["labels"] == {"x": 1}
    assert "1 usable example, all with the label 'x'" in found.to_dict()["refused"]
    again = examine_labelled([write("b.tsv", "one\ta\ntwo\tb\n")], columns=("1", "2"), listener=Listener())
    assert "too few different examples" in again.refused
    fine = examine_labelled([write("c.tsv", reviews())], columns=("1", "2"), listener=Listener())
    assert fine.refused == ""
