"""`glassformer lesson`: the ideas of the Transformer, each as a small computed example."""

from __future__ import annotations

from typing import Annotated

import typer

from glassformer.errors import SettingsError

EXAMPLES = """
[bold]Examples[/bold]

  glassformer lesson            [dim]lists the lessons[/dim]

  glassformer lesson similarity [dim]dot product against cosine[/dim]

  glassformer lesson mixing     [dim]attention without parameters: money bank grows[/dim]

  glassformer lesson scaling    [dim]why scores are divided by the square root of d_k[/dim]
"""


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(lesson)


def lesson(name: Annotated[str | None, typer.Argument(help="A lesson. Default: list all lessons.")] = None) -> None:
    """Show a small computed example: similarity, attention, masks, scaling, norms, positions."""
    from rich.console import Console

    from glassformer.explain.lessons import LESSONS, lesson_view

    console = Console(highlight=False)
    if name is None:
        for key, entry in LESSONS.items():
            console.print(f"  [bold]{key:<10}[/bold] {entry.summary}")
        return
    if name not in LESSONS:
        raise SettingsError(f"There is no lesson {name!r}. Lessons: {', '.join(LESSONS)}.")
    console.print(lesson_view(LESSONS[name]))
