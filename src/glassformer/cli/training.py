"""`glassformer train` and `glassformer recipe`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.multi_value import several_values
from glassformer.cli.settings_help import command_with_help_of
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from glassformer.data.settings import DataSettings
    from glassformer.training.recipe import Recipe

TRAIN_EXAMPLES = """
[bold]Examples[/bold]

  glassformer train --corpus phrasebook --out runs/first
      [dim]nothing to download: learns English-German from the built-in phrasebook[/dim]

  glassformer train --source train.en --target train.de --valid val.en val.de --out runs/en-de
      [dim]a translator, from two aligned text files with one sentence per line[/dim]

  glassformer train --data corpus.tmx --languages en,de --valid 1% --out runs/en-de
      [dim]the same from files with both sides (.tsv, .csv, .jsonl, .po, .tmx, also compressed); 1% is held out[/dim]

  glassformer train --task generate --data books/*.txt --budget 30m --out runs/writer
      [dim]a language model of your texts, in half an hour[/dim]

  glassformer train --task classify --data reviews.tsv --columns text,label --out runs/mood
      [dim]a classifier; with two text columns (a,b,label) it classifies pairs[/dim]

  glassformer train --task similar --data STS-B/train.tsv --from all-MiniLM-L6-v2/ --budget 10m --out runs/sts
      [dim]a score for two texts, such as how similar they are; GLUE's files are read as they are[/dim]

  glassformer train --task classify --data photos/ --valid 10% --budget 10m --out runs/animals
      [dim]a classifier of images, from a folder for each class (photos/cat/1.png) or IDX files (MNIST)[/dim]

  glassformer train --task classify --data reviews.tsv --from all-MiniLM-L6-v2/ --out runs/mood
      [dim]the same, starting from the weights of a pretrained model[/dim]

  glassformer train --task tag --data train.conll --from all-MiniLM-L6-v2/ --out runs/names
      [dim]named entities, or any label per word: one word and its label per line[/dim]

  glassformer train --task summarise --data papers.jsonl --columns source,target --out runs/tldr
      [dim]a summariser, from documents with their summaries[/dim]

  glassformer train --task rewrite --data summarize=papers.jsonl --data "translate English to German"=pairs.tsv \\
      --from runs/t5 --out runs/all
      [dim]several tasks in one model, each with its prefix, from a T5 (--task infill pre-trains one on any text)[/dim]

  glassformer train --from runs/en-de --data our-texts.tmx --languages en,de --out runs/ours
      [dim]fine-tunes a trained translator on your own texts[/dim]

  glassformer train --source train.en --target train.de --set model.size=small --forecast
      [dim]estimates time and memory; --profile shows how the time is spent[/dim]

  glassformer train recipe.toml --set train.lr=3e-4
      [dim]with a recipe; `glassformer recipe > recipe.toml` writes one that explains every setting[/dim]

Ctrl-C saves and stops; the same command resumes. During training, the other verbs use the latest checkpoint.
"""

RECIPE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer recipe --set model.size=small > recipe.toml

  glassformer recipe --task classify > recipe.toml

  glassformer recipe --list
      [dim]lists the included recipes[/dim]

  glassformer recipe demo > mine.toml
"""

FILES = {"--source", "--target", "--pairs", "--data", "--valid"}
PAIRS_ONLY = ("source", "target", "pairs", "languages", "corpus", "filters")  # settings of sentence pairs
TASK_HELP = (
    "The task: translate (default), generate, fill, classify, similar, tag, answer, rewrite, summarise, infill, "
    "caption or classify-images."
)


def add_to(app: typer.Typer) -> None:
    app.command(epilog=TRAIN_EXAMPLES, cls=several_values(FILES, command_with_help_of(data_settings)))(train)
    app.command(epilog=RECIPE_EXAMPLES)(recipe)


def data_settings() -> type[DataSettings]:
    from glassformer.data.settings import DataSettings

    return DataSettings


Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Override a recipe setting, e.g. train.lr=3e-4. Repeatable."),
]


# The options are the signature, so it is long.
def train(
    recipe: Annotated[
        Path | None,
        typer.Argument(
            help="A recipe: a TOML file, or the name of an included one (`glassformer recipe --list`), even if a "
            "folder has that name."
        ),
    ] = None,
    task: Annotated[str | None, typer.Option(metavar="VERB", help=TASK_HELP)] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="Training files; for translate, files with both sides."),
    ] = None,
    source: Annotated[list[str] | None, typer.Option(metavar="FILE...")] = None,
    target: Annotated[list[str] | None, typer.Option(metavar="FILE...")] = None,
    pairs: Annotated[list[str] | None, typer.Option(metavar="FILE...", hidden=True)] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Columns of tables or keys of JSON lines, by name or number: source,target; text; text,label.",
        ),
    ] = None,
    languages: Annotated[str | None, typer.Option(metavar="EN,DE")] = None,
    corpus: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    valid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE...|SHARE",
            help="Validation data: files in the same format as the training data, or a share of it such as 1%.",
        ),
    ] = None,
    filters: Annotated[str | None, typer.Option(metavar="A,B")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Total time: 30m, 1h30m, 90s (a plain number: minutes). Settings that you do not set are chosen to "
            "give the best model in that time.",
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="MODEL", help="Start from the weights of this run or imported model."),
    ] = None,
    out: Annotated[str | None, typer.Option(help="Folder for the run. The same folder resumes the run.")] = None,
    set_: Setting = None,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Only estimate memory and time on this machine; train nothing.")
    ] = False,
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Only show how the time of a step is spent on this machine; train nothing."),
    ] = False,
    accept_changes: Annotated[
        bool,
        typer.Option("--accept-changes", help="Resume even if settings, data, threads or torch have changed."),
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="At the end, print a summary as JSON.")] = False,
) -> None:
    """Train a model on your own data: a translator, or any other task (--task)."""
    note_recipe(recipe)
    given = {"source": source, "target": target, "pairs": pairs, "columns": columns, "valid": valid}
    given |= {"languages": languages, "corpus": corpus, "filters": filters}
    tree = settings_tree(recipe, task, data, {name: value for name, value in given.items() if value}, start=from_)
    own = {"budget": budget, "start_from": from_}
    checked = checked_recipe(
        tree,
        out=out,
        train={name: value for name, value in own.items() if value is not None},
        assignments=set_ or [],
        origin=str(recipe) if recipe else "settings",
    )
    if forecast or profile:
        look_ahead(checked, profile=profile, as_json=json_)
    else:
        train_and_show(checked, accept_changes=accept_changes, as_json=json_)


def note_recipe(recipe: Path | None) -> None:
    from glassformer.cli.recipes import which_recipe

    if recipe is not None and not is_follower() and (words := which_recipe(recipe)):
        typer.echo(f"Note: {words}.", err=True)


def settings_tree(
    recipe: Path | None, task: str | None, files: list[str] | None, data: dict[str, Any], *, start: str | None = None
) -> dict[str, Any]:
    """The recipe file with the options for task and data added. Without a task, it is that of the run to start from."""
    from glassformer.cli.recipes import recipe_named
    from glassformer.config import merge
    from glassformer.tasks.registry import DEFAULT, TASKS, task_for, task_named

    tree = recipe_named(recipe) if recipe else {}
    if task is not None and tree.get("task", task) != task:
        raise SettingsError(f"--task {task}, but {recipe} is a recipe for {tree['task']}. Leave --task out.")
    name = task or tree.get("task") or task_of_start(start) or DEFAULT
    if name not in TASKS:
        task_named(str(name))  # the error lists the known tasks
    if name != DEFAULT:
        for option in PAIRS_ONLY:
            if option in data:
                raise SettingsError(f"--{option} is for sentence pairs (--task {DEFAULT}). Give files with --data.")
    name = task_for(str(name), files or tree.get("data", {}).get("files", []))
    if files:
        data["pairs" if name == DEFAULT else "files"] = [*data.get("pairs", []), *files]
    return merge(tree, {"task": name, **({"data": data} if data else {})})


def task_of_start(start: str | None) -> str | None:
    from glassformer.tasks.loading import task_of

    return None if start is None else task_of(Path(start))


def checked_recipe(
    tree: dict[str, Any], *, out: str | None, train: dict[str, Any], assignments: list[str], origin: str
) -> Recipe:
    from glassformer.config import apply_assignments, merge, validate
    from glassformer.tasks.registry import task_named

    added: dict[str, Any] = {"out": out, "train": train}
    tree = merge(tree, {name: value for name, value in added.items() if value})
    tree = apply_assignments(tree, assignments)
    return validate(task_named(str(tree["task"])).recipe, tree, origin=origin)


def is_follower() -> bool:
    """Whether torchrun started this process and another one (rank 0) shows the progress."""
    return bool(int(os.environ.get("RANK") or 0))


def look_ahead(recipe: Recipe, *, profile: bool, as_json: bool) -> None:
    if is_follower():
        return
    if profile:
        from glassformer.cli.profiling import show_profile

        show_profile(recipe, as_json=as_json)
    else:
        show_forecast(recipe, as_json=as_json)


def train_and_show(recipe: Recipe, *, accept_changes: bool, as_json: bool) -> None:
    from glassformer.cli.display import TrainingDisplay
    from glassformer.cli.stopping import stopping_in_one_line
    from glassformer.tasks.training import train as train_by
    from glassformer.training.machine import process_age
    from glassformer.training.run import clock_from_now

    if is_follower():
        if not train_by(recipe).stopped:
            raise typer.Exit(130)
        return
    with stopping_in_one_line(), TrainingDisplay(recipe.out or "") as display:
        clock = clock_from_now(process_age())
        progress = train_by(recipe, watcher=display, accept_changes=accept_changes, clock=clock)
    display.show_end(progress, **used_by(recipe))
    if as_json:
        typer.echo(json.dumps({"out": recipe.out, **vars(progress)}))
    if not progress.stopped:
        raise typer.Exit(130)  # interrupted: `train ... && evaluate ...` must not continue


def used_by(recipe: Recipe) -> dict[str, str]:
    """The command that uses the result, and its inputs: those of the run, whose data has decided more settings."""
    from glassformer.store.run import RunFolder
    from glassformer.tasks.registry import task_named
    from glassformer.training.reading import read_recipe

    task, run = task_named(recipe.task), RunFolder(Path(recipe.out or ""))
    decided = read_recipe(task, run) if recipe.out and run.exists else recipe
    return {"verb": task.verb or task.name, "inputs": task.tried_with(decided)}


def show_forecast(recipe: Recipe, *, as_json: bool) -> None:
    """Prints the time and memory that a run would take."""
    from glassformer.cli.display import TrainingDisplay
    from glassformer.tasks.training import forecast_training

    with TrainingDisplay("") as display:
        found = forecast_training(recipe, watcher=display)
    if as_json:
        typer.echo(json.dumps({**asdict(found), "seconds": found.seconds}))
        return
    typer.echo(f"Training will take {found}.")
    typer.echo(f"  {found.steps:,} steps of {1000 * found.step_seconds:.0f} ms")
    typer.echo(f"  {found.validations} validations of {found.validation_seconds:.1f} s")


def recipe(
    name: Annotated[str | None, typer.Argument(help="An included recipe to print. Default: all settings.")] = None,
    task: Annotated[str | None, typer.Option(metavar="VERB", help=TASK_HELP)] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the included recipes.")] = False,
    set_: Setting = None,
) -> None:
    """Print a recipe to start from: every setting with its help; defaults are commented out."""
    from glassformer.cli.recipes import recipe_titles, shipped_recipe
    from glassformer.config import annotated_toml, apply_assignments, validate
    from glassformer.tasks.registry import DEFAULT, task_named

    if list_:
        for known, title in recipe_titles().items():
            typer.echo(f"{known:<16} {title}")
    elif name is not None:
        typer.echo(shipped_recipe(name), nl=False)
    else:
        tree = apply_assignments({"task": task} if task and task != DEFAULT else {}, set_ or [])
        typer.echo(annotated_toml(validate(task_named(task or DEFAULT).recipe, tree), tree), nl=False)
