"""`glassformer explain`."""

from __future__ import annotations

import json
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer import limits
from glassformer.cli.evaluating import Beam, Json, load_noting
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from glassformer.explain.explanation import Explanation
    from glassformer.tasks.classifying import Text
    from glassformer.tasks.model import LoadedModel

STDOUT = "-"  # instead of the file of a page
EXPLAIN_EXAMPLES = """
[bold]Examples[/bold]

  glassformer explain runs/en-de "I ate an apple."
      [dim]any model: tokens, vectors, what each block does, attention, predictions[/dim]

  glassformer explain runs/en-de "I ate an apple." --attention encoder --layer 2 --head 1

  glassformer explain runs/en-de "I ate an apple." --attention all
      [dim]self-attention of encoder and decoder, and cross-attention[/dim]

  glassformer explain runs/en-de "I ate an apple." --tree
      [dim]every hypothesis that the beam search followed, including those it dropped[/dim]

  glassformer explain models/bert "Paris is the [MASK] of France." --layer 3

  glassformer explain models/vit photo.jpg
      [dim]an image file for models that read images[/dim]

  glassformer explain runs/en-de "I ate an apple." --json | jq .steps

  glassformer explain runs/en-de "I ate an apple." --html glass.html --open
      [dim]a page in which this model runs: type another sentence, follow every number, remove a head[/dim]

  glassformer explain models/bert "Paris is the [MASK] of France." --html bert.html --max-mb 64
      [dim]a larger page, with more of a large model's weights[/dim]
"""


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXPLAIN_EXAMPLES)(explain)


Attention = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Which attention to show: encoder, decoder, cross or all; self for models with one stack. Default: "
        "cross or self.",
    ),
]
Layer = Annotated[int | None, typer.Option(min=1, max=limits.BLOCKS, help="Show this layer's attention.")]
Head = Annotated[
    int | None,
    typer.Option(min=1, max=limits.HEADS, help="Show this head's attention. Default: the most informative head."),
]
Html = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write a page instead, in which the model itself runs: one file, without a network; every number can be "
        "taken apart. - writes it to stdout.",
    ),
]
Also = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="With --html: one more text in the page. Repeatable.")
]
MaxMb = Annotated[
    float | None,
    typer.Option(
        min=1.0,
        max=float(limits.PAGE_MB),
        help="With --html: the most million bytes of the page. If a model does not fit, its values are recorded. "
        f"Default: {limits.USUAL_PAGE_MB}.",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="With --html: open the page in a browser.")]
Force = Annotated[bool, typer.Option("--force", help="With --html: replace the file even if it is no such page.")]


def explain(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A run folder, or a model folder: glassformer's or Hugging Face's.")
    ],
    text: Annotated[
        str,
        typer.Argument(
            help="A text, or an image file for models that read images; first<TAB>second for a model of pairs."
        ),
    ],
    beam: Beam = None,
    attention: Attention = None,
    layer: Layer = None,
    head: Head = None,
    top: Annotated[
        int, typer.Option(min=1, max=limits.TOKENS, help="How many candidates to show at each position.")
    ] = 5,
    tree: Annotated[
        bool,
        typer.Option("--tree", help="Show the tree of a translator's beam search instead; a beam of 1 is widened."),
    ] = False,
    html: Html = None,
    also: Also = None,
    max_mb: MaxMb = None,
    open_: Open = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """See inside a model: tokens, vectors, what each block does, attention, and the candidates at each step."""
    wanted = Page(html, tuple(also or ()), max_mb, open_, force)
    wanted.check(printed="--tree" if tree else "--json" if json_ else "")
    loaded: LoadedModel = load_noting(model)
    if html is not None:
        wanted.write(loaded, text, beam=beam, top=top)
    elif tree:
        show_tree(loaded, text, beam=beam, as_json=json_)
    else:
        place = {"layer": None if layer is None else layer - 1, "head": None if head is None else head - 1}
        show(explained(loaded, text, beam=beam, top=top), attention, place, as_json=json_)


def show(found: Explanation, attention: str | None, place: dict[str, int | None], *, as_json: bool) -> None:
    from glassformer.explain.view import explanation_view

    # With --json too: it raises an error for a layer or head that does not exist.
    view = explanation_view(found, attention=attention, **place)
    output(view, found.to_dict, as_json=as_json)


def explained(model: LoadedModel, text: str, *, beam: int | None, top: int) -> Explanation:
    """The explanation of a text or image by any kind of model."""
    from glassformer.tasks import explaining
    from glassformer.tasks.glass.pages import explain_with_pages

    options = replace(explaining.ANSWER, beam=beam or 1)
    return explain_with_pages(model, given(model, text), top=top, beam=beam, options=options)


def given(model: LoadedModel, text: str, *, place: str = "TEXT") -> Text:
    """A text, or two for a model of pairs."""
    from glassformer.cli.pairs import text_or_pair

    each = texts_each(model, text)
    return text_or_pair(text, each, place=place) if each else text


@dataclass(frozen=True)
class Page:
    """What is asked for with --html."""

    path: Path | None
    also: tuple[str, ...]
    max_mb: float | None
    opened: bool
    force: bool

    def check(self, *, printed: str) -> None:
        """An error before the model computes. `printed`: the option that prints something else."""
        if self.path is None:
            if self.also or self.max_mb is not None or self.opened or self.force:
                raise SettingsError("--also, --max-mb, --open and --force belong to a page: add --html FILE.")
            return
        if printed:
            raise SettingsError(f"--html writes a page; {printed} prints. Leave one of them out.")
        for number, one in enumerate(self.also, 1):
            if not one.strip():
                raise SettingsError(
                    f"--also: text {number} of {len(self.also)} is blank. Leave it out, or give a text."
                )
        if str(self.path) == STDOUT:
            if self.opened:
                raise SettingsError("--html - writes the page to stdout, where --open cannot open it: name a file.")
            return

        from glassformer.explain.glass.page import check_target

        check_target(self.path, force=self.force)

    def write(self, model: LoadedModel, text: str, *, beam: int | None, top: int) -> None:
        assert self.path is not None
        from glassformer.explain.glass.page import render, save
        from glassformer.tasks.glass.pages import ModelPages, tier_in_words

        also = [given(model, one, place=f"--also {number}") for number, one in enumerate(self.also, 1)]
        found, max_mb = explained(model, text, beam=beam, top=top), self.max_mb or limits.USUAL_PAGE_MB
        assert isinstance(found.pages, ModelPages)
        contents = found.pages.contents(found, also=also, max_mb=max_mb)
        page, tier = render(contents), tier_in_words(contents, model, max_mb=max_mb)
        size = f"{len(page.encode()) / 1e6:.1f} MB"
        if str(self.path) == STDOUT:
            sys.stdout.buffer.write(page.encode())
            typer.echo(f"stdout: {size}. {tier}", err=True)
            return
        save(page, self.path, force=self.force)
        typer.echo(f"{self.path}: {size}. Open it in a browser; it works without a network. {tier}")
        if self.opened:
            webbrowser.open(self.path.resolve().as_uri())


def texts_each(model: LoadedModel, text: str) -> int | None:
    """How many texts the model reads together; None if its folder does not say."""
    each: int | None = model.bundle.extras.get("texts")
    answers = getattr(getattr(model.model, "config", None), "head", None) == "span"
    return 2 if each is None and answers and "\t" in text else each


def show_tree(model: LoadedModel, text: str, *, beam: int | None, as_json: bool) -> None:
    from glassformer.tasks.translation.translator import Translator

    if not isinstance(model, Translator):
        raise SettingsError(
            "--tree shows a translator's beam search, and this model is not a translator: leave it out."
        )

    from glassformer.explain.beam_tree import tree_view

    tree = model.beam_tree(text, beam=beam)
    if tree.widened:
        typer.echo(f"Note: a beam of 1 has no branches; the tree is of a beam of {tree.beam}.", err=True)
    output(tree_view(tree), tree.to_dict, as_json=as_json)


def output(view: RenderableType, to_dict: Callable[[], dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(to_dict(), ensure_ascii=False))
        return

    from rich.console import Console

    Console().print(view)
