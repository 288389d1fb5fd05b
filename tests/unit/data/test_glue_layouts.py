"""GLUE's own files are read as they are: headers, quotes that close nothing, a byte order mark, undecided labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glassformer.data.settings import LabelledDataSettings
from glassformer.data.sources.labelled import (
    LabelledSource,
    labelled_source,
    read_held_labelled,
    read_labelled_examples,
)
from glassformer.data.sources.scored import read_scored_examples, scored_source
from glassformer.errors import DataError

MNLI = "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse"
# task: header (None: there is none), rows, the texts and labels that must come out
LAYOUTS: dict[str, tuple[str | None, list[list[str]], list[tuple[tuple[str, ...], str]]]] = {
    "CoLA": (
        None,
        [["gj04", "1", "", 'He said "hello.'], ["gj04", "0", "*", "They drank the pub."]],
        [(('He said "hello.',), "1"), (("They drank the pub.",), "0")],
    ),
    "SST-2": ("sentence label", [['a "lone quote', "1"], ["dull", "0"]], [(('a "lone quote',), "1"), (("dull",), "0")]),
    "MRPC": (
        "Quality|#1 ID|#2 ID|#1 String|#2 String",
        [["1", "7", "8", '"A quote opens', "and none closes"], ["0", "9", "10", "One", "Another"]],
        [(('"A quote opens', "and none closes"), "1"), (("One", "Another"), "0")],
    ),
    "our own names": (
        "a b label",
        [["One.", "Two.", "yes"], ["Three.", "Four.", "no"]],
        [(("One.", "Two."), "yes"), (("Three.", "Four."), "no")],
    ),
    "QQP": (
        "id qid1 qid2 question1 question2 is_duplicate",
        [["0", "1", "2", "Is it?", "It is?", "1"], ["1", "3", "4", "Why?", "When?", "0"]],
        [(("Is it?", "It is?"), "1"), (("Why?", "When?"), "0")],
    ),
    "MNLI": (
        f"{MNLI} sentence1 sentence2 label1 label2 gold_label",
        [
            [*"01234567", "It rains.", "It is wet.", "neutral", "entailment", "entailment"],
            [*"11234567", "It rains.", "It is dry.", "contradiction", "neutral", "-"],
            [*"21234567", "A dog.", "A cat.", "contradiction", "contradiction", "contradiction"],
        ],
        [(("It rains.", "It is wet."), "entailment"), (("A dog.", "A cat."), "contradiction")],
    ),
    "QNLI": (
        "index question sentence label",
        [["0", "Who?", "He did.", "entailment"], ["1", "Who?", "It rained.", "not_entailment"]],
        [(("Who?", "He did."), "entailment"), (("Who?", "It rained."), "not_entailment")],
    ),
    "RTE": (
        "index sentence1 sentence2 label",
        [["0", "A b.", "C d.", "entailment"], ["1", "E f.", "G h.", "not_entailment"]],
        [(("A b.", "C d."), "entailment"), (("E f.", "G h."), "not_entailment")],
    ),
    "WNLI": (
        "index sentence1 sentence2 label",
        [["0", "It broke.", "The cup broke.", "1"], ["1", "It broke.", "The wall broke.", "0"]],
        [(("It broke.", "The cup broke."), "1"), (("It broke.", "The wall broke."), "0")],
    ),
}


class Listener:
    def __init__(self) -> None:
        self.said: list[str] = []

    def on_stage(self, text: str) -> None:
        self.said.append(text)

    def on_count(self, done: int, total: int) -> None: ...


def written(folder: Path, task: str, *, mark: str = "") -> Path:
    header, rows, _ = LAYOUTS[task]
    names = [] if header is None else [header.split("|") if "|" in header else header.split(" ")]
    path = folder / "train.tsv"
    path.write_text(mark + "".join("\t".join(row) + "\n" for row in names + rows), encoding="utf-8")
    return path


def usable(source: LabelledSource) -> list[tuple[Any, str]]:
    return [(row.texts[:-1], row.texts[-1]) for row in source.rows() if row.problem is None]


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("task", LAYOUTS)
def test_the_layout_is_recognised(task: str, mark: str, tmp_path: Path) -> None:
    if task == "CoLA" and mark:
        return
    source = labelled_source([str(written(tmp_path, task, mark=mark))], None)
    assert usable(source) == LAYOUTS[task][2]


def test_the_score_of_sts_is_a_number_and_its_pairs_are_two_texts(tmp_path: Path) -> None:
    header = "index genre filename year old_index source1 source2 sentence1 sentence2 score"
    rows = [
        [str(i), "news", "MSR", "2012", "1", "none", "none", f'A "man {i}', f"Someone {i}", f"{i % 6}.250"]
        for i in range(60)
    ]
    path = tmp_path / "train.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in [header.split(" "), *rows]))
    assert scored_source([str(path)], None).columns == ("sentence1", "sentence2", "score")
    found = read_scored_examples(LabelledDataSettings(files=(str(path),)), seed=1, listener=Listener())
    assert found.facts["columns"] == ("sentence1", "sentence2", "score")
    examples = [*found.train(), *found.valid]
    assert sorted(score for _, score in examples) == sorted(i % 6 + 0.25 for i in range(60))
    assert all(len(texts) == 2 and '"man' in texts[0] for texts, _ in examples)
    train = [score for _, score in found.train()]
    assert found.facts["centre"] == pytest.approx(sum(train) / len(train))


def test_undecided_labels_are_left_out_with_their_place(tmp_path: Path) -> None:
    found = read_held_labelled([str(written(tmp_path, "MNLI"))], ("sentence1", "sentence2", "gold_label"), Listener())
    assert found is not None
    held, findings = found
    assert [example.label for example in held] == ["entailment", "contradiction"]
    assert findings.problems["label"].examples[0].problem.place.number == 3
    assert "did not agree" in findings.problems["label"].examples[0].problem.detail


def test_the_columns_found_in_training_are_those_of_the_run(tmp_path: Path) -> None:
    header, rows, _ = LAYOUTS["QQP"]
    assert header is not None
    many = [[str(i), *row[1:3], f"{row[3]} {i}", *row[4:]] for i in range(40) for row in rows]
    path = tmp_path / "train.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in [header.split(" "), *many]))
    found = read_labelled_examples(LabelledDataSettings(files=(str(path),)), seed=1, listener=Listener())
    assert found.facts["columns"] == ("question1", "question2", "is_duplicate")
    assert all(len(example.texts) == 2 for example in found.train())


def test_another_table_is_not_taken_for_one_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("good film\tpos\nbad film\tneg\n" * 5)
    assert labelled_source([str(tmp_path / "a.tsv")], None).columns is None
    (tmp_path / "b.tsv").write_text("x\t1\ty\tfour columns\n" * 3)
    assert labelled_source([str(tmp_path / "b.tsv")], None).columns is None


def test_many_scores_that_are_not_numbers_are_an_error(tmp_path: Path) -> None:
    rows = [f"one {i}\ttwo {i}\t{'1,5' if i % 3 else i}\n" for i in range(60)]
    (tmp_path / "scores.tsv").write_text("a\tb\tscore\n" + "".join(rows))
    data = LabelledDataSettings(files=(str(tmp_path / "scores.tsv"),))
    with pytest.raises(DataError, match=r"40 of 61 rows are unusable .* line 3, .* not a number: '1,5'"):
        read_scored_examples(data, seed=1, listener=Listener())
