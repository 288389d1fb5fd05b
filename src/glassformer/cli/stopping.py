"""What to run next: how to resume after Ctrl-C or SIGTERM, how to use a finished model."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
import typer.main


def same_command() -> str:
    """The running command, ready to paste into a shell."""
    program = ["glassformer"] if Path(sys.argv[0]).name == "glassformer" else ["python", "-m", "glassformer"]
    if "TORCHELASTIC_RUN_ID" in os.environ:  # set by torchrun
        program = ["torchrun", "--nproc-per-node", os.environ.get("LOCAL_WORLD_SIZE", "1"), "-m", "glassformer"]
    return shlex.join([*program, *sys.argv[1:]])


@contextmanager
def stopping_in_one_line() -> Iterator[None]:
    """Handles a stop before or after the training steps: finished work is on disk, the rest is computed again."""
    from glassformer.training.stopping import termination_as_interrupt

    try:
        with termination_as_interrupt():
            yield
    except KeyboardInterrupt:
        typer.echo(f"glassformer: stopped. All saved files are complete. Resume with:  {same_command()}", err=True)
        raise typer.Exit(130) from None


def next_command(verb: str, out: str, inputs: str) -> str:
    """How to use the finished model: the command of its task, or Python if there is none."""
    from glassformer.cli.main import app

    if verb not in typer.main.get_command(app).commands:  # type: ignore[attr-defined]
        return f"glassformer.load({out!r}) in Python"
    return f"glassformer {verb} {shlex.quote(out)} {inputs}"
