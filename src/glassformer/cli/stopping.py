"""Stopped by Ctrl-C or SIGTERM: one line that says how to go on."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer


def same_command() -> str:
    """The command that is running, to be pasted into a shell."""
    program = ["glassformer"] if Path(sys.argv[0]).name == "glassformer" else ["python", "-m", "glassformer"]
    if "TORCHELASTIC_RUN_ID" in os.environ:  # set by torchrun
        program = ["torchrun", "--nproc-per-node", os.environ.get("LOCAL_WORLD_SIZE", "1"), "-m", "glassformer"]
    return shlex.join([*program, *sys.argv[1:]])


@contextmanager
def stopping_in_one_line() -> Iterator[None]:
    """Before and after the steps there is nothing to save: what was finished is on disk, the rest is made again."""
    from glassformer.train.stopping import termination_as_interrupt

    try:
        with termination_as_interrupt():
            yield
    except KeyboardInterrupt:
        typer.echo(f"glassformer: stopped. What was saved is whole. Go on with:  {same_command()}", err=True)
        raise typer.Exit(130) from None
