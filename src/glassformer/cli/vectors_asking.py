"""`glassformer vectors neighbours`, `analogy`, `similar`, `odd-one-out`, `convert`: questions to word vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer import limits
from glassformer.cli.skipping import Skipped
from glassformer.cli.word_vectors import Among, Json, Top, VectorsFile, open_vectors, show_json, words_or_lines
from glassformer.errors import DataError, SettingsError
from glassformer.printable import printable

if TYPE_CHECKING:
    from glassformer.vectors import Neighbour

NEIGHBOURS_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors neighbours corpus.vec king queen

  glassformer vectors neighbours glove.txt.gz king --top 20 --among 50000
      [dim]only the 50,000 most frequent words: fewer names and misspellings[/dim]

  glassformer vectors neighbours runs/demo apple
      [dim]the embedding table of a model; ##piece does not begin a word[/dim]

  cut -f 1 words.tsv | glassformer vectors neighbours corpus.vec --json | jq -r .neighbours[0].word
"""
ANALOGY_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors analogy corpus.vec king - man + woman

  glassformer vectors analogy corpus.vec paris - france + poland --top 10
      [dim]the runners-up say how sure it is; the words of the question never answer it[/dim]

  echo "king - man + woman" | glassformer vectors analogy corpus.vec --json
"""
SIMILAR_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors similar corpus.vec terrible horrible

  glassformer vectors similar "[1, 2]" "[2, 4]"
      [dim]two vectors of your own, without a file: dot product 10, cosine 1[/dim]

  glassformer vectors similar "[100, 200]" "[-1, 3]"
      [dim]dot product 500, because the first is long; cosine 0.707. See also: glassformer lesson similarity[/dim]
"""
ODD_EXAMPLES = """
[bold]Example[/bold]

  glassformer vectors odd-one-out corpus.vec breakfast cereal dinner car
      [dim]lowest cosine to the mean of all[/dim]
"""
CONVERT_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors convert glove.840B.300d.txt.gz --out glove.bin
      [dim]binary files are read several times faster[/dim]

  glassformer vectors convert runs/demo --out demo.vec --most 5000
      [dim]the embedding table of a model, for other programs[/dim]
"""
SIGN_INSIDE = re.compile(r"\w[+−-]\w")
Words = Annotated[
    list[str] | None, typer.Argument(metavar="[WORD]...", help="Words. Default, or -: the lines of stdin.")
]


def add_to(group: typer.Typer) -> None:
    group.command(epilog=NEIGHBOURS_EXAMPLES)(neighbours)
    group.command(epilog=ANALOGY_EXAMPLES)(analogy)
    group.command(epilog=SIMILAR_EXAMPLES)(similar)
    group.command("odd-one-out", epilog=ODD_EXAMPLES)(odd_one_out)
    group.command(epilog=CONVERT_EXAMPLES)(convert)


def neighbours(file: VectorsFile, words: Words = None, top: Top = 10, among: Among = None, json_: Json = False) -> None:
    """Show the words nearest to each word, by cosine."""
    vectors, skipped = open_vectors(file), Skipped("word")

    def near(word: str) -> list[tuple[str, list[Neighbour]]]:
        return [(word, vectors.neighbours(word, top=top, among=among))]

    for word, found in skipped.each(words_or_lines(words), near):
        if json_:
            show_json({"word": word, "neighbours": [asdict(one) for one in found]})
            continue
        typer.echo(printable(word))
        show_neighbours(found)
    skipped.end()


def show_neighbours(found: Sequence[Neighbour]) -> None:
    for one in found:
        typer.echo(f"  {one.cosine:6.3f}  {printable(one.word)}")


def analogy(
    file: VectorsFile,
    terms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD - WORD + WORD]", help="Words with + and - between. Default, or -: lines of stdin."
        ),
    ] = None,
    top: Top = 5,
    among: Among = None,
    json_: Json = False,
) -> None:
    """Add and subtract words: king - man + woman. The nearest words are shown, without those of the question."""
    vectors, skipped = open_vectors(file), Skipped("question")

    def answered(question: str) -> list[tuple[list[str], list[str], list[Neighbour]]]:
        plus, minus = parsed_terms(question)
        unspaced = next((word for word in (*plus, *minus) if word not in vectors and SIGN_INSIDE.search(word)), None)
        if unspaced:
            raise DataError(f"{unspaced!r} is no word here. Write king - man + woman, with spaces around signs.")
        return [(plus, minus, vectors.analogy(plus, minus, top=top, among=among))]

    asked = [" ".join(terms)] if terms and terms != ["-"] else words_or_lines(None)
    for plus, minus, found in skipped.each(asked, answered):
        if json_:
            show_json({"plus": plus, "minus": minus, "answers": [asdict(one) for one in found]})
            continue
        typer.echo(" + ".join(map(printable, plus)) + "".join(f" - {printable(word)}" for word in minus))
        show_neighbours(found)
    skipped.end()


def parsed_terms(question: str) -> tuple[list[str], list[str]]:
    """`king - man + woman` as the words that are added and those that are subtracted; a sign needs spaces around."""
    plus: list[str] = []
    minus: list[str] = []
    sign = "+"
    for number, term in enumerate(question.split()):
        if term in ("+", "-", "−"):
            if sign and number:
                raise DataError(f"{question!r}: two signs in a row. Write king - man + woman.")
            sign = term
            continue
        if not sign:
            raise DataError(
                f"{question!r}: no sign before {term!r}. Write king - man + woman, with spaces around signs."
            )
        (plus if sign == "+" else minus).append(term)
        sign = ""
    if sign or not plus:
        raise DataError(f"{question!r} is not a sum of words. Write king - man + woman, with spaces around signs.")
    return plus, minus


def similar(
    terms: Annotated[
        list[str],
        typer.Argument(
            metavar="[VECTORS] A B",
            help='A file or folder of word vectors and two words; or two vectors: "[1, 2]" "[2, 4]".',
        ),
    ],
    json_: Json = False,
) -> None:
    """Compare two words, or two vectors: dot product against cosine."""
    from glassformer.vectors import similarity

    if len(terms) == 2 and all(term.lstrip().startswith("[") for term in terms):
        found = similarity(*(given_vector(term) for term in terms))
    elif len(terms) == 3:
        vectors = open_vectors(terms[0])
        found = vectors.similarity(terms[1], terms[2])
    else:
        raise SettingsError(
            f"Got {len(terms)} arguments. Give a file and two words (corpus.vec king queen), or two vectors "
            '("[1, 2]" "[2, 4]").'
        )
    if json_:
        cosine = found.cosine if found.is_defined else None
        show_json({"first": terms[-2], "second": terms[-1], **asdict(found), "cosine": cosine})
        return
    lengths = " and ".join(f"{length:.4g}" for length in found.lengths)
    typer.echo(f"dot product  {found.dot:.4f}   grows with the lengths ({lengths})")
    if not found.is_defined:
        typer.echo("cosine       undefined: a vector of length 0 has no direction")
        return
    typer.echo(f"cosine       {found.cosine:.4f}   1: same direction, 0: unrelated, -1: opposite")


def given_vector(text: str) -> list[float]:
    """`[1, 2]` as numbers."""
    try:
        numbers = json.loads(text)
        return [float(number) for number in numbers] or [float(numbers[0])]
    except (ValueError, TypeError, IndexError):
        raise SettingsError(f"{text!r} is not a vector. Write numbers in brackets: [1, 2].") from None


def odd_one_out(file: VectorsFile, words: Words = None, json_: Json = False) -> None:
    """Find the word that does not belong with the others."""
    vectors, skipped = open_vectors(file), Skipped("line")
    groups = [words] if words and words != ["-"] else (line.split() for line in words_or_lines(None))
    for found in skipped.each(groups, lambda group: [vectors.odd_one_out(group)]):
        if json_:
            show_json({"odd": found[0].word, "words": [asdict(one) for one in found]})
            continue
        for number, one in enumerate(found):
            typer.echo(f"  {one.cosine:6.3f}  {printable(one.word)}{'' if number else '   <- the odd one out'}")
    skipped.end()


def convert(
    file: VectorsFile,
    out: Annotated[
        Path, typer.Option(help="A new file: .bin is binary, .glove GloVe's text, other names word2vec's text.")
    ],
    most: Annotated[
        int | None, typer.Option(min=1, max=limits.WORD_ROWS, help="Only this many words, the first of the file.")
    ] = None,
) -> None:
    """Write vectors in another format: text or binary, from a file or from a model's embedding table."""
    from glassformer.vectors import WordVectors
    from glassformer.vectors.writing import check_name

    check_name(out)
    vectors = open_vectors(file)
    kept = [i for i, word in enumerate(vectors.words) if word and not any(sign in word for sign in " \n\t")]
    left_out = len(vectors) - len(kept)
    kept = kept[:most]
    if not kept:
        raise DataError(f"{file}: no word can be written.")
    WordVectors([vectors.words[i] for i in kept], vectors.matrix[kept]).save(out)
    note = f"; {left_out:,} with spaces in them are left out" if left_out else ""
    typer.echo(f"{out}: {len(kept):,} words, width {vectors.width}{note}.", err=True)
