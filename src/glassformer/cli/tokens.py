"""`glassformer tokenizer`: train a tokenizer, or look inside one."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer import limits
from glassformer.cli.outputs import check_new_file
from glassformer.cli.settings_help import command_with_help_of
from glassformer.printable import printable, printable_lines

if TYPE_CHECKING:
    from glassformer.text import Tokenizer
    from glassformer.text.settings import TextSettings

tokenizer = typer.Typer(
    help="Train a tokenizer, or look inside one.",
    no_args_is_help=True,
    epilog="Example:  glassformer tokenizer train corpus.en corpus.de --out tokenizer.json",
)

File = Annotated[
    Path,
    typer.Argument(
        help="A tokenizer.json, from glassformer or another program; or a folder: a run, an imported model, or one "
        "with GPT-2's vocab.json and merges.txt, BERT's vocab.txt or a SentencePiece file."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_to(app: typer.Typer) -> None:
    app.add_typer(tokenizer, name="tokenizer")


def text_settings() -> type[TextSettings]:
    from glassformer.text.settings import TextSettings

    return TextSettings


@tokenizer.command(
    epilog="Example:  glassformer tokenizer train corpus.en corpus.de --kind wordpiece --out tokenizer.json",
    cls=command_with_help_of(text_settings),
)
def train(
    files: Annotated[list[Path], typer.Argument(help="Text files, one sentence per line, plain or compressed.")],
    out: Annotated[Path, typer.Option(help="Where to write tokenizer.json; an existing file is not overwritten.")],
    kind: Annotated[str, typer.Option()] = "bpe",
    vocab_size: Annotated[int, typer.Option(min=8, max=limits.VOCABULARY)] = 8000,
    lowercase: Annotated[bool, typer.Option()] = False,
    normalization: Annotated[str, typer.Option()] = "NFC",
) -> None:
    """Train a tokenizer on text files."""
    from glassformer.data.readers.texts import texts_of
    from glassformer.text import train_tokenizer

    check_new_file(out)
    texts = chain.from_iterable(texts_of(file) for file in files)
    made = train_tokenizer(kind, texts, vocab_size=vocab_size, lowercase=lowercase, normalization=normalization)
    made.save(out)
    typer.echo(f"{out}: {made.kind}, {len(made):,} tokens")


@tokenizer.command(epilog='Example:  glassformer tokenizer encode runs/en-de/tokenizer.json "I ate an apple."')
def encode(file: File, text: str, json_: Json = False) -> None:
    """Show the pieces and ids of a text."""
    loaded = load(file)
    pieces, ids = loaded.pieces(text), loaded.encode(text)
    if json_:
        typer.echo(json.dumps({"text": text, "pieces": pieces, "ids": ids}, ensure_ascii=False))
        return
    for piece, number in zip(pieces, ids, strict=True):
        typer.echo(f"{number:>7}  {printable(piece)}")


@tokenizer.command(epilog="Example:  glassformer tokenizer trace runs/en-de/tokenizer.json unbelievable")
def trace(file: File, word: str) -> None:
    """Show how a word becomes its pieces, merge by merge."""
    typer.echo(printable_lines(str(load(file).trace(word))))


def load(file: Path) -> Tokenizer:
    """The tokenizer in a file or folder: the shared one, or that of the source side."""
    from glassformer.text import Tokenizer

    if not file.is_dir():
        return Tokenizer.load(file)
    for name in ("tokenizer.json", "source.tokenizer.json"):
        if (file / name).is_file():
            return Tokenizer.load(file / name)

    from glassformer.hub.huggingface.tokenizers import tokenizer_in

    return tokenizer_in(file)
