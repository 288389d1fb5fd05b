"""`glassformer vectors pairs` and `table`: what word2vec learns from, and counts of words as vectors, shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer import limits
from glassformer.cli.word_vectors import Json, number_table, show_json, words_or_lines
from glassformer.errors import DataError, SettingsError
from glassformer.printable import counted, printable, shortened

if TYPE_CHECKING:
    from glassformer.vectors.tables import ShownTable

PAIRS_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors pairs "The cake was chocolate flavoured"

  glassformer vectors pairs "The cake was chocolate flavoured" --window 1 --json
"""
TABLE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors table "Hello World NLP" --as one-hot

  glassformer vectors table "the apple is a fruit" "the pear is a fruit" "the train is a vehicle"

  glassformer vectors table --example --as pmi
      [dim]eight built-in sentences; the last lines show how the, is and a drown everything in raw counts[/dim]

  glassformer vectors table --as tf-idf < sentences.txt
      [dim]one sentence per line[/dim]

  glassformer vectors table "money bank grows" "river bank flows" --as pmi --window 1 --json
"""
Sentences = Annotated[
    list[str] | None, typer.Argument(metavar="[SENTENCE]...", help="Sentences. Default, or -: the lines of stdin.")
]


def add_to(group: typer.Typer) -> None:
    group.command(epilog=PAIRS_EXAMPLES)(pairs)
    group.command(epilog=TABLE_EXAMPLES)(table)


def pairs(
    sentences: Sentences = None,
    window: Annotated[int, typer.Option(min=1, max=limits.WINDOW, help="Words on each side.")] = 5,
    lower: Annotated[bool, typer.Option("--lower/--keep-case", help="Turn the text into lower case.")] = False,
    json_: Json = False,
) -> None:
    """Show the training pairs that CBOW and skip-gram make of a sentence."""
    from glassformer.vectors.pairs import examples_of
    from glassformer.vectors.words import splitter

    words_of = splitter(lower=lower)
    for sentence in words_or_lines(sentences):
        words = [word for word in words_of(sentence) if word.strip()]
        if not words and sentences and sentences != ["-"]:
            raise DataError(f"{shortened(sentence)!r} has no words. Give a sentence of at least two.")
        examples = examples_of(words, window=window)
        if json_:
            cbow = [{"context": one.context, "word": one.word} for one in examples]
            show_json(
                {"sentence": sentence, "cbow": cbow, "skip_gram": [pair for one in examples for pair in one.pairs]}
            )
            continue
        typer.echo(f"“{printable(sentence)}”, {counted(window, 'word')} on each side\n")
        if not examples:
            typer.echo("No examples and no pairs: a word is learned from the words around it; give at least two.")
            continue
        typer.echo("CBOW: the words around a gap predict the word in it")
        for one in examples:
            typer.echo(f"  {one.gap}  ->  {one.word}")
        typer.echo("\nSkip-gram: a word predicts each word around it")
        for one in examples:
            typer.echo(f"  {one.word}  ->  {', '.join(one.context)}")
        count = sum(len(one.context) for one in examples)
        examples_made = f"{counted(len(examples), 'example')} for CBOW, {counted(count, 'pair')} for skip-gram"
        typer.echo(f"\n{examples_made}. Negative samples are added at random.")


def table(
    sentences: Sentences = None,
    kind: Annotated[
        str, typer.Option("--as", metavar="KIND", help="one-hot, bag-of-words, co-occurrence, tf-idf, pmi or all.")
    ] = "all",
    window: Annotated[int, typer.Option(min=1, max=limits.WINDOW, help="Words on each side, for co-occurrence.")] = 5,
    most_words: Annotated[
        int, typer.Option(min=1, max=1000, help="Show at most this many words, the most frequent.")
    ] = 12,
    lower: Annotated[bool, typer.Option("--lower/--keep-case", help="Turn the text into lower case.")] = True,
    example: Annotated[bool, typer.Option("--example", help="Use eight sentences that are built in.")] = False,
    json_: Json = False,
) -> None:
    """Show words as counted vectors: one-hot, bag of words, co-occurrence, tf-idf, PMI."""
    from rich.console import Console

    from glassformer.vectors.tables import EXAMPLE, KINDS, tables_of

    if kind not in (*KINDS, "all"):
        raise SettingsError(f"--as {kind}: allowed are {', '.join(KINDS)} and all.")
    if example and sentences:
        raise SettingsError("Got sentences and --example; give one of them.")
    texts = list(EXAMPLE if example else words_or_lines(sentences))
    found = tables_of(texts, window=window, most_words=most_words, lower=lower)
    shown = [one for one in found.tables if kind in (one.kind, "all")]
    if json_:
        show_json(found.to_dict([one.kind for one in shown]))
        return
    console = Console(highlight=False, soft_wrap=True)
    if found.left_out:
        typer.echo(
            f"The {len(found.words)} most frequent words; {found.left_out:,} others are counted but not shown.\n"
        )
    for one in shown:
        typer.echo(f"{one.title}\n  {one.meaning}\n")
        console.print(table_view(one))
        typer.echo()
    if kind in ("co-occurrence", "pmi", "all"):
        show_drowned(found.drowned)


def table_view(shown: ShownTable) -> Any:
    cells = [["·" if value == 0 else f"{value:.{shown.digits}f}" for value in row] for row in shown.values.tolist()]
    return number_table(shown.rows, shown.columns, cells)


def show_drowned(drowned: Sequence[tuple[str, str, str]]) -> None:
    if not drowned:
        return
    typer.echo(
        "The company of a word: by raw counts, where frequent words such as the, is and a come first; and by PMI.\n"
    )
    for word, by_count, by_pmi in drowned:
        typer.echo(f"  {printable(word):<14} raw counts: {printable(by_count):<28} PMI: {printable(by_pmi)}")
