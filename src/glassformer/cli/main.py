"""The command line: `glassformer VERB ...`. Each verb lives in a thin file; what computes is imported when it runs."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import typer

from glassformer import __version__
from glassformer.cli import (
    checking,
    comparing,
    corpora,
    demo,
    embedding,
    explaining,
    exporting,
    generating,
    importing,
    learning,
    running,
    seeing,
    showing,
    tokens,
    training,
    translating,
)
from glassformer.errors import GlassformerError

app = typer.Typer(
    help="Glassformer: Transformers you can see through. Train, translate, evaluate and explain on your own machine.",
    epilog="Start here:  glassformer demo",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=True,
)


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"glassformer {__version__}")
        raise typer.Exit


@app.callback()
def glassformer(
    version: bool = typer.Option(
        False, "--version", callback=show_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Transformers you can see through."""


demo.add_to(app)
checking.add_to(app)
training.add_to(app)
corpora.add_to(app)
translating.add_to(app)
generating.add_to(app)
running.add_to(app)
explaining.add_to(app)
seeing.add_to(app)
embedding.add_to(app)
importing.add_to(app)
showing.add_to(app)
exporting.add_to(app)
comparing.add_to(app)
learning.add_to(app)
tokens.add_to(app)


def main() -> None:
    """Runs a command; what a user can mend is one line on stderr and exit code 2, never a traceback."""
    # OpenMP's threads spin while they wait for each other. With anything else running on the machine that made
    # training up to 8 times slower; a short spin costs nothing measurable on an idle one. Read when torch is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    # The same for NumPy, whose products here are small: two threads made `doctor` 4 times slower on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # torch's profiler would write its diary into the middle of ours.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    speak_utf8()
    try:
        app()  # sees to Ctrl-C and to a reader that leaves early (`| head`) by itself
    except GlassformerError as error:
        if str(error):  # of several processes that train together one says what happened
            typer.echo(f"glassformer: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        typer.echo(f"glassformer: {error.filename or 'reading or writing'}: {error.strerror}", err=True)
        sys.exit(2)


def speak_utf8() -> None:
    """Text comes out as it goes in, in UTF-8, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
