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
ANCESTORS_EXAMPLES = """
[bold]Examples[/bold]

  glassformer experiment ancestors --out runs/ancestors --budget 10m
      [dim]with sentences of the built-in phrasebook, alone and joined to texts of up to fifty words[/dim]

  glassformer experiment ancestors --source train.en --target train.de --join 3 --out runs/ancestors --budget 1h
      [dim]with your own sentences; --join makes texts of up to three[/dim]

A run that was stopped continues with the same command. The folder also holds ancestors.html and ancestors.json.
"""
CLAIMS_EXAMPLES = """
[bold]Examples[/bold]

  glassformer experiment claims --list
      [dim]the claims and their names[/dim]

  glassformer experiment claims beam layers --out runs/claims
      [dim]two of them; runs that several claims need are trained once[/dim]

  glassformer experiment claims --out runs/claims --write docs/claims.md
      [dim]all of them, as a page, with the results beside it[/dim]

A run that was stopped continues with the same command. The folder also holds claims.html and claims.json.
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
    from glassformer.cli.stopping import stopping_in_one_line
    from glassformer.tasks.experiments import transfer as experiment_
    from glassformer.tasks.experiments.constructions import written_constructions

    given = {"--data": data, "--test": test, "--texts": texts}
    missing = [name for name, value in given.items() if not value]
    if missing and len(missing) < len(given):
        raise SettingsError(f"{missing[0]} is missing: give --data, --test and --texts, or none of them.")
    with stopping_in_one_line(), StageDisplay() as display:
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


@experiments.command(epilog=ANCESTORS_EXAMPLES, cls=several_values({"--source", "--target"}))
def ancestors(
    out: Annotated[
        str,
        typer.Option(help="Folder for the runs. The same command continues; another experiment needs another folder."),
    ],
    source: Annotated[
        list[str] | None, typer.Option(metavar="FILE...", help="Source sentences. Default: the built-in phrasebook.")
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(metavar="FILE...", help="Their translations, line by line.")
    ] = None,
    join: Annotated[
        int, typer.Option(min=1, max=100, help="Join up to this many of your sentences to longer texts.")
    ] = 1,
    budget: Annotated[str, typer.Option(metavar="TIME", help="Total time, about: 10m, 1h.")] = "10m",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Runs of each model.")] = 3,
    steps: Annotated[
        int | None, typer.Option(min=1, max=limits.STEPS, help="Updates of each run, instead of a time.")
    ] = None,
    size: Annotated[
        str | None, typer.Option(help="Size of the models: nano, tiny, ... Default: fits the time.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """LSTM, RNN with attention and Transformer on the same sentences for the same time: quality by length, speed,
    gradients, alignments."""
    from glassformer.cli.display import StageDisplay
    from glassformer.cli.stopping import stopping_in_one_line
    from glassformer.tasks.experiments import ancestors as experiment_
    from glassformer.tasks.experiments import ancestors_page as shown

    if bool(source) != bool(target):
        raise SettingsError(f"{'--target' if source else '--source'} is missing: give both, or none of them.")
    with stopping_in_one_line(), StageDisplay() as display:
        if source and target:
            data = experiment_.from_files(source, target, join=join, listener=display)
        else:
            display.on_stage("Drawing sentences of the phrasebook")
            data = experiment_.built_in(progress=display.on_count)
        given = {"--source": source, "--target": target} if source and target else {}
        found = experiment_.ancestors(
            data, out=out, budget=budget, seeds=seeds, steps=steps, size=size, join=join, given=given, listener=display
        )
    shown.write(found, Path(out))
    if json_:
        typer.echo(json.dumps(shown.as_data(found)))
        return
    for line in shown.lines(found):
        typer.echo(line)
    typer.echo(f"Page: {Path(out) / 'ancestors.html'}")


@experiments.command(epilog=CLAIMS_EXAMPLES)
def claims(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Claims; default: all.")] = None,
    out: Annotated[str, typer.Option(help="Folder for the runs. The same command continues.")] = "runs/claims",
    seeds: Annotated[int | None, typer.Option(min=1, max=1000, help="Runs of each model. Default: 3.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, max=limits.STEPS, help="Updates of each run. Default: 1,000.")
    ] = None,
    write: Annotated[
        str | None,
        typer.Option(metavar="FILE.md", help="Write the page as Markdown, and its results beside it as JSON."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the claims.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """What is said about Transformers and RNNs, measured: each claim by an experiment, with intervals and a verdict."""
    from glassformer.cli.display import StageDisplay
    from glassformer.cli.stopping import stopping_in_one_line
    from glassformer.tasks.experiments.claims.bench import SEEDS, STEPS
    from glassformer.tasks.experiments.claims.measuring import measure_claims, write_markdown
    from glassformer.tasks.experiments.claims.pages import claims_lines
    from glassformer.tasks.experiments.claims.registry import CLAIMS

    if list_:
        for claim in CLAIMS:
            typer.echo(f"{claim.key:20}{claim.says}")
        return
    with stopping_in_one_line(), StageDisplay() as display:
        found = measure_claims(names or (), out=out, seeds=seeds or SEEDS, steps=steps or STEPS, listener=display)
    if write is not None:
        write_markdown(found, Path(write))
    if json_:
        typer.echo(json.dumps(found))
        return
    for line in claims_lines(found, names or ()):
        typer.echo(line)
    typer.echo(f"Page: {Path(out) / 'claims.html'}")
