"""Questions for answer-span models: read, checked, and held out by article.

Questions are kept in memory: passages are shared by their questions, so a million questions take about 1 GB.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from glassformer.data.checks.answer_findings import AnswerFindings
from glassformer.data.checks.held_texts import HeldTexts
from glassformer.data.checks.seen import SeenHashes, hashes_of
from glassformer.data.readers.inputs import Input, fingerprint
from glassformer.data.readers.naming import TEXT, expand, kind_of, refuse_repeated
from glassformer.data.readers.opening import STDIN
from glassformer.data.readers.questions import QuestionRow, read_questions
from glassformer.data.readers.records import Problem
from glassformer.data.selection import HELD, TRAIN, HoldOut, divided
from glassformer.data.settings import AnswerDataSettings
from glassformer.data.sources.class_files import has_tabs
from glassformer.data.sources.examples import (
    FILES,
    Examples,
    Listener,
    changed_since,
    decision_digest,
    meter,
    refuse_changed,
    refuse_unreadable,
    stamps,
    texts_digest,
)
from glassformer.data.sources.files import Source
from glassformer.errors import DataError
from glassformer.printable import counted, printable, shortened

FORMATS = {"tsv", "csv", "jsonl"}
SHARE, MOST = 0.1, 500  # held out by default: this share, at most this many questions
FEW_ARTICLES = 5  # with fewer, passages are held out instead of articles
ROWS = 2048  # compared together
SEPARATOR = "\0"
Progress = Callable[[int, int], None]


class Question(NamedTuple):
    """A question, its passage, and the answers with their offsets; no answers if the passage has none."""

    id: str
    title: str
    question: str
    passage: str
    starts: tuple[int, ...]
    answers: tuple[str, ...]  # last: what metrics compare with


@dataclass(frozen=True)
class AnswerSource(Source):
    """Files of questions."""

    def rows(self, *, progress: Progress | None = None) -> Iterator[QuestionRow]:
        on_read = meter(self.paths, progress)
        for one in self.inputs:
            yield from read_questions(one.paths[0], one.kind, self.columns, on_read=on_read)


def answer_source(names: Sequence[str], columns: tuple[str, ...] | None) -> AnswerSource:
    """The files with these names and patterns. A text file with tabs is a TSV."""
    inputs = []
    for path in expand(names):
        if path == STDIN:
            raise DataError("Data is read more than once, so it cannot come from stdin. Save it to a file first.")
        kind = "tsv" if kind_of(path) == TEXT and has_tabs(path) else kind_of(path)
        if kind not in FORMATS:
            raise DataError(
                f"{path}: not a file with questions. Give SQuAD files (.json), or .jsonl, .tsv or .csv files with "
                "question, passage and answer."
            )
        inputs.append(Input((path,), kind))
    if not inputs:
        raise DataError("No file was given. Give SQuAD files (.json), or .jsonl, .tsv or .csv files.")
    refuse_repeated([path for one in inputs for path in one.paths])
    return AnswerSource(tuple(inputs), columns)


def files_changed(data: AnswerDataSettings, begun: Mapping[str, str]) -> bool:
    """Whether the files to learn from are other ones than those with these fingerprints; False if they are gone."""
    return changed_since(begun, lambda: fingerprint(answer_source(data.files, data.columns).inputs))


def read_answer_examples(data: AnswerDataSettings, *, seed: int, listener: Listener) -> Examples[Question]:
    """The training and validation questions."""
    source = answer_source(data.files, data.columns)
    seen = stamps(source.paths)
    valid = read_held_answers(data.valid_files, data.columns, listener, beside=source.paths)
    findings = AnswerFindings()
    held = [held_passages("valid", valid)] if valid else []
    questions = usable(screened(source.rows(progress=listener.on_count), findings, held))
    refuse_unusable(findings, source)
    report(findings, listener)
    if valid is None:
        questions, valid = split(questions, data.valid_share, seed=seed, names=source.names, listener=listener)
    listener.on_stage(f"{counted(len(questions), 'training question')}, {counted(len(valid), 'validation question')}")
    files = fingerprint(source.inputs)
    marks = {
        "train": decision_digest(files, data.columns, digest_of(questions)),
        "valid": digest_of(valid),
        FILES: files,
    }
    refuse_changed(source.paths, seen)
    facts = {"findings": findings, "no_answer": any(not one.answers for one in (*questions, *valid))}
    return Examples(lambda: iter(questions), len(questions), valid, marks, facts)


def digest_of(questions: Iterable[Question]) -> str:
    return texts_digest(
        (one.id, one.question, one.passage, *(f"{at} {text}" for at, text in zip(one.starts, one.answers, strict=True)))
        for one in questions
    )


def read_held_answers(
    names: Sequence[str], columns: tuple[str, ...] | None, listener: Listener, *, beside: Sequence[Path] = ()
) -> list[Question] | None:
    """The questions of validation or test files; None without files."""
    if not names:
        return None
    source = answer_source(names, columns)
    refuse_repeated([*beside, *source.paths])
    findings = AnswerFindings()
    held = usable(screened(source.rows(), findings))
    refuse_unusable(findings, source)
    if findings.lost:
        listener.on_stage(f"Held-out questions: {findings.left_out()}")
    return held


# Checking


def screened(
    rows: Iterable[QuestionRow], findings: AnswerFindings, held: Sequence[HeldTexts] = ()
) -> Iterator[QuestionRow]:
    """Every row, with a problem if it cannot be used. Counts all rows."""
    findings.held = list(held)
    checks = _Seen(), _Seen(), set[str]()
    block: list[QuestionRow] = []
    for row in rows:
        block.append(row)
        if len(block) == ROWS:
            yield from _checked(block, findings, held, checks)
            block = []
    yield from _checked(block, findings, held, checks)


class _Seen:
    """Texts that were seen before."""

    def __init__(self) -> None:
        self._hashes = SeenHashes()

    def again(self, texts: Iterable[str]) -> list[bool]:
        hashes = hashes_of(texts)
        return self._hashes.add(hashes).tolist() if len(hashes) else []


def _checked(
    block: Sequence[QuestionRow],
    findings: AnswerFindings,
    held: Sequence[HeldTexts],
    checks: tuple[_Seen, _Seen, set[str]],
) -> Iterator[QuestionRow]:
    asked, answered, passages = checks
    rows = [row for row in block if row.problem is None]
    again = asked.again(SEPARATOR.join(row.texts) for row in rows)
    same = answered.again(SEPARATOR.join((*row.texts, *row.answers)) for row in rows)
    for row, is_again, is_same in zip(rows, again, same, strict=True):
        if is_again:
            kind, detail = ("duplicate", "seen before") if is_same else ("conflict", "seen before with another answer")
            row.notes += (Problem(kind, detail, row.place),)
    for part in held:
        part.mark(rows, [row.passage for row in rows])
    for row in block:
        findings.count(row, row.problem.kind if row.problem else None)
        if row.problem is None:
            _measure(row, findings, passages)
        yield row


def _measure(row: QuestionRow, findings: AnswerFindings, passages: set[str]) -> None:
    findings.words += len(row.question.split())
    findings.impossible += not row.answers
    if row.title:
        findings.titles.add(row.title)
    if row.passage not in passages:
        passages.add(row.passage)
        findings.passages += 1
        findings.characters += len(row.passage)
        findings.longest = max(findings.longest, len(row.passage))


def noted(rows: Iterable[QuestionRow], check: Callable[[QuestionRow], None]) -> Iterator[QuestionRow]:
    for row in rows:
        if row.problem is None:
            check(row)
        yield row


def held_passages(name: str, questions: Sequence[Question]) -> HeldTexts:
    return HeldTexts(name, (one.passage for one in questions), unit="question", units="questions", part="passage")


def usable(rows: Iterable[QuestionRow]) -> list[Question]:
    """The questions that can be used; equal passages are one string."""
    passages: dict[str, str] = {}
    return [
        Question(
            row.id, row.title, row.question, passages.setdefault(row.passage, row.passage), row.starts, row.answers
        )
        for row in rows
        if row.problem is None
    ]


def refuse_unusable(findings: AnswerFindings, source: AnswerSource) -> None:
    refuse_unreadable(findings, unit="questions")
    if not findings.used:
        raise DataError(f"{source.names}: no usable questions: {findings.left_out()}.")
    if findings.impossible == findings.used:
        raise DataError(
            f"{source.names}: none of its {counted(findings.used, 'question')} has an answer, so there is nothing to "
            "learn. Give questions with answers, or other columns with --columns question,passage,answer."
        )


def report(findings: AnswerFindings, listener: Listener) -> None:
    articles = f" of {counted(len(findings.titles), 'article')}" if findings.titles else ""
    without = f", {findings.impossible:,} without an answer" if findings.impossible else ""
    listener.on_stage(
        f"{counted(findings.used, 'question')}{without} on {counted(findings.passages, 'passage')}{articles}"
    )
    if findings.lost:
        listener.on_stage(f"Questions: {findings.left_out()}")
    if found := [one for one in findings.ordered() if one is findings.notes.get(one.kind)]:
        named = (f"{one.count:,} {one.kind} (first: {one.examples[0].problem.place})" for one in found)
        listener.on_stage("Used, but check: " + ", ".join(named))


# Holding out


def split(
    questions: Sequence[Question], share: float | None, *, seed: int, names: str, listener: Listener
) -> tuple[list[Question], list[Question]]:
    """Whole articles are held out; whole passages where there are few articles."""
    what, groups = groups_of(questions)
    if len(set(groups)) < 2:
        raise DataError(
            f"{names}: all questions are about one passage, so nothing can be held out for validation. Give "
            "validation questions with --valid FILE."
        )
    hold_out = HoldOut(seed=seed, share=min(SHARE, MOST / len(questions)) if share is None else share)
    numbers = {group: hold_out.number(group) for group in set(groups)}
    parts = divided(array("B", [TRAIN] * len(questions)), array("I", [numbers[group] for group in groups]), hold_out)
    train = [questions[i] for i in np.flatnonzero(parts == TRAIN).tolist()]
    held = [questions[i] for i in np.flatnonzero(parts == HELD).tolist()]
    chosen = {group for group, part in zip(groups, parts.tolist(), strict=True) if part == HELD}
    first = shortened(printable(min(chosen)), width=40)
    listener.on_stage(f"Held out: {len(chosen):,} of {counted(len(numbers), what)}, for instance {first!r}")
    return train, held


def groups_of(questions: Sequence[Question]) -> tuple[str, list[str]]:
    """What stays together, and its name for each question."""
    titles = Counter(one.title for one in questions)
    if len(titles) >= FEW_ARTICLES and "" not in titles:
        return "article", [one.title for one in questions]
    return "passage", [one.passage for one in questions]


# Doctor


def examine_answers(
    files: Sequence[str],
    *,
    columns: tuple[str, ...] | None = None,
    held: Mapping[str, Sequence[str]] = MappingProxyType({}),
    listener: Listener,
    check: Callable[[QuestionRow], None] | None = None,
) -> AnswerFindings:
    """Everything that one pass can find. `held`: the files of held-out parts, by name. Nothing is written.

    `check` may add notes to each usable row.
    """
    source = answer_source(files, columns)
    parts = []
    for name, names in held.items():
        if (read := read_held_answers(names, columns, listener, beside=source.paths)) is not None:
            parts.append(held_passages(name, read))
    findings = AnswerFindings()
    rows = source.rows(progress=listener.on_count)
    for _ in screened(rows if check is None else noted(rows, check), findings, parts):
        pass
    try:
        refuse_unusable(findings, source)
    except DataError as error:
        findings.refuse(error)
    return findings
