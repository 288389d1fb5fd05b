"""`glassformer corpora`: the named corpora, how to use each, and their sentences as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassformer.cli.outputs import check_new_file
from glassformer.errors import SettingsError
from glassformer.limits import PHRASES

if TYPE_CHECKING:
    from glassformer.data.corpora import CorpusCard

EXAMPLES = """
[bold]Examples[/bold]

  glassformer corpora

  glassformer corpora --json | jq '.[] | select(.here) | .name'

  glassformer corpora phrasebook --to it --part test | head
      [dim]English and Italian sentences, one pair per line, separated by a tab[/dim]

  glassformer corpora phrasebook --from-language hi --size 10000 --out hi-en.tsv
"""
Part = Literal["train", "valid", "test"]


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(corpora)


def corpora(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Write the pairs of this corpus.")] = None,
    to: Annotated[str | None, typer.Option(help="Target language of the phrasebook: de, it, hi or en.")] = None,
    from_language: Annotated[str | None, typer.Option(help="Source language of the phrasebook.")] = None,
    part: Annotated[Part, typer.Option(help="Which part to write.")] = "train",
    size: Annotated[
        int, typer.Option(min=8000, max=PHRASES, help="Number of training pairs from the phrasebook.")
    ] = 60_000,
    out: Annotated[Path | None, typer.Option(help="A new file for the pairs. Default: the standard output.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the named corpora: languages, size, licence, how to get each, how to train on it. Or write one as a table.

    Held-out sentences are written with their first translation; with --json, as objects with all translations.
    """
    from glassformer.data.corpora import CORPORA

    if name is not None or to is not None or from_language is not None:
        write_pairs(chosen_corpus(name or "phrasebook", from_language, to), part, size=size, out=out, as_json=json_)
        return
    if out is not None:
        raise SettingsError("--out needs the name of a corpus: glassformer corpora phrasebook --out pairs.tsv")

    cards = list(CORPORA.values())
    if json_:
        typer.echo(json.dumps([fields(card) for card in cards], ensure_ascii=False))
        return

    from rich.console import Console

    Console(highlight=False).print(table(cards))


def chosen_corpus(name: str, source: str | None, target: str | None) -> str:
    """The corpus of that name; the phrasebook in the languages of the options."""
    from glassformer.data.corpora import corpus_card, phrasebook_name

    if source is None and target is None:
        return corpus_card(name).name
    if name != "phrasebook":
        raise SettingsError(f"--to and --from-language are for the phrasebook; {name} has languages of its own.")
    source = source or "en"
    return phrasebook_name(source, target or ("de" if source == "en" else "en"))


def write_pairs(name: str, part: str, *, size: int, out: Path | None, as_json: bool) -> None:
    """The pairs of one part, a line each, to a new file or to the standard output."""
    from glassformer.cli.display import StageDisplay
    from glassformer.data.corpora import corpus_pairs

    if out is not None:
        check_new_file(out)
    with StageDisplay() as display:
        corpus = corpus_pairs(name, size=size, progress=display.on_count)
    held = {"valid": corpus.valid, "test": corpus.test}.get(part)
    rows = [(source, (target,)) for source, target in corpus.train] if held is None else held
    text = "".join(f"{line_of(source, targets, as_json=as_json)}\n" for source, targets in rows)
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")


def line_of(source: str, targets: tuple[str, ...], *, as_json: bool) -> str:
    """A tab between the sentence and its first translation, or an object with all translations."""
    if as_json:
        return json.dumps({"source": source, "references": targets}, ensure_ascii=False)
    return f"{source}\t{targets[0]}"


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
