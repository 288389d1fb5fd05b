"""`glassformer train` and `glassformer recipe`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.settings_help import command_with_help_of
from glassformer.cli.several import several_values

if TYPE_CHECKING:
    from glassformer.data.settings import DataSettings
    from glassformer.tasks.translation import TranslationRecipe

TRAIN_EXAMPLES = """
[bold]Examples[/bold]

  glassformer train --corpus phrasebook --out runs/first
      [dim]nothing to download: learns English-German from the built-in phrasebook[/dim]

  glassformer train --source train.en --target train.de --valid val.en val.de --out runs/en-de
      [dim]two aligned text files, one sentence a line[/dim]

  glassformer train --pairs corpus.tmx --languages en,de --valid 1% --out runs/en-de
      [dim]a file with both sides (.tsv, .csv, .jsonl, .po, .tmx, also packed); 1% is held out to validate with[/dim]

  glassformer train --source train.en --target train.de --budget 30m --out runs/en-de
      [dim]half an hour: model, vocabulary, batches and steps are chosen for these sentences and this machine[/dim]

  glassformer train --from runs/en-de --pairs our-texts.tmx --languages en,de --out runs/ours
      [dim]fine-tunes a trained translator on one's own texts[/dim]

  glassformer train --source 'corpus/*.en' --target 'corpus/*.de' --filters recommended --out runs/en-de
      [dim]several files; doubtful pairs are left out and counted (see `glassformer doctor`)[/dim]

  glassformer train --pairs corpus.tsv --out runs/en-de --set model.size=small --set train.epochs=30

  glassformer train --source train.en --target train.de --forecast
      [dim]how long will that take, and will it fit? --profile tells where the time goes[/dim]

  glassformer train recipe.toml --set train.lr=3e-4
      [dim]by recipe; `glassformer recipe > recipe.toml` writes one with every setting explained[/dim]

Ctrl-C saves and stops; the same command goes on from there. Meanwhile `glassformer translate` works from the
latest checkpoint.
"""

RECIPE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer recipe --set model.size=small > recipe.toml

  glassformer recipe --list
      [dim]recipes that come along[/dim]

  glassformer recipe demo > mine.toml
"""

FILES = {"--source", "--target", "--pairs", "--valid"}


def add_to(app: typer.Typer) -> None:
    app.command(epilog=TRAIN_EXAMPLES, cls=several_values(FILES, command_with_help_of(data_settings)))(train)
    app.command(epilog=RECIPE_EXAMPLES)(recipe)


def data_settings() -> type[DataSettings]:
    from glassformer.data.settings import DataSettings

    return DataSettings


Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the recipe, e.g. train.lr=3e-4. Repeatable."),
]


def train(
    recipe: Annotated[
        Path | None,
        typer.Argument(
            help="A recipe: a TOML file, or the name of one that comes along (`glassformer recipe --list`)."
        ),
    ] = None,
    source: Annotated[list[str] | None, typer.Option(metavar="FILE...")] = None,
    target: Annotated[list[str] | None, typer.Option(metavar="FILE...")] = None,
    pairs: Annotated[list[str] | None, typer.Option(metavar="FILE...")] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B")] = None,
    languages: Annotated[str | None, typer.Option(metavar="EN,DE")] = None,
    corpus: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    valid: Annotated[list[str] | None, typer.Option(metavar="FILE...|SHARE")] = None,
    filters: Annotated[str | None, typer.Option(metavar="A,B")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time for everything, as 30m, 1h30m, 90s (a bare number: minutes): chooses what is not set, to end at "
            "its best then.",
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="RUN", help="Start from the weights of this run, e.g. to fine-tune it."),
    ] = None,
    out: Annotated[str | None, typer.Option(help="Folder for the run. The same folder again goes on with it.")] = None,
    set_: Setting = None,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Only say what memory and time it would take here; train nothing.")
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Only say where the time of a step goes here; train nothing.")
    ] = False,
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changes", help="Go on with a run although settings, sentences, threads or torch are others now."
        ),
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="At the end, print a summary as JSON.")] = False,
) -> None:
    """Train a translator on sentences in two languages."""
    from glassformer.cli.recipes import recipe_named
    from glassformer.config import apply_assignments, merge, validate

    data: dict[str, Any] = {"source": source, "target": target, "pairs": pairs, "columns": columns, "valid": valid}
    data |= {"languages": languages, "corpus": corpus, "filters": filters}
    given: dict[str, Any] = {"data": {name: value for name, value in data.items() if value}, "out": out}
    given["train"] = {name: value for name, value in (("budget", budget), ("start_from", from_)) if value is not None}
    tree = merge(recipe_named(recipe) if recipe else {}, {name: value for name, value in given.items() if value})
    tree = apply_assignments(tree, set_ or [])

    from glassformer.cli.display import TrainingDisplay
    from glassformer.cli.stopping import stopping_in_one_line
    from glassformer.tasks.translation import TranslationRecipe, train_translator

    checked = validate(TranslationRecipe, tree, origin=str(recipe) if recipe else "settings")
    if int(os.environ.get("RANK") or 0):  # torchrun started more than one; the first does the talking
        if not forecast and not profile and not train_translator(checked).stopped:
            raise typer.Exit(130)
        return
    if forecast:
        show_forecast(checked, as_json=json_)
        return
    if profile:
        from glassformer.cli.profiling import show_profile

        show_profile(checked, as_json=json_)
        return
    with stopping_in_one_line(), TrainingDisplay(checked.out or "") as display:
        progress = train_translator(checked, watcher=display, accept_changes=accept_changes)
    display.farewell(progress)
    if json_:
        typer.echo(json.dumps({"out": checked.out, **vars(progress)}))
    if not progress.stopped:
        raise typer.Exit(130)  # interrupted: `train ... && evaluate ...` must not go on


def show_forecast(recipe: TranslationRecipe, *, as_json: bool) -> None:
    """What a training would take, on stdout."""
    from glassformer.cli.display import TrainingDisplay
    from glassformer.tasks.translation.training import forecast_training

    with TrainingDisplay("") as display:
        found = forecast_training(recipe, watcher=display)
    if as_json:
        typer.echo(json.dumps({**asdict(found), "seconds": found.seconds}))
        return
    typer.echo(f"Training will take {found}.")
    typer.echo(f"  {found.steps:,} steps of {1000 * found.step_seconds:.0f} ms")
    typer.echo(f"  {found.validations} validations of {found.validation_seconds:.1f} s")


def recipe(
    name: Annotated[str | None, typer.Argument(help="One that comes along, as it is; without: all settings.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="The names of those that come along.")] = False,
    set_: Setting = None,
) -> None:
    """Print a recipe to start from: every setting with its help; defaults are commented out."""
    from glassformer.cli.recipes import recipe_titles, shipped_recipe
    from glassformer.config import annotated_toml, apply_assignments, validate
    from glassformer.tasks.translation import TranslationRecipe

    if list_:
        for known, title in recipe_titles().items():
            typer.echo(f"{known:<16} {title}")
    elif name is not None:
        typer.echo(shipped_recipe(name), nl=False)
    else:
        tree = apply_assignments({}, set_ or [])
        typer.echo(annotated_toml(validate(TranslationRecipe, tree), tree), nl=False)
