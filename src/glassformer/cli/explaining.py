"""`glassformer explain`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer import limits
from glassformer.cli.evaluating import Beam, Json, load_noting
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from glassformer.explain.explanation import Explanation
    from glassformer.tasks.classifying import Text
    from glassformer.tasks.model import LoadedModel

EXPLAIN_EXAMPLES = """
[bold]Examples[/bold]

  glassformer explain runs/en-de "I ate an apple."
      [dim]any model: tokens, vectors, what each block does, attention, predictions[/dim]

  glassformer explain runs/en-de "I ate an apple." --attention encoder --layer 2 --head 1

  glassformer explain runs/en-de "I ate an apple." --attention all
      [dim]self-attention of encoder and decoder, and cross-attention[/dim]

  glassformer explain runs/en-de "I ate an apple." --tree
      [dim]every hypothesis that the beam search followed, including those it dropped[/dim]

  glassformer explain models/bert "Paris is the [MASK] of France." --layer 3

  glassformer explain models/vit photo.jpg
      [dim]an image file for models that read images[/dim]

  glassformer explain runs/en-de "I ate an apple." --json | jq .steps
"""


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXPLAIN_EXAMPLES)(explain)


def explain(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A run folder, or a model folder: glassformer's or Hugging Face's.")
    ],
    text: Annotated[
        str,
        typer.Argument(
            help="A text, or an image file for models that read images; first<TAB>second for a model of pairs."
        ),
    ],
    beam: Beam = None,
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which attention to show: encoder, decoder, cross or all; self for models with one stack. Default: "
            "cross or self.",
        ),
    ] = None,
    layer: Annotated[int | None, typer.Option(min=1, max=limits.BLOCKS, help="Show this layer's attention.")] = None,
    head: Annotated[
        int | None,
        typer.Option(min=1, max=limits.HEADS, help="Show this head's attention. Default: the most informative head."),
    ] = None,
    top: Annotated[
        int, typer.Option(min=1, max=limits.TOKENS, help="How many candidates to show at each position.")
    ] = 5,
    tree: Annotated[
        bool,
        typer.Option("--tree", help="Show the tree of a translator's beam search instead; a beam of 1 is widened."),
    ] = False,
    json_: Json = False,
) -> None:
    """See inside a model: tokens, vectors, what each block does, attention, and the candidates at each step."""
    loaded: LoadedModel = load_noting(model)
    if tree:
        show_tree(loaded, text, beam=beam, as_json=json_)
        return

    from glassformer.explain.view import explanation_view

    found = explained(loaded, text, beam=beam, top=top)
    place = {"layer": None if layer is None else layer - 1, "head": None if head is None else head - 1}
    view = explanation_view(
        found, attention=attention, **place
    )  # with --json too: it raises an error for a layer or head that does not exist
    output(view, found.to_dict, as_json=json_)


def explained(model: LoadedModel, text: str, *, beam: int | None, top: int) -> Explanation:
    """The explanation of a text or image by any kind of model."""
    from glassformer.cli.pairs import text_or_pair
    from glassformer.tasks import explaining
    from glassformer.tasks.translation.translator import Translator

    if isinstance(model, Translator):
        return model.explain(text, beam=beam, top=top)
    shown: Text = text
    if each := texts_each(model, text):
        shown = text_or_pair(text, each, place="TEXT")
    return explaining.explain(model.bundle, shown, top=top, options=replace(explaining.ANSWER, beam=beam or 1))


def texts_each(model: LoadedModel, text: str) -> int | None:
    """How many texts the model reads together; None if its folder does not say."""
    each: int | None = model.bundle.extras.get("texts")
    answers = getattr(getattr(model.model, "config", None), "head", None) == "span"
    return 2 if each is None and answers and "\t" in text else each


def show_tree(model: LoadedModel, text: str, *, beam: int | None, as_json: bool) -> None:
    from glassformer.tasks.translation.translator import Translator

    if not isinstance(model, Translator):
        raise SettingsError(
            "--tree shows a translator's beam search, and this model is not a translator: leave it out."
        )

    from glassformer.explain.beam_tree import tree_view

    tree = model.beam_tree(text, beam=beam)
    if tree.widened:
        typer.echo(f"Note: a beam of 1 has no branches; the tree is of a beam of {tree.beam}.", err=True)
    output(tree_view(tree), tree.to_dict, as_json=as_json)


def output(view: RenderableType, to_dict: Callable[[], dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(to_dict(), ensure_ascii=False))
        return

    from rich.console import Console

    Console().print(view)
