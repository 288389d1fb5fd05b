"""Vectors and masked words: `glassformer embed`, `fill` and `context`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer import limits
from glassformer.cli.evaluating import Device, Json, load_noting
from glassformer.cli.outputs import check_new_file
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from rich.table import Table

    from glassformer.tasks.context import Context
    from glassformer.tasks.embedding import TextEncoder, Vectors
    from glassformer.tasks.guesses import Filled, Match

EMBED_EXAMPLES = """
[bold]Examples[/bold]

  glassformer embed models/minilm sentences.txt --out vectors.npy
      [dim]one vector per line; numpy.load reads them: (lines, width), float32[/dim]

  cat sentences.txt | glassformer embed models/minilm - --out vectors.jsonl
      [dim]each line with its vector, as JSON[/dim]

  glassformer embed models/minilm sentences.txt --similar "A dog runs on the beach."
      [dim]the lines with the most similar meaning, with the cosine: 1 is the same direction, 0 unrelated[/dim]

  glassformer embed models/minilm sentences.txt --similar questions.txt --top 3 --json

  glassformer embed models/gpt2 --text "To be or not to be" --pooling last --json
      [dim]decoders work too: the mean of all tokens, or the last token, which has seen all others[/dim]
"""
FILL_EXAMPLES = """
[bold]Examples[/bold]

  glassformer fill models/bert "The capital of France is [MASK]."
      [dim]RoBERTa uses <mask>; both spellings work[/dim]

  glassformer fill models/bert "The [MASK] barked at the [MASK]." --top 3
      [dim]each gap is filled while the others are still masked: the best words may not fit together[/dim]

  glassformer fill models/bert "He deposited money at the [MASK]." --json | jq .gaps

  glassformer fill runs/words --json < gaps.txt
      [dim]one text per line; `glassformer train --task fill` trains such a model[/dim]
"""
CONTEXT_EXAMPLES = """
[bold]Examples[/bold]

  glassformer context models/minilm "money bank grows" "river bank flows" --word bank
      [dim]static: the row of the embedding table, the same in both, so the cosine is 1; every block then mixes
      in the words around it, and the two vectors move apart[/dim]

  glassformer context models/minilm "He sat on the bank of the river." "The bank raised its rates." \\
      "She opened an account at the bank." --word bank
      [dim]columns are pairs of sentences: here 2-3, with the same meaning, should stay closest[/dim]

  glassformer context models/gpt2 "I saw her duck." "The duck swam away." --word duck --json
"""
FEW = 4  # the most sentences whose pairs fit side by side

Model = Annotated[
    str,
    typer.Argument(
        help="A model folder, glassformer's or Hugging Face's. For a translator, its encoder.", metavar="MODEL"
    ),
]


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EMBED_EXAMPLES)(embed)
    app.command(epilog=FILL_EXAMPLES)(fill)
    app.command(epilog=CONTEXT_EXAMPLES)(context)


def encoder_of(model: str, device: str) -> TextEncoder:
    from glassformer.tasks.embedding import TextEncoder

    return load_noting(model, TextEncoder, device)


# embed


def embed(
    model: Model,
    source: Annotated[
        str | None, typer.Argument(metavar="FILE", help="One text per line. Default, or -: the lines of stdin.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A text instead of a file. Repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new file for the vectors: .npy or .jsonl.")] = None,
    similar: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT|FILE", help="Show the lines most similar to this text, or to each line of a file."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=limits.TOKENS, help="How many lines --similar shows.")] = 5,
    pooling: Annotated[
        str | None, typer.Option(help="mean, cls (first token), max or last. Default: the model's own, or mean.")
    ] = None,
    normalise: Annotated[
        bool | None,
        typer.Option("--normalise/--as-is", help="Scale vectors to length 1, or not. Default: the model's own."),
    ] = None,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Turn texts into vectors, or find the texts with the most similar meaning."""
    check_embed(source, text, out, similar, as_json=json_)
    texts = text or lines_from(source)
    encoder = encoder_of(model, device)
    if similar is not None:
        show_similar(encoder, [query for one in similar for query in queries_of(one)], texts, top, as_json=json_)
        return
    vectors = embedded(encoder, texts, pooling=pooling, normalise=normalise)
    if out is None:
        for line in vector_lines(texts, vectors):
            typer.echo(line)
        return
    write_vectors(out, texts, vectors)
    typer.echo(f"{len(texts):,} vectors of {vectors.shape[1]} numbers in {out}.", err=True)


def check_embed(
    source: str | None, text: list[str] | None, out: Path | None, similar: list[str] | None, *, as_json: bool
) -> None:
    """Refuses options that do not fit together, before anything is read."""
    if source is not None and text:
        raise SettingsError(f"Got the file {source} and --text; give one of them.")
    if similar is not None:
        if out is not None:
            raise SettingsError("--similar prints the nearest lines, --out writes vectors: give one of them.")
        return
    if out is None and not as_json:
        raise SettingsError("Say where the vectors go: --out vectors.npy (or .jsonl), or --json for stdout.")
    if out is not None:
        if out.suffix not in (".npy", ".jsonl"):
            raise SettingsError(f"--out {out}: the name must end in .npy or .jsonl, which decides the format.")
        check_new_file(out)


def lines_from(source: str | None) -> list[str]:
    from glassformer.cli.translating import stdin_blocks
    from glassformer.data.readers.texts import texts_of

    if source in (None, "-"):
        return list(chain.from_iterable(stdin_blocks()))
    return list(texts_of(Path(str(source))))


def queries_of(given: str) -> list[str]:
    """The lines of a file of this name, or the text itself."""
    try:
        is_file = Path(given).is_file()
    except OSError:  # too long for a file name
        is_file = False
    return lines_from(given) if is_file else [given]


def embedded(encoder: TextEncoder, texts: Sequence[str], *, pooling: str | None, normalise: bool | None) -> Vectors:
    from glassformer.cli.display import counting

    with counting("reading") as bar:
        task, cut = bar.add_task("", total=len(texts)), list[int]()
        advance = lambda count: bar.advance(task, count)  # noqa: E731
        found = encoder.embed(texts, pooling=pooling, normalise=normalise, progress=advance, cut=cut)
    note_cut(cut, len(texts), encoder)
    return found


def note_cut(cut: Sequence[int], total: int, encoder: TextEncoder) -> None:
    if cut:
        typer.echo(
            f"Note: {len(cut):,} of {total:,} texts are longer than the {encoder.max_length:,} tokens that this "
            f"model reads; only their beginnings are used. The first is text {cut[0] + 1:,}.",
            err=True,
        )


def vector_lines(texts: Sequence[str], vectors: Vectors) -> Iterator[str]:
    """JSON lines; 9 digits represent every float32 exactly."""
    for text, vector in zip(texts, vectors, strict=True):
        numbers = [float(f"{number:.9g}") for number in vector]
        yield json.dumps({"text": text, "vector": numbers}, ensure_ascii=False)


def write_vectors(path: Path, texts: Sequence[str], vectors: Vectors) -> None:
    import numpy as np

    if path.suffix == ".npy":
        np.save(path, vectors, allow_pickle=False)
    else:
        path.write_text("".join(f"{line}\n" for line in vector_lines(texts, vectors)), encoding="utf-8")


def show_similar(
    encoder: TextEncoder, queries: Sequence[str], texts: Sequence[str], top: int, *, as_json: bool
) -> None:
    for query, matches in zip(queries, encoder.similar(queries, texts, top=top), strict=True):
        if as_json:
            told = {"query": query, "matches": [match_fields(match) for match in matches]}
            typer.echo(json.dumps(told, ensure_ascii=False))
            continue
        typer.echo(query)
        for match in matches:
            typer.echo(f"  {match.cosine:6.3f}  {match.number + 1:>6}  {match.text}")


def match_fields(match: Match) -> dict[str, Any]:
    """Lines are counted from 1, as in editors."""
    return {"line": match.number + 1, "cosine": round(match.cosine, 6), "text": match.text}


# fill


def fill(
    model: Model,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]...", help="Texts with [MASK] for each missing word. Default, or -: the lines of stdin."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=limits.TOKENS, help="Number of words to show for each gap.")] = 5,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Fill in masked words and show their probabilities (BERT, RoBERTa, RoFormer)."""
    from glassformer.cli.translating import stdin_blocks
    from glassformer.tasks.filling import check_words

    encoder = encoder_of(model, device)
    check_words(encoder)  # before anything is read
    for block in stdin_blocks() if texts in (None, [], ["-"]) else [texts]:
        for text, found in zip(block, encoder.fill(block, top=top), strict=True):
            show_filled(text, found, as_json=json_)
        sys.stdout.flush()


def show_filled(text: str, found: Filled, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"given": text, **asdict(found)}, ensure_ascii=False))
        return
    typer.echo(found.text)
    for number, words in enumerate(found.gaps, 1):
        if len(found.gaps) > 1:
            typer.echo(f"  gap {number}")
        for word in words:
            typer.echo(f"  {word.probability:8.4f}  {word.text}")


# context


def context(
    model: Model,
    sentences: Annotated[
        list[str], typer.Argument(metavar="SENTENCE SENTENCE...", help="Two or more sentences that contain the word.")
    ],
    word: Annotated[str, typer.Option(help="The word to follow: its first occurrence in each sentence.")],
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Show how the vector of a word changes with its context, layer by layer."""
    from glassformer.tasks.context import context as followed

    found = followed(encoder_of(model, device), sentences, word)
    if json_:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False))
        return

    from rich.console import Console

    console = Console()
    for number, (sentence, pieces) in enumerate(zip(found.sentences, found.pieces, strict=True), 1):
        typer.echo(f"{number}  {sentence}   ({' '.join(pieces)})")
    pairs = f"Pairs: cosine of {word!r} between two sentences. " if len(sentences) <= FEW else ""
    typer.echo(f"\n{pairs}Moved: 1 - cosine to the layer before, in each sentence.")
    console.print(layers_view(found))
    if len(sentences) > FEW:
        typer.echo(f"\nCosine of {word!r} between the sentences at {found.layers[-1].name}.")
        console.print(matrix_view(found))


def layers_view(found: Context) -> Table:
    """One line per layer: the cosines of pairs of sentences, then how far the word has moved in each."""
    from rich.table import Table

    pairs = list(combinations(range(len(found.sentences)), 2)) if len(found.sentences) <= FEW else []
    table = Table(box=None)
    table.add_column("layer")
    for name in [f"{a + 1}-{b + 1}" for a, b in pairs] + [f"moved {i + 1}" for i in range(len(found.sentences))]:
        table.add_column(name, justify="right")
    for layer in found.layers:
        cosines = [f"{layer.cosines[a][b]:.3f}" for a, b in pairs]
        table.add_row(layer.name, *cosines, *(f"{moved:.3f}" for moved in layer.moved))
    return table


def matrix_view(found: Context) -> Table:
    """Every sentence against every other at the last layer, if there are too many for columns of pairs."""
    from rich.table import Table

    table = Table(box=None)
    for name in ["", *(str(i + 1) for i in range(len(found.sentences)))]:
        table.add_column(name, justify="right")
    for number, row in enumerate(found.layers[-1].cosines, 1):
        table.add_row(str(number), *(f"{cosine:.3f}" for cosine in row))
    return table
