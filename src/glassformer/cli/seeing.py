"""Models that read images: `glassformer classify` and `caption`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.running import Device, Json

if TYPE_CHECKING:
    from glassformer.data.readers.images import NamedPicture
    from glassformer.tasks.generation import Continuation
    from glassformer.tasks.vision import Guess, ImageModel

CLASSIFY_EXAMPLES = """
[bold]Examples[/bold]

  glassformer classify models/vit photo.jpg
      [dim]JPEG, PNG and many others need Pillow: pip install 'glassformer\\[images]'[/dim]

  glassformer classify models/digits t10k-images-idx3-ubyte.gz:0-9 --top 1
      [dim]some images of a file that holds many; .npy and .ppm are read too[/dim]

  glassformer classify models/vit *.jpg --json | jq -r '[.image, .classes[0].label] | @tsv'
"""
CAPTION_EXAMPLES = """
[bold]Examples[/bold]

  glassformer caption models/captioner photo.jpg

  glassformer caption models/captioner photo.jpg --top 3 --json
"""
CHUNK = 64  # images read before their output is written

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model folder: glassformer's or Hugging Face's.")]
Images = Annotated[
    list[str], typer.Argument(metavar="IMAGE...", help="Files; FILE:7 or FILE:0-9 of one that holds many.")
]


def add_to(app: typer.Typer) -> None:
    app.command(epilog=CLASSIFY_EXAMPLES)(classify)
    app.command(epilog=CAPTION_EXAMPLES)(caption)


def classify(
    model: Model,
    images: Images,
    top: Annotated[int, typer.Option(min=1, help="How many classes of each image.")] = 5,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """What is in an image, by a ViT with classes: the likeliest ones and their probabilities."""
    seeing = image_model(model, device)
    for pictures in chunks(images):
        for picture, guesses in zip(pictures, seeing.classified(pictures, top=top), strict=True):
            typer.echo(classes_line(picture.name, guesses, as_json=json_))
        sys.stdout.flush()


def caption(
    model: Model,
    images: Images,
    top: Annotated[int, typer.Option(min=1, help="How many captions of each image.")] = 1,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy. Default: 5, or --top.")] = None,
    max_new: Annotated[int, typer.Option(min=1, help="The most tokens of a caption.")] = 64,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """What an image shows, in words, by a captioner."""
    from glassformer.tasks.generation import Asked

    asked = Asked(max_new=max_new, beam=max(5, top) if beam is None else beam, n_best=top)
    seeing = image_model(model, device)
    for pictures in chunks(images):
        for picture, found in zip(pictures, seeing.captioned(pictures, asked), strict=True):
            for rank, one in enumerate(found, start=1):
                typer.echo(caption_line(picture.name, rank, one, several=top > 1, as_json=json_))
        sys.stdout.flush()


def image_model(model: str, device: str) -> ImageModel:
    from glassformer.tasks.pretrained import load_pretrained
    from glassformer.tasks.vision import ImageModel

    return ImageModel(load_pretrained(model, device=device))


def chunks(images: list[str]) -> Iterator[list[NamedPicture]]:
    """Some at a time, so that output begins soon and memory stays flat."""
    from glassformer.data.readers.images import read_pictures

    pictures = chain.from_iterable(map(read_pictures, images))
    while part := list(islice(pictures, CHUNK)):
        yield part


def classes_line(name: str, guesses: list[Guess], *, as_json: bool) -> str:
    if as_json:
        return json.dumps({"image": name, "classes": [asdict(guess) for guess in guesses]}, ensure_ascii=False)
    return "\t".join([name, *(f"{guess.label} {guess.probability:.1%}" for guess in guesses)])


def caption_line(name: str, rank: int, found: Continuation, *, several: bool, as_json: bool) -> str:
    if as_json:
        fields: dict[str, Any] = {"image": name, "rank": rank, "caption": found.text, "score": found.score}
        fields |= {"tokens": found.tokens, "log_probs": found.log_probs, "ended": found.why}
        return json.dumps(fields, ensure_ascii=False)
    text = " ".join(found.text.split())  # one line
    return "\t".join([name, *([str(rank), f"{found.score:.4f}"] if several else []), text])
