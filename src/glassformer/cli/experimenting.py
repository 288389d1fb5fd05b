"""`glassformer experiment`: comparisons of the literature, repeated in small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from glassformer import limits
from glassformer.cli.multi_value import several_values
from glassformer.errors import SettingsError

TRANSFER_EXAMPLES = """
[bold]Examples[/bold]

  glassformer experiment transfer --out runs/transfer --budget 10m
      [dim]with sentences of the built-in phrasebook: which construction is it?[/dim]

  glassformer experiment transfer --data few.tsv --test test.tsv --texts 'reviews/*.txt' --out runs/transfer --seeds 5
      [dim]with your own labelled texts, a test file, and texts without labels[/dim]

A run that was stopped continues with the same command. The folder also holds transfer.html and transfer.json.
"""
FILES = {"--data", "--test", "--texts"}

experiments = typer.Typer(
    help="Repeat a comparison of the literature, in small: what a part of a method gives, with intervals over seeds.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(experiments, name="experiment")


@experiments.callback()
def experiment() -> None:
    """Repeat a comparison of the literature, in small: what a part of a method gives, with intervals over seeds."""


@experiments.command(epilog=TRANSFER_EXAMPLES, cls=several_values(FILES))
def transfer(
    out: Annotated[
        str,
        typer.Option(help="Folder for the runs. The same command continues; another experiment needs another folder."),
    ],
    data: Annotated[
        list[str] | None, typer.Option(metavar="FILE...", help="Labelled texts. Default: the built-in phrasebook.")
    ] = None,
    test: Annotated[list[str] | None, typer.Option(metavar="FILE...", help="Labelled texts to measure on.")] = None,
    texts: Annotated[
        list[str] | None, typer.Option(metavar="FILE...", help="Texts without labels, for pre-training.")
    ] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B", help="Columns of the labelled texts.")] = None,
    text_column: Annotated[str | None, typer.Option(metavar="A", help="Column of the texts without labels.")] = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="Total time, about: 10m, 1h.")] = "10m",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Runs of each variant.")] = 3,
    steps: Annotated[
        int | None,
        typer.Option(min=1, max=limits.STEPS, help="Updates of each fine-tuning, instead of a time."),
    ] = None,
    size: Annotated[str | None, typer.Option(help="Size of the GPT: nano, tiny, ... Default: fits the time.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """What pre-training and the auxiliary language-model loss give a classifier (table 5 of the GPT paper)."""
    from glassformer.cli.display import StageDisplay
    from glassformer.tasks.experiments import transfer as experiment_
    from glassformer.tasks.experiments.constructions import written_constructions

    given = {"--data": data, "--test": test, "--texts": texts}
    missing = [name for name, value in given.items() if not value]
    if missing and len(missing) < len(given):
        raise SettingsError(f"{missing[0]} is missing: give --data, --test and --texts, or none of them.")
    with StageDisplay() as display:
        if data and test and texts:
            material = experiment_.TransferData(tuple(data), tuple(test), tuple(texts), columns, text_column)
        else:
            display.on_stage("Drawing sentences of the phrasebook")
            material = written_constructions(Path(out) / "data", progress=display.on_count)
        found = experiment_.transfer(
            material, out=out, budget=budget, seeds=seeds, steps=steps, size=size, listener=display
        )
    if json_:
        typer.echo(json.dumps(experiment_.as_data(found)))
        return
    for line in experiment_.lines(found):
        typer.echo(line)
    typer.echo(f"Page: {Path(out) / 'transfer.html'}")
