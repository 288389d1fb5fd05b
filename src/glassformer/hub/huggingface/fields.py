"""Fields of JSON files made by others: read by type, with errors that name file, field, value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from glassformer.errors import ExportError, ImportingError

T = TypeVar("T")

LARGEST = 2**31 - 1  # of all whole numbers: sizes, ids, counts
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
THEIR_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}


class Fields(dict[str, Any]):
    """The object in a file; errors name the file."""

    def __init__(self, content: Mapping[str, Any], *, origin: str | Path) -> None:
        super().__init__(content)
        self.origin = str(origin)


def wrong(theirs: Mapping[str, Any], field: str, needed: str) -> ImportingError:
    """The error for a field whose value is not what is needed."""
    origin = theirs.origin if isinstance(theirs, Fields) else "config.json"
    return ImportingError(f"{origin}: {field} = {shown(theirs.get(field))}: expected {needed}.")


def shown(value: Any) -> str:
    """A value for a message: short, on one line. Python refuses to print numbers with thousands of digits."""
    if isinstance(value, int) and abs(value) > 10**40:
        return "a number of over 40 digits"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


def is_whole(value: Any, *, least: int = 1, most: int = LARGEST) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def whole(
    theirs: Mapping[str, Any], field: str, default: int | None = None, *, least: int = 1, most: int = LARGEST
) -> int:
    """A whole number; required if there is no default."""
    value = theirs.get(field)
    value = default if value is None else value
    if not is_whole(value, least=least, most=most):
        raise wrong(theirs, field, f"a whole number from {least} to {most:,}")
    return int(value)  # type: ignore[arg-type]


def number(theirs: Mapping[str, Any], field: str, default: float | None = None) -> float:
    """A finite number; required if there is no default."""
    value = theirs.get(field)
    value = default if value is None else value
    if not is_number(value):
        raise wrong(theirs, field, "a number")
    return float(value)  # type: ignore[arg-type]


def is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def flag(theirs: Mapping[str, Any], field: str, default: bool) -> bool:
    value = theirs.get(field)
    value = default if value is None else value
    if not isinstance(value, bool):
        raise wrong(theirs, field, "true or false")
    return value


def optional_flag(theirs: Mapping[str, Any], field: str) -> bool | None:
    return None if theirs.get(field) is None else flag(theirs, field, False)


def text(theirs: Mapping[str, Any], field: str) -> str | None:
    """A text, or None if there is none."""
    value = theirs.get(field)
    if value is not None and not isinstance(value, str):
        raise wrong(theirs, field, "a text")
    return value


def listed(theirs: Mapping[str, Any], field: str, kind: type[T]) -> list[T]:
    """A list whose entries all have one type; empty if there is none."""
    value = theirs.get(field)
    value = [] if value is None else value
    if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
        raise wrong(theirs, field, f"a list of {NAMES.get(kind, kind.__name__)}")
    return value


NAMES: dict[type, str] = {str: "texts", list: "lists", dict: "objects"}


def mapped(theirs: Mapping[str, Any], field: str, kind: type[T]) -> dict[str, T]:
    """An object whose values all have one type; empty if there is none."""
    value = theirs.get(field)
    value = {} if value is None else value
    if not isinstance(value, dict) or not all(isinstance(one, kind) for one in value.values()):
        raise wrong(theirs, field, f"an object of {NAMES.get(kind, kind.__name__)}")
    return value


def one_of(theirs: Mapping[str, Any], field: str, table: Mapping[Any, T], default: Any = None) -> T:
    """Our name for a field's value; `default` is the value if the field is absent."""
    value = theirs.get(field, default)
    if isinstance(value, list | dict) or value not in table:
        raise refused(theirs, field, value, tuple(table))
    return table[value]


def refuse_class_head(head: str, family: str) -> None:
    """Refuses to export a decoder that classifies texts: the folder would lose its class head."""
    if head == "sentence":
        raise ExportError(
            f"model.head = 'sentence': a {family} that classifies texts cannot be exported yet. Use the run itself, or "
            "train a bert."
        )


def must_be(theirs: Mapping[str, Any], field: str, *allowed: Any) -> None:
    """Checks a field: it is absent, or has one of these values; no other is implemented."""
    if field in theirs and theirs[field] not in allowed:
        raise refused(theirs, field, theirs[field], allowed)


def refused(theirs: Mapping[str, Any], field: str, value: Any, allowed: tuple[Any, ...]) -> ImportingError:
    origin = theirs.origin if isinstance(theirs, Fields) else "config.json"
    return ImportingError(
        f"{origin}: {field} = {shown(value)} is not supported. Allowed: {', '.join(map(repr, allowed))}."
    )
