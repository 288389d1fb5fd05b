"""`glassformer demo`: train a translator from scratch in minutes, translate with it, and look inside."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from glassformer.explain.explanation import Explanation
    from glassformer.store.run import RunFolder
    from glassformer.tasks.translation import TranslationRecipe
    from glassformer.tasks.translation.translator import Translator

EXAMPLES = """
[bold]Examples[/bold]

  glassformer demo

  glassformer demo --to it
      [dim]English to Italian; --to hi: English to Hindi[/dim]

  glassformer demo --from-language hi --to en
      [dim]the other direction, into runs/demo-hi-en[/dim]

Afterwards, use it like any other run:

  glassformer translate runs/demo "I ate an apple."

  glassformer explain runs/demo "I ate an apple."

  glassformer evaluate runs/demo --corpus phrasebook
"""
GLASS = "glass.html"
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


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(demo)


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder for the run. Default: runs/demo, or runs/demo-SOURCE-TARGET.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="Target language: de, it, hi or en. Default: de, or en from another language.")
    ] = None,
    from_language: Annotated[str, typer.Option(help="Source language: en, de, it or hi.")] = "en",
) -> None:
    """Train a small translator on a built-in corpus, translate sentences, explain one, write a report and a page."""
    from rich.console import Console

    from glassformer.cli.display import TrainingDisplay
    from glassformer.cli.stopping import stopping_in_one_line
    from glassformer.data.corpora import phrasebook_name
    from glassformer.errors import RunError
    from glassformer.explain.view import explanation_view
    from glassformer.store.run import REPORT, RunFolder
    from glassformer.tasks.translation import load, train_translator

    console = Console(highlight=False)
    to = to or ("de" if from_language == "en" else "en")
    recipe = demo_recipe(phrasebook_name(from_language, to))
    out = out or Path("runs/demo" if (from_language, to) == ("en", "de") else f"runs/demo-{from_language}-{to}")
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
    opened = show_sentences(console, translator, from_language, to)
    console.print(f"\n[bold]Inside one of them[/bold]: {opened}")
    found = translator.explain(opened)
    console.print(explanation_view(found, layer=head["layer"], head=head["head"]))
    show_scores(console, measured)
    page = write_page(found, RunFolder(out))
    console.print(
        f"\nNow open [bold]{out / REPORT}[/bold] in a browser, and [bold]{page}[/bold]: the model itself, which runs"
    )
    console.print("in the page without a network. Type a sentence, and take any number apart.")


def write_page(found: Explanation, run: RunFolder) -> Path:
    """The page in which the model runs, linked from the report."""
    from glassformer.explain.page import with_link

    path = run.path / GLASS
    found.save(path)
    run.write_report(with_link(run.report(), GLASS, "The model itself, running in a page"))
    return path


def demo_recipe(corpus: str) -> TranslationRecipe:
    """The recipe of the demo, for one of the phrasebooks."""
    from glassformer.cli.recipes import shipped_recipe
    from glassformer.config import validate
    from glassformer.tasks.translation import TranslationRecipe

    settings = tomllib.loads(shipped_recipe("demo"))
    settings["data"]["corpus"] = corpus
    return validate(TranslationRecipe, settings, origin="the demo's recipe")


def show_sentences(console: Console, translator: Translator, source: str, target: str) -> str:
    """Everyday sentences of the project's founding documents, and whether each translation is a correct one.

    Into German, ten others come first. Returns the sentence to look into.
    """
    from glassformer.data.phrasebook import document_sentences

    if (source, target) == ("en", "de"):
        console.print("\n[bold]Ten sentences[/bold]")
        show_pairs(console, SENTENCES, translator.translate(SENTENCES))
    phrases = document_sentences(source=source, target=target)
    sources = [phrase.source for phrase in phrases]
    found = translator.translate(sources)
    right = [text in phrase.references for phrase, text in zip(phrases, found, strict=True)]
    console.print(f"\n[bold]The sentences of the founding documents[/bold]: {sum(right)} of {len(right)} are correct")
    show_pairs(console, sources, found, right)
    return sources[0]


def show_pairs(
    console: Console, sources: Sequence[str], targets: Sequence[str], right: Sequence[bool] | None = None
) -> None:
    """Each sentence above its translation; a cross marks what is not a correct one."""
    for place, (source, target) in enumerate(zip(sources, targets, strict=True)):
        mark = "" if right is None or right[place] else "  [red]✗[/red]"
        console.print(f"  {source}\n    [bold]{target}[/bold]{mark}")


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
