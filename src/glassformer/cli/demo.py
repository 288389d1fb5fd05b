"""`glassformer demo`: train a translator from scratch in minutes, translate with it, and look inside."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = """
[bold]Example[/bold]

  glassformer demo

Afterwards, use it like any other run:

  glassformer translate runs/demo "I ate an apple."

  glassformer explain runs/demo "I ate an apple."

  glassformer evaluate runs/demo --corpus phrasebook
"""
SENTENCES = (
    "I ate an apple.",
    "He ate the apple because it was tasty.",
    "Today the old man is reading a book.",
    "Can you help me, children?",
    "She did not see the dog.",
    "The children have no milk.",
    "When did you arrive?",
    "I know that he must sleep.",
    "My sister gave the child a small ball.",
    "We are going to the station tomorrow.",
)
OPENED = SENTENCES[0]


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(demo)


def demo(out: Annotated[Path, typer.Option(help="Folder for the run.")] = Path("runs/demo")) -> None:
    """Train a small translator on the built-in corpus, translate ten sentences, explain one, write a report."""
    from rich.console import Console

    from glassformer.cli.display import TrainingDisplay
    from glassformer.cli.recipes import shipped_recipe
    from glassformer.cli.stopping import stopping_in_one_line
    from glassformer.config import validate
    from glassformer.errors import RunError
    from glassformer.explain.view import explanation_view
    from glassformer.store.run import REPORT, RunFolder
    from glassformer.tasks.translation import TranslationRecipe, load, train_translator

    console = Console(highlight=False)
    recipe = validate(TranslationRecipe, tomllib.loads(shipped_recipe("demo")), origin="the demo's recipe")
    with stopping_in_one_line(), TrainingDisplay(str(out)) as display:
        progress = train_translator(recipe, out, watcher=display)
    if not progress.stopped:
        display.show_end(progress, verb=recipe.task)
        raise typer.Exit(130)
    measured: dict[str, Any] = next(
        (record for record in reversed(RunFolder(out).metrics()) if "measured" in record), {}
    )
    head = measured.get("alignment")
    if head is None:
        raise RunError(f"{out} is not a run of the demo. Choose another --out.")
    translator = load(out)
    console.print("\n[bold]Ten sentences[/bold]")
    for source, target in zip(SENTENCES, translator.translate(SENTENCES), strict=True):
        console.print(f"  {source}\n    [bold]{target}[/bold]")
    console.print(f"\n[bold]Inside one of them[/bold]: {OPENED}")
    console.print(explanation_view(translator.explain(OPENED), layer=head["layer"], head=head["head"]))
    show_scores(console, measured)
    console.print(f"\nNow open [bold]{out / REPORT}[/bold] in a browser.")


def show_scores(console: Console, measured: dict[str, Any]) -> None:
    """What the report measured on the phrasebook's test part."""
    from glassformer.evaluate.metric import by_key
    from glassformer.tasks.translation import TranslationRecipe

    console.print("\n[bold]Scores on unseen combinations[/bold] (greedy)")
    metrics = by_key(TranslationRecipe.metrics)
    for key, value in measured["measured"].items():
        console.print(f"  {metrics[key].label:<12} {value:6.2f}")
    head = measured["alignment"]
    place = f"layer {head['layer'] + 1}, head {head['head'] + 1}"
    console.print(f"  alignment error of the best attention head ({place}): {head['test_error']:.3f}")
