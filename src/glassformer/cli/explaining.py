"""`glassformer explain`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.running import Beam, Json, load_noting
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from glassformer.explain.beam_tree import BeamTree
    from glassformer.hub.huggingface.pretrained import Pretrained
    from glassformer.tasks.translation import Translator

EXPLAIN_EXAMPLES = """
[bold]Examples[/bold]

  glassformer explain runs/en-de "I ate an apple."

  glassformer explain runs/en-de "I ate an apple." --layer 2 --head 1

  glassformer explain runs/en-de "I ate an apple." --tree
      [dim]all beginnings that the beam search has followed, also those it gave up[/dim]

  glassformer explain models/bert "Paris is the [MASK] of France." --layer 3
      [dim]any model of the family: tokens, vectors, blocks, attention, what is predicted[/dim]

  glassformer explain models/t5 "translate English to German: I ate an apple." --attention encoder

  glassformer explain models/vit photo.jpg
      [dim]models that see are given an image[/dim]

  glassformer explain runs/en-de "I ate an apple." --json | jq .steps
"""


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXPLAIN_EXAMPLES)(explain)


def explain(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A run folder, or a model folder: glassformer's or Hugging Face's.")
    ],
    text: Annotated[str, typer.Argument(help="A text; for models that see, an image file.")],
    beam: Beam = None,
    attention: Annotated[
        str | None, typer.Option(help="Of models with several: encoder, decoder or cross. Default: cross.")
    ] = None,
    layer: Annotated[int | None, typer.Option(min=1, help="Show this layer's attention ...")] = None,
    head: Annotated[int | None, typer.Option(min=1, help="... of this head. Neither: what tells most.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many candidates to show in each place.")] = 5,
    tree: Annotated[
        bool, typer.Option("--tree", help="Instead, of a translator: the tree of its beam search.")
    ] = False,
    json_: Json = False,
) -> None:
    """See inside: tokens, vectors, what each block does, attention, and the candidates at each step."""
    place = (None if layer is None else layer - 1, None if head is None else head - 1)
    if is_translator(Path(model)):
        if attention not in (None, "cross"):
            raise SettingsError(
                f"--attention {attention}: of a translator the cross-attention is shown; --json has all."
            )
        explain_translation(load_noting(model), text, beam=beam, place=place, top=top, tree=tree, as_json=json_)
        return
    if tree:
        raise SettingsError("--tree is of a translator's beam search: leave it out for other models.")

    from glassformer.tasks.pretrained import load_pretrained

    explain_any(load_pretrained(model), text, beam=beam, attention=attention, place=place, top=top, as_json=json_)


def is_translator(folder: Path) -> bool:
    """Also a folder that is not there: what is told then is about runs."""
    from glassformer.tasks.pretrained import holds_translator

    return not folder.exists() or holds_translator(folder)


def explain_translation(
    translator: Translator,
    text: str,
    *,
    beam: int | None,
    place: tuple[int | None, int | None],
    top: int,
    tree: bool,
    as_json: bool,
) -> None:
    if tree:
        show_tree(translator.beam_tree(text, beam=beam), as_json=as_json)
        return
    explanation = translator.explain(text, beam=beam, top=top)
    if as_json:
        typer.echo(json.dumps(explanation.to_dict(), ensure_ascii=False))
        return

    from glassformer.explain.terminal import explanation_view

    show(explanation_view(explanation, layer=place[0], head=place[1]))


def explain_any(
    pretrained: Pretrained,
    text: str,
    *,
    beam: int | None,
    attention: str | None,
    place: tuple[int | None, int | None],
    top: int,
    as_json: bool,
) -> None:
    from glassformer.explain.passage_view import passage_view
    from glassformer.tasks import explaining

    passage = explaining.explain(pretrained, text, top=top, asked=replace(explaining.ANSWER, beam=beam or 1))
    view = passage_view(passage, attention=attention, layer=place[0], head=place[1])  # refuses what is not there
    if as_json:
        typer.echo(json.dumps(passage.to_dict(), ensure_ascii=False))
    else:
        show(view)


def show_tree(tree: BeamTree, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(tree.to_dict(), ensure_ascii=False))
        return

    from glassformer.explain.beam_tree import tree_view

    show(tree_view(tree))


def show(view: RenderableType) -> None:
    from rich.console import Console

    Console().print(view)
