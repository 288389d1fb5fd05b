"""`glassformer rewrite`, `glassformer summarise` and `glassformer infill`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer import limits
from glassformer.cli.evaluating import Device, Json, load_noting
from glassformer.cli.translating import sentence_chunks
from glassformer.errors import DataError

if TYPE_CHECKING:
    from glassformer.tasks.generation import Continuation, GenerateOptions
    from glassformer.tasks.rewriting import Rewriter

REWRITE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer rewrite runs/all --as "translate English to German" "I ate an apple."

  glassformer rewrite runs/all --as summarize --input abstracts.txt
      [dim]one text per line in, one output per line out[/dim]

  cat questions.txt | glassformer rewrite runs/all --as question --json | jq .text

  glassformer rewrite models/t5-small --as "translate English to French" "The house is old." --beam 4
      [dim]any T5 folder; its model card says which prefixes it knows[/dim]
"""
SUMMARISE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer summarise runs/tldr paper.txt
      [dim]each file is one document[/dim]

  cat paper.txt | glassformer summarise runs/tldr --max-new 40
      [dim]stdin is one document[/dim]

  glassformer summarise runs/tldr --lines abstracts.txt --json | jq .text
      [dim]every line is a document: one line in, one line out[/dim]

  glassformer summarise models/bart-large-cnn article.txt --beam 4 --min-new 30
      [dim]a Hugging Face folder of a T5 or a BART[/dim]
"""
INFILL_EXAMPLES = """
[bold]Examples[/bold]

  glassformer infill runs/t5 "The ___ sat on the ___."
      [dim]fills each gap (___) with what a pre-trained T5 would write there[/dim]

  cat gaps.txt | glassformer infill runs/t5 --beam 4
"""

Model = Annotated[str, typer.Argument(help="A run folder, or a folder of a T5 or BART.", metavar="MODEL")]
Beam = Annotated[
    int | None, typer.Option(min=1, max=limits.HYPOTHESES, help="Beam width; 1 is greedy. Default: the run's own.")
]
MaxNew = Annotated[
    int | None, typer.Option(min=1, max=limits.TOKENS, help="Maximum tokens of an output. Default: as in training.")
]
MinNew = Annotated[int | None, typer.Option(min=0, max=limits.TOKENS, help="Minimum tokens of an output.")]
NoRepeat = Annotated[
    int | None,
    typer.Option("--no-repeat-ngram", min=0, max=limits.NO_REPEAT, help="Never repeat an n-gram of this length."),
]
Input = Annotated[Path | None, typer.Option("--input", "-i", help="A text file, one text per line.")]


def add_to(app: typer.Typer) -> None:
    app.command(epilog=REWRITE_EXAMPLES)(rewrite)
    app.command(epilog=SUMMARISE_EXAMPLES)(summarise)
    app.command(epilog=INFILL_EXAMPLES)(infill)


def rewrite(
    model: Model,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts. Default: the lines of --input or stdin.")] = None,
    as_: Annotated[
        str | None,
        typer.Option("--as", metavar="TASK", help="The task: the prefix of its inputs. Needed if there are several."),
    ] = None,
    input_: Input = None,
    beam: Beam = None,
    max_new: MaxNew = None,
    min_new: MinNew = None,
    no_repeat: NoRepeat = None,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Write one text for another with a text-to-text model: a translation, a summary, an answer."""
    rewriter = loaded(model, device)
    task = rewriter.task_for(as_)
    options = rewriter.options(beam=beam, max_new=max_new, min_new=min_new, no_repeat=no_repeat)
    show_all(rewriter, sentence_chunks(texts, input_), task, options, as_json=json_)


def summarise(
    model: Model,
    files: Annotated[
        list[str] | None, typer.Argument(help="Documents: text files. Default, and '-': stdin, one document.")
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Every line is a document.")] = False,
    beam: Beam = None,
    max_new: MaxNew = None,
    min_new: MinNew = None,
    no_repeat: NoRepeat = None,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Summarise documents: text files, or stdin."""
    rewriter = loaded(model, device)
    options = rewriter.options(beam=beam, max_new=max_new, min_new=min_new, no_repeat=no_repeat)
    show_all(rewriter, documents_in(files or ["-"], lines=lines), rewriter.summary_task, options, as_json=json_)


def infill(
    model: Model,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts with gaps (___). Default: lines of stdin.")] = None,
    input_: Input = None,
    beam: Beam = None,
    max_new: MaxNew = None,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Fill the gaps (___) of a text with a T5 that was pre-trained by span corruption."""
    from glassformer.tasks.infilling import MAX_NEW, Infiller

    infiller = load_noting(model, Infiller, device)
    for chunk in sentence_chunks(texts, input_):
        for text in chunk:
            found = infiller.infill(text, beam=beam or 1, max_new=max_new or MAX_NEW)
            typer.echo(json.dumps({"input": text, "text": found}, ensure_ascii=False) if json_ else one_line(found))


def loaded(model: str, device: str) -> Rewriter:
    from glassformer.tasks.rewriting import Rewriter

    return load_noting(model, Rewriter, device)


def documents_in(files: list[str], *, lines: bool) -> Iterator[list[str]]:
    """The documents, in groups: of each file one, or its lines."""
    if lines:
        for name in files:
            yield from sentence_chunks(None, None if name == "-" else Path(name))
        return
    yield [document(name) for name in files]


def document(name: str) -> str:
    try:
        text = sys.stdin.buffer.read().decode() if name == "-" else Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: not UTF-8 text (byte {error.start}). Convert it first.") from None
    except OSError as error:
        raise DataError(f"{name}: {error.strerror}. Give the name of a text file.") from None
    if not text.strip():
        raise DataError(f"{'stdin' if name == '-' else name} is blank; give a document with text.")
    return text


def show_all(
    rewriter: Rewriter, chunks: Iterator[list[str]], task: str, options: GenerateOptions, *, as_json: bool
) -> None:
    """Writes the output of each text, one line each; blank lines stay blank."""
    from glassformer.cli.display import patient_bar

    all_cut = 0
    for texts in chunks:
        cut: list[int] = []
        given = [text if text.strip() else "" for text in texts]
        filled = [text for text in given if text]
        with patient_bar("writing", len(filled) * options.width * options.max_new) as progress:
            found = iter(rewriter.written(filled, replace(options), task=task, progress=progress, cut=cut))
        outputs = [next(found)[0] if text else None for text in given]
        for text, output in zip(given, outputs, strict=True):
            typer.echo(line_of(text, output, as_json=as_json))
        sys.stdout.flush()
        all_cut += len(cut)
    if all_cut:
        noun = "text was" if all_cut == 1 else "texts were"
        typer.echo(f"Note: {all_cut:,} {noun} cut to the first {rewriter.most:,} tokens.", err=True)


def line_of(text: str, output: Continuation | None, *, as_json: bool) -> str:
    if output is None:
        return json.dumps({"input": text, "text": ""}) if as_json else ""
    if as_json:
        return json.dumps({"input": text, **asdict(output), "text": output.text.strip()}, ensure_ascii=False)
    return one_line(output.text)


def one_line(text: str) -> str:
    return " ".join(text.split())
