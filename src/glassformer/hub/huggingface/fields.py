"""Reading config.json: what is needed, what is allowed, and errors that name field, value and what can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from glassformer.errors import ImportingError

T = TypeVar("T")

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


def whole(theirs: Mapping[str, Any], field: str, default: int | None = None) -> int:
    """A positive whole number; without a default it must be there."""
    value = theirs.get(field)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ImportingError(f"config.json: {field} = {value!r}: needed is a whole number from 1 on.")
    return value


def number(theirs: Mapping[str, Any], field: str, default: float | None = None) -> float:
    """A number; without a default it must be there."""
    value = theirs.get(field)
    value = default if value is None else value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ImportingError(f"config.json: {field} = {value!r}: needed is a number.")
    return float(value)


def flag(theirs: Mapping[str, Any], field: str, default: bool) -> bool:
    value = theirs.get(field)
    value = default if value is None else value
    if not isinstance(value, bool):
        raise ImportingError(f"config.json: {field} = {value!r}: needed is true or false.")
    return value


def one_of(theirs: Mapping[str, Any], field: str, table: Mapping[Any, T], default: Any = None) -> T:
    """What a field's value is called with us; `default` is the value where the field is not there."""
    value = theirs.get(field, default)
    if isinstance(value, list | dict) or value not in table:
        allowed = ", ".join(map(repr, table))
        raise ImportingError(f"config.json: {field} = {value!r} cannot be honoured. Allowed: {allowed}.")
    return table[value]


def must_be(theirs: Mapping[str, Any], field: str, *allowed: Any) -> None:
    """A field that may be absent, but if it is there, must have one of these values: no other is implemented."""
    if field in theirs and theirs[field] not in allowed:
        raise ImportingError(
            f"config.json: {field} = {theirs[field]!r} cannot be honoured. Allowed: {', '.join(map(repr, allowed))}."
        )
