"""Questions with a passage and answers: SQuAD files (1.1 and 2.0), JSON lines, TSV and CSV.

An answer is a piece of its passage. If an offset is missing or wrong, the answer is searched in the passage; an answer
that is not there cannot be used. A question without any answer is one that the passage does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.data.readers.json_lines import value_of
from glassformer.data.readers.lines import lines_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.question_tables import read_question_table
from glassformer.data.readers.records import Place, Problem
from glassformer.data.readers.sentences import UNUSABLE, escape_flaw
from glassformer.data.readers.squad import entries_of, squad_articles
from glassformer.errors import DataError

OnRead = Callable[[int], None] | None
Columns = tuple[str, ...] | None
PASSAGE_KEYS = ("passage", "context")
ANSWER_KEYS = ("answers", "answer")
START_KEYS = ("start", "answer_start")
SHAPE = '{"question": ..., "passage": ..., "answer": ...}'


@dataclass(frozen=True, slots=True)
class QuestionPlace(Place):
    """A question of a file, by its id if it has one."""

    id: str = ""

    def __str__(self) -> str:
        return f"{self.file}, question {self.id}" if self.id else Place.__str__(self)


@dataclass(slots=True)
class QuestionRow:
    """One question. `starts` and `answers` belong together; both are empty if the passage does not answer it."""

    question: str
    passage: str
    place: Place
    title: str = ""  # of the article that the passage is from
    id: str = ""
    starts: tuple[int, ...] = ()
    answers: tuple[str, ...] = ()
    problem: Problem | None = None
    notes: tuple[Problem, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.question, self.passage)


def read_questions(path: Path, kind: str, columns: Columns = None, *, on_read: OnRead = None) -> Iterator[QuestionRow]:
    """One row for each question of a file, or for each entry that is not one."""
    if kind != "jsonl":
        return map(_of_cells, read_question_table(path, kind, columns, on_read=on_read))
    blocks = list(blocks_of(path, on_read=on_read))
    articles = squad_articles(blocks, shown(path))
    if articles is None:
        return _read_objects(blocks, path, columns)
    if columns is not None:
        raise DataError(f"{shown(path)} is a SQuAD file, which has no columns. Leave --columns out.")
    return _read_squad(articles, shown(path))


# SQuAD


def _read_squad(articles: Sequence[Any], name: str) -> Iterator[QuestionRow]:
    for number, entry in enumerate(entries_of(articles), 1):
        place = QuestionPlace(name, number, 0, "question", entry.id)
        if entry.flaw:
            yield QuestionRow("", "", place, entry.title, entry.id, problem=Problem("json", entry.flaw, place))
            continue
        value = entry.value
        impossible = bool(value.get("is_impossible", False))
        given = None if impossible else value.get("answers", [])
        row = _row(value.get("question"), entry.passage, given, None, place, title=entry.title, id=entry.id)
        if row.problem is None and not row.answers and "is_impossible" not in value:
            row.notes += (Problem("unmarked", "no answers, and not marked as is_impossible", place),)
        yield row


# JSON lines


def _read_objects(blocks: Iterable[bytes], path: Path, columns: Columns) -> Iterator[QuestionRow]:
    name, usable, filled, number = shown(path), 0, False, 0
    for number, line in enumerate(lines_of(blocks, path), 1):
        place = Place(name, number, line[1])
        value, problem = value_of(line, place)
        filled = filled or bool(line[0].strip())
        if problem is None and not isinstance(value, dict):
            problem = Problem("json", f"an array instead of an object such as {SHAPE}", place)
        if problem is not None:
            blank = Problem("blank", "a blank line", place)
            yield QuestionRow("", "", place, problem=blank if problem.kind == "blank" else problem)
            continue
        usable += 1
        notes = tuple(odd for odd in line[2] if odd.kind not in UNUSABLE)
        yield _of_object(value, columns, place, notes)
    if not usable and filled:
        raise DataError(
            f"{name}: neither a SQuAD file nor JSON lines: none of its {number:,} lines is an object. Write one per "
            f"line: {SHAPE}."
        )


def _of_object(value: dict[str, Any], columns: Columns, place: Place, notes: tuple[Problem, ...]) -> QuestionRow:
    id = value.get("id", "")
    id = str(id) if isinstance(id, str | int) else ""
    place = QuestionPlace(place.file, place.number, place.byte, place.unit, id)
    names = columns or (
        "question",
        *(_first_in(value, keys) for keys in (PASSAGE_KEYS, ANSWER_KEYS)),
    )
    start = columns[3] if columns is not None and len(columns) > 3 else _first_in(value, START_KEYS)
    title = value.get("title", "")
    missing = [name for name in names[:3] if name not in value]
    if missing:
        got = ", ".join(repr(str(key)[:30]) for key in list(value)[:8])
        problem = Problem("json", f"no {missing[0]!r} in an object of {got or 'nothing'}", place)
        return QuestionRow("", "", place, id=id, problem=problem, notes=notes)
    question, passage, given = (value[name] for name in names[:3])
    if value.get("is_impossible") is True:
        given = None
    row = _row(question, passage, given, value.get(start), place, title=title if isinstance(title, str) else "", id=id)
    row.notes = (*notes, *row.notes)
    return row


def _first_in(value: dict[str, Any], keys: Sequence[str]) -> str:
    return next((key for key in keys if key in value), keys[0])


# Tables


def _of_cells(found: tuple[tuple[str, ...], Place, Problem | None, tuple[Problem, ...]]) -> QuestionRow:
    cells, place, problem, notes = found
    if problem is not None:
        texts = (*cells, "", "")
        return QuestionRow(texts[0].strip(), texts[1], place, problem=problem, notes=notes)
    question, passage, answer, *rest = cells
    start: Any = rest[0].strip() if rest else None
    if start:
        start = int(start) if start.isascii() and start.isdecimal() else start
    row = _row(question, passage, answer.strip() or None, None if start == "" else start, place)
    row.notes = (*notes, *row.notes)
    return row


# Answers


def _row(
    question: Any, passage: Any, given: Any, start: Any, place: Place, *, title: str = "", id: str = ""
) -> QuestionRow:
    """A question with those of its answers that are in the passage, or the problem that makes it unusable."""
    texts = [one if isinstance(one, str) else "" for one in (question, passage)]
    row = QuestionRow(texts[0].strip(), texts[1], place, title, id)
    for what, value in (("question", question), ("passage", passage)):
        if not isinstance(value, str):
            row.problem = Problem("json", f"the {what} is {_what(value)} instead of a text", place)
            return row
        row.problem = escape_flaw(value, place)
        if row.problem is not None:
            return row
    if not row.question or not row.passage.strip():
        row.problem = Problem("blank", f"the {'passage' if row.question else 'question'} is blank", place)
        return row
    try:
        pairs = list(_pairs(given, start))
    except ValueError as error:
        row.problem = Problem("json", str(error), place)
        return row
    return _with_answers(row, pairs)


def _pairs(given: Any, start: Any) -> Iterator[tuple[str, int | None]]:
    """(text, offset) of each answer: of a text, a list of texts, of objects, or an object of two lists."""
    if given is None:
        return
    if isinstance(given, dict) and isinstance(given.get("text"), list):
        starts = given.get("answer_start", given.get("start", [None] * len(given["text"])))
        if not isinstance(starts, list) or len(starts) != len(given["text"]):
            raise ValueError("the answers have another number of offsets than of texts")
        given = [{"text": text, "start": at} for text, at in zip(given["text"], starts, strict=True)]
    elif not isinstance(given, list):
        given = [{"text": given, "start": start}]
    for one in given:
        parts = one if isinstance(one, dict) else {"text": one}
        text, at = parts.get("text"), parts.get("answer_start", parts.get("start"))
        if not isinstance(text, str):
            raise ValueError(f"an answer is {_what(text)} instead of a text")
        if at is not None and (isinstance(at, bool) or not isinstance(at, int)):
            raise ValueError(f"the offset of an answer is {_what(at)} instead of a whole number")
        if text.strip() or at is not None:
            yield text, at


def _with_answers(row: QuestionRow, pairs: Sequence[tuple[str, int | None]]) -> QuestionRow:
    found: list[tuple[int, str]] = []
    notes: list[Problem] = []
    for text, at in pairs:
        place, note = _located(row.passage, text, at)
        if note is not None:
            notes.append(Problem(note[0], note[1], row.place))
        if place is not None:
            found.append((place, row.passage[place : place + len(text.strip())]))
    row.starts, row.answers = tuple(at for at, _ in found), tuple(text for _, text in found)
    if pairs and not found:
        row.problem = Problem("answer", notes[0].detail, row.place)
        return row
    row.notes = (*row.notes, *notes)
    return row


def _located(passage: str, answer: str, at: int | None) -> tuple[int | None, tuple[str, str] | None]:
    """Where an answer, without white space around it, begins; and what is odd about it, as (kind, detail)."""
    text = answer.strip()
    if at is not None:
        at += len(answer) - len(answer.lstrip())
        if text and at >= 0 and passage.startswith(text, at):
            return at, None
    places = _occurrences(passage, text)
    if not places:
        return None, ("no answer", f"the answer {text[:60]!r} is not in the passage")
    if at is None:
        return places[0], ("ambiguous", f"{text[:60]!r} is {len(places)} times in the passage") if places[1:] else None
    nearest = min(places, key=lambda place: abs(place - at))
    there = passage[max(0, at) : max(0, at) + len(text)]
    return nearest, ("offset", f"at {at:,} is {there[:60]!r}, not {text[:60]!r}; it is at {nearest:,}")


def _occurrences(passage: str, text: str) -> list[int]:
    places, at = [], passage.find(text) if text else -1
    while at >= 0:
        places.append(at)
        at = passage.find(text, at + 1)
    return places


def _what(value: Any) -> str:
    if value is None:
        return "missing"
    names = {dict: "an object", list: "an array", bool: "true or false", str: f"the text {str(value)[:30]!r}"}
    return names.get(type(value), "a number")
