"""Inputs that cannot be used: each is reported on stderr, the others get their results, and the exit code is 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import typer

from glassformer.errors import DataError
from glassformer.printable import counted, printable_message

S = TypeVar("S")
T = TypeVar("T")

MOST = 20  # errors that are shown; of others, only the number


class Skipped:
    """Counts what cannot be used. `unit` is what it is called."""

    def __init__(self, unit: str) -> None:
        self.unit, self.count = unit, 0

    def each(self, inputs: Iterable[S], read: Callable[[S], Iterable[T]]) -> Iterator[T]:
        """What `read` makes of each input, without those that it refuses."""
        for one in inputs:
            try:
                yield from read(one)
            except DataError as error:
                self.count += 1
                if self.count <= MOST:
                    typer.echo(f"glassformer: {printable_message(error)}", err=True)

    def end(self) -> None:
        """Ends the command with exit code 2 if anything was skipped."""
        if self.count > MOST:
            typer.echo(f"glassformer: {counted(self.count - MOST, f'more {self.unit}')} cannot be used", err=True)
        if self.count:
            raise typer.Exit(2)
