"""The command line: `glassformer VERB ...`. Each verb has a thin file, which imports its heavy parts when it runs."""

from __future__ import annotations

import logging
import os
import sys
from io import TextIOWrapper

import typer

from glassformer import __version__
from glassformer.cli import (
    answering,
    checking,
    comparing,
    corpora,
    demo,
    embedding,
    evaluating,
    experimenting,
    explaining,
    exporting,
    failing,
    generating,
    images,
    importing,
    learning,
    rewriting,
    scoring,
    showing,
    tagging,
    tokens,
    training,
    translating,
    word_vectors,
)
from glassformer.cli.bad_values import NamingValues
from glassformer.errors import GlassformerError
from glassformer.printable import printable, printable_message

app = typer.Typer(
    cls=NamingValues,
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
rewriting.add_to(app)
evaluating.add_to(app)
explaining.add_to(app)
images.add_to(app)
tagging.add_to(app)
answering.add_to(app)
embedding.add_to(app)
scoring.add_to(app)
importing.add_to(app)
showing.add_to(app)
exporting.add_to(app)
comparing.add_to(app)
learning.add_to(app)
experimenting.add_to(app)
tokens.add_to(app)
word_vectors.add_to(app)


def main() -> None:
    """Runs a command. Errors that a user can fix are one line on stderr and exit code 2, never a traceback."""
    # OpenMP's threads spin while they wait for each other, which costs most on a busy machine. Measured with two
    # threads on two cores: this many spins are as fast as the default on a quiet machine (1,000 spins lose 6%, none
    # 45%) and 1.7 times as fast as 20,000 beside one busy process. torch reads the variable when it is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "5000")
    # The same for NumPy, whose products here are small: two threads made `doctor` 4 times slower on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Keeps log lines of torch's profiler out of our output.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    failing.open_closed_streams()
    speak_utf8()
    show_notes()
    if (said := failing.too_small_a_limit("".join(sys.argv[1:2]))) and not {"-h", "--help"} & set(sys.argv):
        typer.echo(f"glassformer: {said}", err=True)
        sys.exit(2)
    try:
        app()  # handles Ctrl-C and a closed pipe (`| head`) itself
    except SystemExit as leaving:
        if failing.reader_left(leaving):
            sys.exit(failing.BROKEN_PIPE)
        if not leaving.code and failing.output_was_lost():
            typer.echo("glassformer: stdout is closed, so the output was lost. Send it to a file or a pipe.", err=True)
            sys.exit(2)
        failing.leave_at_once(leaving)
        raise
    except GlassformerError as error:
        if str(error):  # empty in all but one of several processes that train together
            typer.echo(f"glassformer: {printable_message(error)}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic in the tokenizers is not an Exception
        if failing.wants_traceback():
            raise
        sys.exit(report(error))


def report(error: BaseException) -> int:
    """Prints one line about an error and returns the exit code: 2 if the user can fix it, 1 for a bug."""
    if failing.out_of_memory(error):
        verb = " ".join(["glassformer", *sys.argv[1:2]])
        message, code = failing.memory_in_words(error, printable(verb)), 2
    elif isinstance(error, OSError):
        message, code = f"{printable(str(error.filename or 'reading or writing'))}: {error.strerror}", 2
    else:
        message, code = printable(failing.bug_in_words(error)), 1
    typer.echo(f"glassformer: {message}", err=True)
    return code


class Notes(logging.Handler):
    """Prints warnings of the library on stderr, one line each, without breaking a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(f"Note: {printable_message(record.getMessage())}", err=True)


def show_notes() -> None:
    log = logging.getLogger("glassformer")
    if not log.handlers:
        log.addHandler(Notes())


def speak_utf8() -> None:
    """Reads and writes UTF-8, whatever the locale."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
