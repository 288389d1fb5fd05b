"""Using a run: `glassformer evaluate`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.checking import two
from glassformer.cli.outputs import check_new_file
from glassformer.errors import DataError, SettingsError

if TYPE_CHECKING:
    from glassformer.data.settings import DataSettings
    from glassformer.decode import DecodeSettings
    from glassformer.tasks.translation import Translator
    from glassformer.tasks.translation.material import Held

EVALUATE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer evaluate runs/en-de test.en test.de

  glassformer evaluate runs/en-de test.tsv --json --output translations.txt

  glassformer evaluate runs/en-de test.en test.de --glossary terms.tsv
      [dim]the glossary is obeyed, and how many of its terms were said is counted[/dim]

  glassformer evaluate runs/first --corpus phrasebook
      [dim]the built-in corpus' own test part: combinations that training has never seen[/dim]
"""

Run = Annotated[
    str, typer.Argument(help="A run folder, or a translator that `glassformer import` reads.", metavar="RUN")
]
Beam = Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy. Default: the run's own setting.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, mps or auto.")]
DecodeSet = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of decode, e.g. decode.alpha=0.6. Repeatable."),
]


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EVALUATE_EXAMPLES)(evaluate)


def load_noting(run: str, device: str = "cpu") -> Translator:
    """Loads a run; says so on stderr when its training has not finished."""
    from glassformer.tasks.translation import load
    from glassformer.train.machine import keep_freed_memory

    keep_freed_memory()
    translator = load(run, device=device)
    if translator.origin != "finished training":
        typer.echo(f"Note: training of {run} has not finished; using its {translator.origin}.", err=True)
    return translator


def decode_settings(translator: Translator, assignments: list[str]) -> DecodeSettings:
    """The run's own settings of decoding, with some changed."""
    from glassformer.config import apply_assignments, validate
    from glassformer.decode import DecodeSettings

    tree: dict[str, Any] = {"decode": translator.recipe.decode.model_dump()}
    changed = apply_assignments(tree, assignments)
    if other := sorted(set(changed) - {"decode"}):
        raise SettingsError(f"--set {other[0]}...: only settings of decode can be changed after training.")
    return validate(DecodeSettings, changed["decode"], origin="--set")


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
    set_: DecodeSet = None,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms and how they must be translated.")
    ] = None,
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
    from glassformer.tasks.translation.glossary import Glossary
    from glassformer.tasks.translation.requests import Wishes

    terms, settings = None if glossary is None else Glossary.read(glossary), decode_settings(translator, set_ or [])

    with counting("translating") as bar:
        task = bar.add_task("", total=len(held.sources))
        advance = lambda count: bar.advance(task, count)  # noqa: E731
        scores, hypotheses = translator.evaluate(
            held.sources, held.references, beam=beam, wishes=Wishes(glossary=terms), settings=settings, progress=advance
        )
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
