"""`glassformer vectors`: the group of commands, training, and what several of them share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer import limits
from glassformer.cli.settings_help import command_with_help_of
from glassformer.printable import counted, printable

if TYPE_CHECKING:
    from rich.progress import TaskID
    from rich.table import Table

    from glassformer.cli.display import StageDisplay
    from glassformer.vectors import WordVectors
    from glassformer.vectors.corpus import Corpus
    from glassformer.vectors.settings import VectorSettings
    from glassformer.vectors.word2vec import Learning

GROUP_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors train corpus.txt.gz --out corpus.vec
      [dim]word2vec; then ask:[/dim]

  glassformer vectors neighbours corpus.vec king

  glassformer vectors analogy corpus.vec king - man + woman

  glassformer vectors neighbours glove.6B.100d.txt.gz king
      [dim]files made by others: word2vec, GloVe, fastText (.vec); or a model's folder: its embedding table[/dim]
"""
TRAIN_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors train corpus.txt --out corpus.vec
      [dim]skip-gram; .vec is text, a name that ends in .bin is binary; gensim and fastText read both[/dim]

  glassformer vectors train 'wiki/*.xz' --out wiki.bin --method cbow --threads 2
      [dim]larger than memory is fine; several threads are faster, but no longer give the same bytes every time[/dim]

  glassformer vectors train reviews.tsv --columns text --out reviews.vec --method ppmi
      [dim]counts, weighted and reduced: as good as word2vec on a few million words[/dim]

  zcat corpus.gz | glassformer vectors train - --out corpus.vec --min-count 2
"""

vectors = typer.Typer(
    help="Static word vectors: count or train them, read files of others, ask for neighbours and analogies.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog=GROUP_EXAMPLES,
)

VectorsFile = Annotated[
    str,
    typer.Argument(
        metavar="VECTORS",
        help="A file of word vectors (word2vec, GloVe; text or binary; plain or compressed), or a model's folder: its "
        "embedding table.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
Top = Annotated[int, typer.Option(min=1, max=limits.TOKENS, help="How many words to show.")]
Among = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=limits.WORD_ROWS,
        help="Look only at this many words, the first of the file, which are usually the most frequent.",
    ),
]
Split = Annotated[str, typer.Option()]


def add_to(app: typer.Typer) -> None:
    from glassformer.cli import vectors_asking, vectors_counting, vectors_studies

    for part in (vectors_counting, vectors_asking, vectors_studies):
        part.add_to(vectors)
    app.add_typer(vectors, name="vectors")


def vector_settings() -> type[VectorSettings]:
    from glassformer.vectors.settings import VectorSettings

    return VectorSettings


@vectors.command(epilog=TRAIN_EXAMPLES, cls=command_with_help_of(vector_settings))
def train(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Text files, tables, folders or patterns, plain or compressed; - is stdin."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="A new file for the vectors: .bin is binary, .glove GloVe's text, other names word2vec's text."
        ),
    ],
    method: Annotated[str, typer.Option(metavar="skip-gram|cbow|ppmi")] = "skip-gram",
    columns: Annotated[str | None, typer.Option(metavar="NAME", help="Tables: the column with the text.")] = None,
    width: Annotated[int, typer.Option(min=1, max=limits.WORD_WIDTH)] = 100,
    window: Annotated[int, typer.Option(min=1, max=limits.WINDOW)] = 5,
    min_count: Annotated[int, typer.Option(min=1, max=limits.TOKENS_COUNTED)] = 5,
    most_words: Annotated[int | None, typer.Option(min=2, max=limits.WORD_ROWS)] = None,
    epochs: Annotated[int | None, typer.Option(min=1, max=limits.EPOCHS)] = None,
    negatives: Annotated[int, typer.Option(min=1, max=limits.NEGATIVES)] = 5,
    rate: Annotated[float | None, typer.Option(min=1e-9, max=10)] = None,
    sample: Annotated[float, typer.Option(min=0, max=1)] = 1e-3,
    power: Annotated[float, typer.Option(min=0, max=2)] = 0.75,
    seed: Annotated[int, typer.Option(min=0, max=limits.SEED)] = 1,
    threads: Annotated[int, typer.Option(min=1, max=limits.THREADS)] = 1,
    split: Annotated[str, typer.Option(metavar="words|spaces")] = "words",
    lower: Annotated[bool, typer.Option("--lower/--keep-case")] = True,
) -> None:
    """Make word vectors from a text."""
    from glassformer.vectors import training
    from glassformer.vectors.writing import check_name

    check_name(out)
    given = {
        "method": method, "width": width, "window": window, "min_count": min_count, "most_words": most_words,
        "epochs": epochs, "negatives": negatives, "rate": rate, "sample": sample, "power": power, "seed": seed,
        "threads": threads, "split": split, "lower": lower,
    }  # fmt: skip
    with showing_progress() as progress:
        found = training.train(files, columns=columns, listener=progress, **given)  # type: ignore[arg-type]
        progress.display.end_count()
        found.save(out)
    typer.echo(
        f"{out}: {len(found):,} words, width {found.width}. Try:  glassformer vectors neighbours {out} WORD",
        err=True,
    )


class ShownProgress:
    """Bars for reading and learning, with rate and time left; a line for each stage."""

    def __init__(self, display: StageDisplay) -> None:
        self.display = display
        self.bar: Any = None
        self.task: TaskID | None = None

    def __enter__(self) -> ShownProgress:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end_bar()
        self.display.end_count()

    def end_bar(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = self.task = None

    def on_read(self, done: int, total: int) -> None:
        self.display.on_count(done, total)

    def on_corpus(self, corpus: Corpus, settings: VectorSettings) -> None:
        unusable = f"; {corpus.unusable:,} lines could not be read" if corpus.unusable else ""
        rare = corpus.distinct - len(corpus.words)
        self.display.on_stage(f"{corpus.read:,} words, {corpus.distinct:,} different ones{unusable}")
        self.display.on_stage(
            f"{len(corpus.words):,} have vectors; {rare:,} rarer ones are left out "
            f"({1 - corpus.tokens / corpus.read:.1%} of the text)"
        )
        if settings.method == "ppmi":
            self.display.on_stage("Counting pairs of words; then their table is reduced")
        else:
            self.display.on_stage(f"{settings.method}: {settings.epochs_for(corpus.tokens):,} epochs")

    def on_learning(self, learning: Learning) -> None:
        from glassformer.cli.display import counting

        if self.bar is None:
            self.bar = counting("  learning")
            self.bar.start()
            self.task = self.bar.add_task("", total=learning.total)
        self.bar.update(self.task, completed=learning.done)
        if learning.done == learning.total:
            self.end_bar()


def showing_progress() -> ShownProgress:
    from glassformer.cli.display import StageDisplay

    return ShownProgress(StageDisplay())


# Shared


def open_vectors(given: str) -> WordVectors:
    """The vectors of a file or of a model's folder."""
    if Path(given).is_dir():
        from glassformer.tasks.word_vectors import model_vectors

        return model_vectors(given)
    from glassformer.cli.display import reading
    from glassformer.vectors import load

    with reading("  reading") as progress:
        found = load(given, progress=progress)
    if repeated := found.about.get("repeated"):
        typer.echo(
            f"Note: {counted(repeated, 'line')} repeated a word that came before; the first vector of a word is used.",
            err=True,
        )
    return found


def words_or_lines(words: Sequence[str] | None) -> Iterator[str]:
    """The words given as arguments, or the lines of stdin as they arrive."""
    from glassformer.cli.translating import stdin_blocks

    if words and list(words) != ["-"]:
        yield from words
        return
    for block in stdin_blocks():
        yield from (line.strip() for line in block if line.strip())


def show_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))
    sys.stdout.flush()


def number_table(
    rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], *, corner: str = ""
) -> Table:
    """A table of numbers with names for rows and columns."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(Text(corner), no_wrap=True)
    for name in columns:
        table.add_column(Text(printable(name)), justify="right", no_wrap=True)
    for name, row in zip(rows, cells, strict=True):
        table.add_row(Text(printable(name)), *map(Text, row))
    return table
