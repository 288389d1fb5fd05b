"""`glassformer show`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from glassformer import limits
from glassformer.cli.evaluating import Json

SHOW_EXAMPLES = """
[bold]Examples[/bold]

  glassformer show runs/en-de

  glassformer show gpt:small --depth 2
      [dim]a published size; also bert:base, t5:small, llama:7b, vit:base-16, transformer:base[/dim]

  glassformer show downloads/all-minilm-l6-v2 --context 128 --json
"""


def add_to(app: typer.Typer) -> None:
    app.command(epilog=SHOW_EXAMPLES)(show)


def show(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A run, an imported model, a Hugging Face folder, or KIND:SIZE.")
    ],
    depth: Annotated[
        int | None, typer.Option(min=1, max=limits.BLOCKS, help="How many levels of the tree to show. Default: all.")
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=limits.POSITIONS,
            help="Number of tokens that attention sees. Default: the model's longest text, or 512.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change a setting of a named size: vocabulary=8000. Repeatable."
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Show the architecture of a model as a tree: shapes, parameters, FLOPs per token, memory."""
    from glassformer.explain.architecture import architecture_view
    from glassformer.tasks.showing import show as shown

    found = shown(model, context=context, assignments=set_ or [])
    if json_:
        typer.echo(json.dumps(found.to_dict()))
        return
    for line in architecture_view(found, depth=depth):
        typer.echo(line)
