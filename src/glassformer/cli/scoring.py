"""`glassformer similar`: how similar two texts are, or any other score that a model was trained on."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.evaluating import Device, Json, load_noting
from glassformer.cli.skipping import Skipped
from glassformer.printable import printable

if TYPE_CHECKING:
    from glassformer.tasks.classifying import Text

SIMILAR_EXAMPLES = """
[bold]Examples[/bold]

  glassformer similar all-MiniLM-L6-v2/ "A man plays the guitar." "Someone is making music."
      [dim]without training: the cosine of the two sentence vectors, 1 for the same meaning[/dim]

  glassformer similar runs/sts "A man plays the guitar." "Someone is making music."
      [dim]a run of `glassformer train --task similar`: a score on the scale of its data[/dim]

  cut -f 8,9 test.tsv | glassformer similar runs/sts > scores.txt
      [dim]several pairs: one per line, with a tab between the two texts[/dim]

  cat reviews.txt | glassformer similar runs/stars --json
      [dim]a run that was trained on single texts (--columns text,score): one text per line[/dim]
"""
WIDTH = 4  # decimals


def add_to(app: typer.Typer) -> None:
    app.command(epilog=SIMILAR_EXAMPLES)(similar)


def similar(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder: glassformer's or Hugging Face's.")],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]...",
            help="Two texts, or first<TAB>second for each pair; for a model of single texts, texts. Default, -: lines "
            "of stdin.",
        ),
    ] = None,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Score pairs of texts: how similar they are, by a trained model or by the cosine of their vectors."""
    from glassformer.cli.embedding import note_cut
    from glassformer.cli.pairs import text_blocks
    from glassformer.tasks.embedding import TextEncoder
    from glassformer.tasks.scoring import texts_each

    encoder = load_noting(model, TextEncoder, device)
    encoder.scores([])  # an error for a model without scores, before anything is read
    cut, done, skipped = list[int](), 0, Skipped("line")
    for block in text_blocks(texts or [], texts_each(encoder), skipped):
        here = list[int]()
        for text, score in zip(block, encoder.scores(block, cut=here), strict=True):
            typer.echo(score_line(text, score, as_json=json_))
        sys.stdout.flush()
        cut, done = cut + [done + number for number in here], done + len(block)
    note_cut(cut, done, encoder)
    skipped.end()


def score_line(text: Text, score: float, *, as_json: bool) -> str:
    """The score, and what it is of."""
    parts = [text] if isinstance(text, str) else list(text)
    if as_json:
        what = {"text": parts[0]} if len(parts) == 1 else {"texts": parts}
        return json.dumps({**what, "score": score}, ensure_ascii=False)
    return "\t".join([f"{score:.{WIDTH}f}", *(printable(part.replace("\t", " ").replace("\n", " ")) for part in parts)])
