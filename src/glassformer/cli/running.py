"""Using a run: `glassformer translate`, `evaluate` and `explain`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from glassformer.cli.checking import two
from glassformer.cli.outputs import check_new_file
from glassformer.errors import DataError

if TYPE_CHECKING:
    from glassformer.data.settings import DataSettings
    from glassformer.tasks.translation import Translation, Translator
    from glassformer.tasks.translation.material import Held

TRANSLATE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer translate runs/en-de "I ate an apple."

  glassformer translate runs/en-de --input test.en > test.out.de

  cat test.en | glassformer translate runs/en-de --beam 1

  glassformer translate runs/en-de "I ate an apple." --n-best 3 --json
"""
EVALUATE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer evaluate runs/en-de test.en test.de

  glassformer evaluate runs/en-de test.tsv --json --output translations.txt

  glassformer evaluate runs/first --corpus phrasebook
      [dim]the built-in corpus' own test part: combinations that training has never seen[/dim]
"""
EXPLAIN_EXAMPLES = """
[bold]Examples[/bold]

  glassformer explain runs/en-de "I ate an apple."

  glassformer explain runs/en-de "I ate an apple." --layer 2 --head 1

  glassformer explain runs/en-de "I ate an apple." --json | jq .steps
"""

CHUNK = 512  # sentences translated before their output is written

Run = Annotated[str, typer.Argument(help="A run folder, made by `glassformer train`.", metavar="RUN")]
Beam = Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy. Default: the run's own setting.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, mps or auto.")]


def add_to(app: typer.Typer) -> None:
    app.command(epilog=TRANSLATE_EXAMPLES)(translate)
    app.command(epilog=EVALUATE_EXAMPLES)(evaluate)
    app.command(epilog=EXPLAIN_EXAMPLES)(explain)


def translate(
    run: Run,
    texts: Annotated[list[str] | None, typer.Argument(help="Sentences. None: lines of --input, or of stdin.")] = None,
    input_: Annotated[Path | None, typer.Option("--input", "-i", help="A text file, one sentence a line.")] = None,
    beam: Beam = None,
    n_best: Annotated[int, typer.Option(min=1, help="How many translations of each sentence.")] = 1,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Translate sentences: arguments, a file, or stdin line by line."""
    translator = load_noting(run, device)
    for lines in sentence_chunks(texts, input_):
        found = translator.candidates(lines, beam=beam, n_best=n_best)
        for line, options in zip(lines, found, strict=True):
            for rank, option in enumerate(options, 1):
                typer.echo(translation_line(line, rank, option, n_best=n_best, as_json=json_))
        sys.stdout.flush()


def load_noting(run: str, device: str = "cpu") -> Translator:
    """Loads a run; says so on stderr when its training has not finished."""
    from glassformer.tasks.translation import load

    translator = load(run, device=device)
    if translator.origin != "finished training":
        typer.echo(f"Note: training of {run} has not finished; using its {translator.origin}.", err=True)
    return translator


def translation_line(source: str, rank: int, option: Translation, *, n_best: int, as_json: bool) -> str:
    if as_json:
        fields: dict[str, Any] = {"source": source, "rank": rank, **asdict(option)}
        return json.dumps(fields, ensure_ascii=False)
    text = option.text.replace("\n", " ")  # one line in, one line out
    return text if n_best == 1 else f"{rank}\t{option.score:.4f}\t{text}"


def sentence_chunks(texts: list[str] | None, path: Path | None) -> Iterator[list[str]]:
    """The sentences, some at a time, so that output begins soon and memory stays flat."""
    if texts and path:
        raise DataError("Got sentences and --input; give one of them.")
    if texts:
        yield texts
        return
    for lines in stdin_blocks() if path is None else file_blocks(path):
        for start in range(0, len(lines), CHUNK):
            yield lines[start : start + CHUNK]


def file_blocks(path: Path) -> Iterator[list[str]]:
    from glassformer.data.readers.texts import texts_of

    lines = texts_of(path)
    while block := list(islice(lines, CHUNK)):
        yield block


def stdin_blocks() -> Iterator[list[str]]:
    """Lines of stdin as they arrive: who writes one line and waits gets its answer. Only "\\n" ends a line."""
    stdin = cast(io.BufferedReader, sys.stdin.buffer)
    done, parts = 0, [b""]
    while block := stdin.read1(1 << 16):
        parts.append(block)
        if b"\n" in block:
            *lines, rest = b"".join(parts).split(b"\n")
            yield [stdin_line(line, done + i) for i, line in enumerate(lines, 1)]
            done, parts = done + len(lines), [rest]
    if last := b"".join(parts):
        yield [stdin_line(last, done + 1)]


def stdin_line(line: bytes, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"stdin, line {number:,}, byte {error.start + 1}: not UTF-8.") from None


def evaluate(
    run: Run,
    files: Annotated[
        list[str] | None, typer.Argument(help="Source and reference file, or one with both (.tsv, .csv, .jsonl, ...).")
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Instead: the test part of a named corpus.")] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B", help="Tables: the two columns, by name or number (from 1).")
    ] = None,
    languages: Annotated[
        str | None, typer.Option(metavar="EN,DE", help="TMX and JSON lines: the two languages.")
    ] = None,
    beam: Beam = None,
    output: Annotated[Path | None, typer.Option(help="Also write the translations to this new file.")] = None,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Measure a run on sentences it has not seen: BLEU, chrF and exact match, with 95% intervals."""
    if output is not None:
        check_new_file(output)
    translator = load_noting(run, device)
    data = translator.recipe.data.model_copy(update={"columns": two("--columns", columns)})
    if languages is not None:
        data = data.model_copy(update={"languages": two("--languages", languages)})
    held = evaluation_set(files or [], corpus, data)

    from glassformer.cli.display import counting

    with counting("translating") as bar:
        task = bar.add_task("", total=len(held.sources))
        advance = lambda count: bar.advance(task, count)  # noqa: E731
        scores, hypotheses = translator.evaluate(held.sources, held.references, beam=beam, progress=advance)
    if output is not None:
        output.write_text("".join(text.replace("\n", " ") + "\n" for text in hypotheses), encoding="utf-8")
    if json_:
        typer.echo(json.dumps([asdict(score) for score in scores]))
        return
    for score in scores:
        typer.echo(f"{score.name:<12} {score.value:6.2f}   {score.interval}")
        typer.echo(f"{'':12} {score.signature}")
    typer.echo(f"{len(held.sources):,} sentences")


def evaluation_set(files: list[str], corpus: str | None, data: DataSettings) -> Held:
    """Sentences and references from files, or the test part of a named corpus, of the size that was trained on."""
    from glassformer.cli.display import StageDisplay
    from glassformer.data.corpora import corpus_pairs
    from glassformer.tasks.translation.material import Held, read_questions

    with StageDisplay() as display:
        if corpus is None:
            return read_questions(files, data, display)
        if files:
            raise DataError(f"Got --corpus {corpus} and files; give one of them.")
        return Held.of(corpus_pairs(corpus, size=data.corpus_size, progress=display.on_count).test)


def explain(
    run: Run,
    text: Annotated[str, typer.Argument(help="A sentence.")],
    beam: Beam = None,
    layer: Annotated[int | None, typer.Option(min=1, help="Show this decoder layer's cross-attention ...")] = None,
    head: Annotated[
        int | None, typer.Option(min=1, help="... of this head. Neither: the most like an alignment.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many candidates to show at each step.")] = 5,
    json_: Json = False,
) -> None:
    """See how a sentence becomes its translation: tokens, attention, the candidates at each step."""
    explanation = load_noting(run).explain(text, beam=beam, top=top)
    if json_:
        typer.echo(json.dumps(explanation.to_dict(), ensure_ascii=False))
        return

    from rich.console import Console

    from glassformer.explain.terminal import explanation_view

    chosen = (None if layer is None else layer - 1, None if head is None else head - 1)
    Console().print(explanation_view(explanation, layer=chosen[0], head=chosen[1]))
