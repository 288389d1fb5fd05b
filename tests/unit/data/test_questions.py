"""Questions from SQuAD files, JSON lines and tables: answers with exact places, and every flaw with its question."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.readers.questions import QuestionRow, read_questions
from glassformer.data.settings import AnswerDataSettings
from glassformer.data.sources.answers import (
    answer_source,
    examine_answers,
    read_answer_examples,
    read_held_answers,
)
from glassformer.errors import DataError, SettingsError
from glassformer.training.watching import Silent

PASSAGE = "Paris is in France. Paris is large, with 2,102,650 people."


class Told(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def on_stage(self, text: str) -> None:
        self.said.append(text)


def squad(*questions: dict[str, Any], passage: Any = PASSAGE, title: str = "Paris") -> dict[str, Any]:
    return {"version": "v2.0", "data": [{"title": title, "paragraphs": [{"context": passage, "qas": list(questions)}]}]}


def asked(id: str, *answers: tuple[str, int], **more: Any) -> dict[str, Any]:
    given = [{"text": text, "answer_start": at} for text, at in answers]
    return {"id": id, "question": f"What is {id}?", "answers": given, **more}


def rows(path: Path, content: Any, columns: tuple[str, ...] | None = None) -> list[QuestionRow]:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    kind = {".json": "jsonl"}.get(path.suffix, path.suffix[1:])
    return list(read_questions(path, kind, columns))


def test_a_squad_file_gives_questions_with_all_their_answers(tmp_path: Path) -> None:
    content = squad(
        asked("one", ("Paris", 0), ("France", 12)),
        asked("none", is_impossible=True, plausible_answers=[{"text": "Paris", "answer_start": 0}]),
    )
    one, none = rows(tmp_path / "a.json", content)
    assert (one.question, one.passage, one.title, one.id) == ("What is one?", PASSAGE, "Paris", "one")
    assert (one.starts, one.answers, one.problem, one.notes) == ((0, 12), ("Paris", "France"), None, ())
    assert (none.starts, none.answers, none.problem, none.notes) == ((), (), None, ())


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_squad_files_may_be_compressed_and_indented(tmp_path: Path, indent: int | None, suffix: str) -> None:
    text = json.dumps(squad(asked("one", ("Paris", 0))), indent=indent).encode()
    packed = {"": text, ".gz": gzip.compress(text), ".xz": lzma.compress(text)}[suffix]
    path = tmp_path / f"dev.json{suffix}"
    path.write_bytes(packed)
    (row,) = answer_source([str(path)], None).rows()
    assert row.answers == ("Paris",)


def test_wrong_offsets_are_corrected_counted_and_named(tmp_path: Path) -> None:
    content = squad(
        asked("near", ("Paris", 19)),  # one character too early
        asked("gone", ("London", 0)),
        asked("some", ("London", 0), ("France", 12)),
        asked("below", ("Paris", -3)),
        asked("space", (" France", 11)),
    )
    near, gone, some, below, space = rows(tmp_path / "a.json", content)
    assert (near.starts, near.notes[0].kind) == ((20,), "offset")
    assert str(near.notes[0]) == (f"{tmp_path / 'a.json'}, question near: at 19 is ' Pari', not 'Paris'; it is at 20")
    assert gone.problem is not None
    assert (gone.problem.kind, "question gone" in str(gone.problem)) == ("answer", True)
    assert (some.answers, some.problem, some.notes[0].kind) == (("France",), None, "no answer")
    assert (below.starts, below.notes[0].kind) == ((0,), "offset")
    assert (space.starts, space.answers, space.notes) == ((12,), ("France",), ())


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("text", "a question that is not an object"),
        ({"id": "x", "question": 7, "answers": []}, "the question is a number instead of a text"),
        ({"id": "x", "question": " ", "answers": []}, "the question is blank"),
        ({"id": "x", "question": "?", "answers": [{"text": 5, "answer_start": 0}]}, "an answer is a number"),
        ({"id": "x", "question": "?", "answers": [{"text": "Paris", "answer_start": "0"}]}, "the offset of an answer"),
        ({"id": "x", "question": "\ud800", "answers": []}, "half a character"),
    ],
)
def test_malformed_entries_are_reported_one_by_one(tmp_path: Path, entry: Any, words: str) -> None:
    bad, good = rows(tmp_path / "a.json", squad(entry, asked("good", ("Paris", 0))))
    assert bad.problem is not None
    assert words in str(bad.problem)
    if isinstance(entry, dict):
        assert "question x" in str(bad.problem)
    assert good.problem is None


@pytest.mark.parametrize("data", [[3], [{"title": "t"}], [{"title": "t", "paragraphs": [{"context": "c"}]}]])
def test_articles_of_the_wrong_shape_are_reported(tmp_path: Path, data: Any) -> None:
    (row,) = rows(tmp_path / "a.json", {"data": data})
    assert row.problem is not None
    assert row.problem.kind == "json"


def test_a_damaged_squad_file_says_where(tmp_path: Path) -> None:
    text = json.dumps(squad(asked("one", ("Paris", 0))))
    with pytest.raises(DataError, match=r"damaged JSON: .* line 1, column"):
        rows(tmp_path / "a.json", text[:-9])
    with pytest.raises(DataError, match="neither a SQuAD file nor JSON lines"):
        rows(tmp_path / "b.json", "[1]\n[2]\n")


LINES: list[tuple[dict[str, Any], tuple[int, ...]]] = [
    ({"passage": PASSAGE, "answer": "France"}, (12,)),
    ({"context": PASSAGE, "answer": "Paris", "start": 20}, (20,)),
    ({"context": PASSAGE, "answer": "Paris"}, (0,)),  # the first place, with a note
    ({"context": PASSAGE, "answers": ["France", "Paris"]}, (12, 0)),
    ({"context": PASSAGE, "answers": {"text": ["Paris"], "answer_start": [20]}}, (20,)),
    ({"context": PASSAGE, "answers": {"text": [], "answer_start": []}}, ()),
    ({"context": PASSAGE, "answers": [{"text": "France", "answer_start": 12}]}, (12,)),
    ({"context": PASSAGE, "answer": None}, ()),
    ({"context": PASSAGE, "answer": ""}, ()),
]


@pytest.mark.parametrize(("value", "starts"), LINES)
def test_json_lines_in_every_usual_shape(tmp_path: Path, value: dict[str, Any], starts: tuple[int, ...]) -> None:
    (row,) = rows(tmp_path / "a.jsonl", json.dumps({"question": "What?", **value}) + "\n")
    assert (row.problem, row.starts) == (None, starts)
    assert all(row.passage.startswith(text, at) for at, text in zip(row.starts, row.answers, strict=True))


def test_tables_with_and_without_header_and_offset(tmp_path: Path) -> None:
    named = rows(tmp_path / "a.tsv", f"context\tquestion\tanswer\n{PASSAGE}\tWhere?\tFrance\n{PASSAGE}\tWhy?\t\n")
    assert [row.problem.kind if row.problem else row.starts for row in named] == ["header", (12,), ()]
    plain = rows(tmp_path / "b.tsv", f"Where?\t{PASSAGE}\tParis\t20\nWho?\t{PASSAGE}\tParis\tx\nWho?\tb\n")
    assert [row.problem.kind if row.problem else row.starts for row in plain] == [(20,), "json", "columns"]
    chosen = rows(tmp_path / "c.csv", f'id,A,Q,P\n1,France,Where?,"{PASSAGE}"\n', ("Q", "P", "A"))
    assert [row.problem.kind if row.problem else row.starts for row in chosen] == ["header", (12,)]


def write_articles(path: Path, *, articles: int = 10, each: int = 6) -> Path:
    data = []
    for number in range(articles):
        passage = f"Town {number} is old. It has {number + 3} gates."
        questions = [asked(f"{number}-{i}", (f"Town {number}", 0)) for i in range(each)]
        data.append({"title": f"Town {number}", "paragraphs": [{"context": passage, "qas": questions}]})
    path.write_text(json.dumps({"data": data}))
    return path


def test_whole_articles_are_held_out(tmp_path: Path) -> None:
    data = AnswerDataSettings(files=(str(write_articles(tmp_path / "a.json")),), valid=("20%",))
    told = Told()
    found = read_answer_examples(data, seed=1, listener=told)
    train, held = {one.title for one in found.train()}, {one.title for one in found.valid}
    assert (len(train), len(held), train & held) == (8, 2, set())
    assert "Held out: 2 of 10 articles" in " ".join(told.said)
    again = read_answer_examples(data, seed=1, listener=Silent())
    assert again.fingerprints == found.fingerprints
    assert read_answer_examples(data, seed=2, listener=Silent()).fingerprints != found.fingerprints


def test_one_passage_cannot_be_split(tmp_path: Path) -> None:
    data = AnswerDataSettings(files=(str(write_articles(tmp_path / "a.json", articles=1)),))
    with pytest.raises(DataError, match="Give validation questions with --valid FILE"):
        read_answer_examples(data, seed=1, listener=Silent())


def test_doctor_finds_duplicates_conflicts_leaks_and_missing_answers(tmp_path: Path) -> None:
    one = asked("one", ("Paris", 0))
    content = squad(one, {**one, "id": "again"}, {**asked("other", ("France", 12)), "question": one["question"]})
    content["data"] += squad(asked("gone", ("Rome", 0)), asked("ok", ("Oslo", 0)), passage="Oslo is cold.")["data"]
    (tmp_path / "a.json").write_text(json.dumps(content))
    (tmp_path / "test.json").write_text(json.dumps(squad(asked("t", ("oslo", 0)), passage="oslo is COLD.")))
    found = examine_answers([str(tmp_path / "a.json")], held={"test": [str(tmp_path / "test.json")]}, listener=Silent())
    assert (found.units, found.used, found.passages) == (5, 4, 2)
    assert dict(found.dropped) == {"answer": 1}
    assert {kind: one.count for kind, one in found.notes.items()} == {"duplicate": 1, "conflict": 1, "in test": 1}
    assert str(found.held[0]).startswith("test: 1 of 1 questions has a passage that is also in the training data")
    written = found.to_dict()
    gone = next(one for one in written["findings"] if one["kind"] == "answer")
    assert (gone["examples"][0]["id"], gone["examples"][0]["file"]) == ("gone", str(tmp_path / "a.json"))
    assert written["held"][0]["texts_in_train"] == 1


def test_files_that_cannot_be_questions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("plain text\n")
    with pytest.raises(DataError, match="not a file with questions"):
        read_held_answers([str(tmp_path / "a.txt")], None, Silent())
    (tmp_path / "b.jsonl").write_text(json.dumps({"question": "q", "passage": "p", "answer": ""}) + "\n")
    with pytest.raises(DataError, match="none of its 1 question has an answer"):
        read_held_answers([str(tmp_path / "b.jsonl")], None, Silent())


def test_windows_must_advance() -> None:
    from glassformer.config import validate

    with pytest.raises(SettingsError, match="leaves no space for a passage"):
        validate(AnswerDataSettings, {"max_tokens": 200, "overlap": 140}, origin="test")
