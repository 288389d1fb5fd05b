"""`glassformer classify` and `caption`: classes of images and texts, and captions of images."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer import limits
from glassformer.cli.evaluating import Device, Json, load_noting
from glassformer.cli.skipping import Skipped
from glassformer.errors import SettingsError
from glassformer.printable import printable

if TYPE_CHECKING:
    from glassformer.data.readers.images import NamedPicture
    from glassformer.tasks.classifying import Text
    from glassformer.tasks.embedding import TextEncoder
    from glassformer.tasks.generation import Continuation
    from glassformer.tasks.guesses import Guess
    from glassformer.tasks.model import LoadedModel
    from glassformer.tasks.vision import ImageModel

CLASSIFY_EXAMPLES = """
[bold]Examples[/bold]

  glassformer classify models/vit photo.jpg
      [dim]JPEG, PNG and many others need Pillow: pip install 'glassformer\\[images]'[/dim]

  glassformer classify models/digits t10k-images-idx3-ubyte.gz:0-9 --top 1
      [dim]the first ten images of a file with many[/dim]

  glassformer classify models/digits image.npy images.npz:7
      [dim]arrays (height, width\\[, channels]), or many of them (n, height, width\\[, channels]); .ppm works too[/dim]

  glassformer classify models/vit *.jpg --json | jq -r '[.image, .classes[0].label] | @tsv'

  glassformer classify models/sentiment "A wonderful film."
      [dim]texts, by a model with a classification head (BertForSequenceClassification and similar models)[/dim]

  cat reviews.txt | glassformer classify models/sentiment --top 1 --json
      [dim]without texts, a text classifier reads the lines of stdin[/dim]

  glassformer classify runs/same "Is it cold?" "Do I need a coat?"
      [dim]a run that was trained on pairs (--columns a,b,label): two texts are one pair[/dim]

  cut -f 1,2 questions.tsv | glassformer classify runs/same
      [dim]several pairs: one per line, with a tab between the two texts[/dim]
"""
CAPTION_EXAMPLES = """
[bold]Examples[/bold]

  glassformer caption models/captioner photo.jpg

  glassformer caption models/captioner photo.jpg --top 3 --json
"""
LONGEST_NAME = 1000  # characters; no file has a longer one
CHUNK = 64  # images that are read before their output is written

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model folder: glassformer's or Hugging Face's.")]
Images = Annotated[
    list[str], typer.Argument(metavar="IMAGE...", help="Image files; FILE:7 or FILE:0-9 for a file with many images.")
]


def add_to(app: typer.Typer) -> None:
    app.command(epilog=CLASSIFY_EXAMPLES)(classify)
    app.command(epilog=CAPTION_EXAMPLES)(caption)


def classify(
    model: Model,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[IMAGE|TEXT]...",
            help="Image files (FILE:7 or FILE:0-9 for a file with many images), or texts; for a model of pairs, two "
            "texts, or first<TAB>second for each pair. Default, -: lines of stdin.",
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=1, max=limits.TOKENS, help="How many classes to show for each image or text.")
    ] = 5,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Classify images or texts: the most likely classes and their probabilities."""
    from glassformer.tasks.embedding import KINDS, TextEncoder
    from glassformer.tasks.vision import ImageModel

    loaded: LoadedModel = load_noting(model, device=device)
    found = loaded.bundle
    if found.kind in KINDS:
        classify_texts(TextEncoder(found), inputs or [], top=top, as_json=json_)
        return
    seeing = ImageModel(found)
    if not inputs:
        raise SettingsError("Give an image to classify, or several.")
    skipped = Skipped("image")
    for pictures in chunks(inputs, skipped):
        for picture, guesses in zip(pictures, seeing.classified(pictures, top=top), strict=True):
            typer.echo(classes_line(picture.name, guesses, as_json=json_))
        sys.stdout.flush()
    skipped.end()


def classify_texts(encoder: TextEncoder, texts: list[str], *, top: int, as_json: bool) -> None:
    from glassformer.cli.embedding import note_cut
    from glassformer.cli.pairs import text_blocks

    encoder.probabilities()  # an error for a model without classes, before anything is read
    if texts not in ([], ["-"]):
        note_file_names(texts)
    cut, done, skipped = list[int](), 0, Skipped("line")
    for block in text_blocks(texts, encoder.texts_each, skipped):
        here = list[int]()
        for text, guesses in zip(block, encoder.classify(block, top=top, cut=here), strict=True):
            typer.echo(text_line(text, guesses, as_json=as_json))
        sys.stdout.flush()
        cut, done = cut + [done + number for number in here], done + len(block)
    note_cut(cut, done, encoder)
    skipped.end()


def note_file_names(texts: list[str]) -> None:
    """Notes that the name of a file was given, which is classified as it is: a text, not a file of texts."""
    for text in texts:
        if len(text) <= LONGEST_NAME and os.path.isfile(text):
            name = printable(text)
            typer.echo(
                f"Note: {name} is a file, but its name is classified as a text. To read its lines: < {name}",
                err=True,
            )


def caption(
    model: Model,
    images: Images,
    top: Annotated[int, typer.Option(min=1, max=limits.HYPOTHESES, help="Number of captions per image.")] = 1,
    beam: Annotated[
        int | None, typer.Option(min=1, max=limits.HYPOTHESES, help="Beam width; 1 is greedy. Default: 5, or --top.")
    ] = None,
    max_new: Annotated[int, typer.Option(min=1, max=limits.TOKENS, help="Maximum number of tokens.")] = 64,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Describe images in words, with a captioner."""
    from glassformer.tasks.generation import GenerateOptions

    options = GenerateOptions(max_new=max_new, beam=max(5, top) if beam is None else beam, n_best=top)
    seeing = image_model(model, device)
    skipped = Skipped("image")
    for pictures in chunks(images, skipped):
        for picture, found in zip(pictures, seeing.captioned(pictures, options), strict=True):
            for rank, one in enumerate(found, start=1):
                typer.echo(caption_line(picture.name, rank, one, several=top > 1, as_json=json_))
        sys.stdout.flush()
    skipped.end()


def image_model(model: str, device: str) -> ImageModel:
    from glassformer.tasks.vision import ImageModel

    return load_noting(model, ImageModel, device)


def chunks(images: list[str], skipped: Skipped) -> Iterator[list[NamedPicture]]:
    """The images in chunks, so that output begins soon and memory use stays constant."""
    from glassformer.data.readers.images import read_pictures

    pictures = skipped.each(images, read_pictures)
    while part := list(islice(pictures, CHUNK)):
        yield part


def classes_line(name: str, guesses: list[Guess], *, as_json: bool, what: str = "image") -> str:
    if as_json:
        return json.dumps({what: name, "classes": [asdict(guess) for guess in guesses]}, ensure_ascii=False)
    labels = [f"{printable(guess.label)} {guess.probability:.1%}" for guess in guesses]
    return "\t".join([printable(name.replace("\t", " ").replace("\n", " ")), *labels])


def text_line(text: Text, guesses: list[Guess], *, as_json: bool) -> str:
    """A text or a pair of texts, and its classes."""
    if isinstance(text, str):
        return classes_line(text, guesses, as_json=as_json, what="text")
    if as_json:
        return json.dumps({"texts": text, "classes": [asdict(guess) for guess in guesses]}, ensure_ascii=False)
    first, second = text
    return printable(first) + "\t" + classes_line(second, guesses, as_json=False)


def caption_line(name: str, rank: int, found: Continuation, *, several: bool, as_json: bool) -> str:
    if as_json:
        fields: dict[str, Any] = {"image": name, "rank": rank, "caption": found.text, "score": found.score}
        fields |= {"tokens": found.tokens, "log_probs": found.log_probs, "ended": found.why}
        return json.dumps(fields, ensure_ascii=False)
    text = re.sub(r"[\t\r\n]+", " ", found.text).strip()  # one line, one cell
    return "\t".join([name, *([str(rank), f"{found.score:.4f}"] if several else []), text])
