"""The line of the source that computes something, found in the source itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from glassformer.errors import ModelError

PACKAGE = Path(__file__).parents[1]


@cache
def line_in(function: Callable[..., Any], text: str) -> str:
    """`nn/attention.py:74`: the only line of the function (or class) that contains the text."""
    source, first = inspect.getsourcelines(function)
    found = [number for number, line in enumerate(source, start=first) if text in line]
    if len(found) != 1:
        raise ModelError(f"{text!r} is on {len(found)} lines of {function.__qualname__}; it must be on exactly one.")
    path = Path(inspect.getsourcefile(function) or "").relative_to(PACKAGE)
    return f"{path.as_posix()}:{found[0]}"
