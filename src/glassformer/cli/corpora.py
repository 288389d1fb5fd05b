"""`glassformer corpora`: the named corpora, and how to use each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from glassformer.data.corpora import CorpusCard

EXAMPLES = """
[bold]Examples[/bold]

  glassformer corpora

  glassformer corpora --json | jq '.[] | select(.here) | .name'
"""


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(corpora)


def corpora(json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the named corpora: languages, size, licence, how to get each, how to train on it."""
    from glassformer.data.corpora import CORPORA

    cards = list(CORPORA.values())
    if json_:
        typer.echo(json.dumps([fields(card) for card in cards], ensure_ascii=False))
        return

    from rich.console import Console

    Console(highlight=False).print(table(cards))


def fields(card: CorpusCard) -> dict[str, Any]:
    return {
        "name": card.name,
        "source": card.languages[0],
        "target": card.languages[1],
        "pairs": card.pairs,
        "licence": card.licence,
        "about": card.about,
        "get": card.get,
        "here": card.is_here(),
        "train": card.train_command,
    }


def table(cards: list[CorpusCard]) -> Any:
    """One block per corpus: commands and licences are too long for columns."""
    from rich.markup import escape
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for card in cards:
        pairs = "any number of pairs" if card.pairs is None else f"{card.pairs:,} pairs"
        here = "[green]here[/green]" if card.is_here() else "[yellow]not here yet[/yellow]"
        grid.add_row(f"[bold]{card.name}[/bold]", f"{'-'.join(card.languages)}, {pairs}, {here}")
        rows = {"what": card.about, "licence": card.licence, "get it": card.get, "train": card.train_command}
        for name, text in rows.items():
            grid.add_row(f"  [dim]{name}[/dim]", escape(text))
        grid.add_row("", "")
    return grid
