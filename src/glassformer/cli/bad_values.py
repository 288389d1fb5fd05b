"""Values of options that are not allowed: every message names the value that was given, and what to give."""

from __future__ import annotations

from typing import Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from glassformer.printable import printable, shortened

LONGEST = 40  # characters of a value that are shown
NUMBERS = ("int_", "float_", "finite_", "greater_than", "less_than")  # how pydantic's problems with numbers begin


class NamingValues(TyperGroup):
    """The group of all commands. typer reports "greater than or equal to 1" and not what it got; this adds it."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if isinstance(error.__cause__, ValidationError):
                problem = error.__cause__.errors(include_url=False)[0]
                error.message = in_words(problem["type"], problem["input"], error.param) or error.message
            raise


def in_words(kind: str, value: object, param: Any) -> str:
    """`got 0. Give a whole number from 1 to 1,000.`; empty for other problems, whose messages name the value."""
    if not kind.startswith(NUMBERS):
        return ""
    low, high = (getattr(param, end, None) for end in ("min", "max"))
    whole = kind.startswith("int_") or all(isinstance(end, int | None) for end in (low, high))
    return f"got {shown(str(value))}. Give {'a whole number' if whole else 'a number'}{allowed(low, high)}."


def allowed(low: float | None, high: float | None) -> str:
    """` from 1 to 1,000`, ` of at least 1`; empty without limits."""
    ends = [f"{end:,}" if isinstance(end, int) else f"{end:g}" for end in (low, high) if end is not None]
    if len(ends) == 2:
        return f" from {ends[0]} to {ends[1]}"
    return f" of at {'most' if low is None else 'least'} {ends[0]}" if ends else ""


def shown(text: str) -> str:
    text = shortened(printable(text), width=LONGEST)
    return text if text[:1].isdigit() or text[1:2].isdigit() else repr(text)
