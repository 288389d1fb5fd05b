"""`glassformer answer`: answers to questions, as pieces of a passage."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer import limits
from glassformer.cli.evaluating import Device, Json, load_noting
from glassformer.cli.skipping import Skipped
from glassformer.errors import DataError, SettingsError
from glassformer.printable import printable, shortened

if TYPE_CHECKING:
    from glassformer.tasks.answering import Answer
    from glassformer.tasks.embedding import TextEncoder

ANSWER_EXAMPLES = """
[bold]Examples[/bold]

  glassformer answer runs/squad --passage article.txt "Who won the match?"
      [dim]question, answer, probability, and the sentence with the answer in [[brackets]] (bold on a terminal)[/dim]

  glassformer answer runs/squad --passage article.txt "Who won?" "When was it?" --top 3
      [dim]the three best answers to each question[/dim]

  cat questions.txt | glassformer answer runs/squad --passage article.txt --json | jq -r .answer
      [dim]without questions, the lines of stdin are questions[/dim]

  cat article.txt | glassformer answer runs/squad --passage - "Who won the match?"

  cut -f 1,2 pairs.tsv | glassformer answer runs/squad
      [dim]without a passage, each line of stdin is question<TAB>passage[/dim]

  glassformer answer models/bert-squad --passage article.txt "Who won?" --no-answer
      [dim]a model of another program; it may also say that the passage has no answer[/dim]
"""
NO_ANSWER = "no answer"
Pair = tuple[str, str]  # question and passage
MARKS = ("[[", "]]")
BOLD = ("\x1b[1;4m", "\x1b[0m")


def add_to(app: typer.Typer) -> None:
    app.command(epilog=ANSWER_EXAMPLES)(answer)


def answer(
    model: Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or a Hugging Face folder.")],
    questions: Annotated[
        list[str] | None, typer.Argument(metavar="[QUESTION]...", help="Questions. Default: the lines of stdin.")
    ] = None,
    passage: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The text that has the answers, - for stdin. Without: question<TAB>passage on stdin."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=limits.TOKENS, help="How many answers to show.")] = 1,
    no_answer: Annotated[
        bool | None,
        typer.Option("--no-answer/--always", help="Whether a passage may lack the answer. Default: as it was trained."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=-limits.RATIO,
            max=limits.RATIO,
            help="How much higher no answer must score to be chosen. Default: as training has chosen.",
        ),
    ] = None,
    max_answer: Annotated[
        int | None, typer.Option(min=1, max=limits.TOKENS, help="Maximum tokens of an answer. Default: 30.")
    ] = None,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Answer questions with pieces of a passage, or say that it has no answer."""
    from glassformer.tasks.answering import options_of
    from glassformer.tasks.embedding import TextEncoder

    if passage == "-" and not questions:
        raise SettingsError("--passage - reads the passage from stdin: give the questions as arguments.")
    reader = load_noting(model, TextEncoder, device)
    given: dict[str, Any] = {
        "top": top,
        "no_answer": no_answer,
        "threshold": threshold,
        "max_answer": max_answer,
    }
    options_of(reader, **given)  # an error for a model without answers, before anything is read
    skipped = Skipped("line")
    for pairs in inputs_of(questions or [], passage, skipped):
        for found in answered(reader, pairs, given):
            typer.echo(json_line(found) if json_ else "\n".join(lines_of(found, several=top > 1)))
        sys.stdout.flush()
    skipped.end()


def answered(reader: TextEncoder, pairs: Sequence[Pair], given: dict[str, Any]) -> list[Answer]:
    from glassformer.cli.display import counting

    with counting("reading") as bar:
        task = bar.add_task("", total=len(pairs))
        advance = lambda count: bar.advance(task, count)  # noqa: E731
        return reader.answer([pair[0] for pair in pairs], [pair[1] for pair in pairs], progress=advance, **given)


def inputs_of(questions: Sequence[str], passage: str | None, skipped: Skipped) -> Iterator[list[Pair]]:
    """Questions with their passages, in blocks as they arrive."""
    from glassformer.cli.translating import stdin_blocks

    if questions:
        if passage is None:
            raise SettingsError("Give the text that has the answers: --passage FILE.")
        read = passage_in(passage)
        yield [(question, read) for question in questions]
        return
    text, done = None if passage is None else passage_in(passage), 0
    for lines in stdin_blocks():
        numbered = [(number, line) for number, line in enumerate(lines, done + 1) if line.strip()]
        pairs = list(skipped.each(numbered, pair_in)) if text is None else [(line, text) for _, line in numbered]
        done += len(lines)
        if pairs:
            yield pairs


def passage_in(name: str) -> str:
    """A whole file, or stdin, as one passage."""
    from glassformer.cli.translating import stdin_blocks
    from glassformer.data.readers.texts import texts_of

    lines = [line for block in stdin_blocks() for line in block] if name == "-" else list(texts_of(Path(name)))
    text = "\n".join(lines)
    if not text.strip():
        raise DataError(f"{'stdin' if name == '-' else name}: the passage is blank.")
    return text


def pair_in(numbered: tuple[int, str]) -> list[Pair]:
    number, line = numbered
    question, tab, passage = line.partition("\t")
    if not tab or not question.strip() or not passage.strip():
        got = repr(shortened(printable(line.replace("\t", " ")), width=40))
        raise DataError(
            f"stdin, line {number:,}: got {got}; give question<TAB>passage, or one passage for all questions: "
            "--passage FILE."
        )
    return [(question, passage)]


# Output


def json_line(found: Answer) -> str:
    sentence = found.sentence
    fields = {
        "question": found.question,
        "answer": found.text if found.found else None,
        "start": found.start,
        "end": found.end,
        "probability": found.probability,
        "no_answer": found.no_answer,
        "sentence": None if sentence is None else found.passage[slice(*sentence)],
        "candidates": [asdict(span) for span in found.spans],
    }
    return json.dumps(fields, ensure_ascii=False)


def lines_of(found: Answer, *, several: bool) -> Iterator[str]:
    """Question, answer, probability and sentence, with tabs between them; with ranks if there are several answers."""
    first = [cell(found.question)]
    if not found.found:
        yield "\t".join([*first, *(["0"] if several else []), NO_ANSWER, f"{found.no_answer:.1%}", ""])
        if not several:
            return
    for rank, span in enumerate(found.spans, 1):
        shown = highlighted(found, span.start, span.end)
        yield "\t".join([*first, *([str(rank)] if several else []), cell(span.text), f"{span.probability:.1%}", shown])


def highlighted(found: Answer, start: int, end: int) -> str:
    """The sentence of a span with the span marked."""
    low, high = found.sentence_of(start, end)
    left, right = BOLD if sys.stdout.isatty() else MARKS
    before, inside, after = (found.passage[slice(*part)] for part in ((low, start), (start, end), (end, high)))
    return f"{cell(before)}{left}{cell(inside)}{right}{cell(after)}"


def cell(text: str) -> str:
    """One line, one cell, nothing that could steer a terminal."""
    return printable(text.replace("\t", " ").replace("\r", " ").replace("\n", " "))
