"""`glassformer tag`: entities of texts, or a label for each word."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.evaluating import Device, Json, load_noting
from glassformer.errors import SettingsError
from glassformer.printable import printable

if TYPE_CHECKING:
    from rich.text import Text

    from glassformer.tasks.embedding import TextEncoder
    from glassformer.tasks.tagging import Sentence, TaggedText

TAG_EXAMPLES = """
[bold]Examples[/bold]

  glassformer tag runs/names "Angela Merkel visited Paris."
      [dim]each entity with its type, its confidence and its place in the text, in characters[/dim]

  cat articles.txt | glassformer tag runs/names --json | jq -r '.entities[] | [.type, .text] | @tsv'
      [dim]without texts, the lines of stdin are read[/dim]

  glassformer tag runs/names --conll < articles.txt > tagged.conll
      [dim]one word and its label per line[/dim]

  echo "Angela Merkel visited Paris ." | glassformer tag runs/names --words
      [dim]words are already split: only spaces part them[/dim]

  glassformer tag models/bert-base-NER "Angela Merkel visited Paris."
      [dim]an imported model for token classification; folders of transformers work too[/dim]
"""
STYLES = ("black on bright_green", "black on bright_cyan", "black on bright_yellow", "black on bright_magenta")


def add_to(app: typer.Typer) -> None:
    app.command(epilog=TAG_EXAMPLES)(tag)


def tag(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A run, or a model folder, also Hugging Face's.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts. Default, -: the lines of stdin.")
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="The texts are already split into words: spaces part them.")
    ] = False,
    conll: Annotated[bool, typer.Option("--conll", help="Print a word and its label per line.")] = False,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Find named entities in texts, or label each word."""
    from glassformer.cli.translating import stdin_blocks
    from glassformer.tasks.embedding import TextEncoder

    if conll and json_:
        raise SettingsError("Got --conll and --json; give one of them.")
    encoder = load_noting(model, TextEncoder, device)
    _ = encoder.tagger  # an error for a model without labels of words, before anything is read
    for block in stdin_blocks() if texts in (None, [], ["-"]) else [texts or []]:
        for found in tagged(encoder, block, words=words):
            if json_:
                typer.echo(json.dumps(found.to_dict(), ensure_ascii=False))
            elif conll:
                typer.echo(columns_of(found))
            else:
                show(found, plain=not encoder.tagger.has_spans)
        sys.stdout.flush()


def tagged(encoder: TextEncoder, texts: Sequence[str], *, words: bool) -> list[TaggedText]:
    from glassformer.cli.display import patient_bar
    from glassformer.data.readers.tagged import split_at_spaces

    given: list[Sentence] = [split_at_spaces(text) for text in texts] if words else [*texts]
    with patient_bar("tagging words", sum(len(text.split()) for text in texts)) as advance:
        return encoder.tag(given, progress=advance) if given else []


def columns_of(found: TaggedText) -> str:
    pairs = zip(found.words, found.labels, strict=True)
    return "".join(f"{column(word)}\t{column(label)}\n" for word, label in pairs)


def column(text: str) -> str:
    """One cell of a table: no white space inside, except no-break spaces, which are read as parts of words."""
    from glassformer.data.readers.tagged import split_at_spaces

    return "_".join(split_at_spaces(text)) or "_"


def show(found: TaggedText, *, plain: bool) -> None:
    """The text with its entities in colour on a terminal, then the entities; or each word with its label."""
    from rich.console import Console

    if plain:
        pairs = zip(found.words, found.labels, strict=True)
        typer.echo(" ".join(f"{printable(word)}/{printable(label)}" for word, label in pairs))
        return
    Console(highlight=False, soft_wrap=True).print(coloured(found))
    width = max((len(printable(one.type)) for one in found.entities), default=0)
    for one in found.entities:
        place = f"{one.start}-{one.end}"
        typer.echo(f"  {printable(one.type):<{width}}  {one.confidence:6.1%}  {place:>9}  {printable(one.text)}")


def coloured(found: TaggedText) -> Text:
    """Each type has its colour, by the order of its first occurrence."""
    from rich.text import Text

    kinds = list(dict.fromkeys(one.type for one in found.entities))
    text, end = Text(), 0
    for one in found.entities:
        text.append(printable(found.text[end : one.start]))
        text.append(printable(one.text), STYLES[kinds.index(one.type) % len(STYLES)])
        end = one.end
    return text.append(printable(found.text[end:]))
