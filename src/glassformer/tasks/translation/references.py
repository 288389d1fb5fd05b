"""The references that translations are scored against, as users give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, TypeGuard

from glassformer.errors import DataError
from glassformer.tasks.model import described, texts_of

EXPECTED = "Give one reference (str) or a list of references for each text."

Given = str | Iterable[str | Iterable[str]]


def with_references(texts: str | Iterable[str], references: Given) -> tuple[list[str], list[tuple[str, ...]]]:
    """Texts and the references of each, as lists. For a single text, its references need no list around them."""
    found = texts_of(texts)
    if isinstance(texts, str):
        return found, [references_of(references, 0)]
    if isinstance(references, str):
        raise DataError(f"Got a list of texts and one reference, {described(references)}. {EXPECTED}")
    if not is_list(references):
        raise DataError(f"Got {described(references)} as the references of a list of texts. {EXPECTED}")
    given = list(references)
    if not found or len(found) != len(given):
        raise DataError(
            f"Got {len(found):,} texts and references for {len(given):,}. Give the same number of both, at least one."
        )
    return found, [references_of(own, number) for number, own in enumerate(given)]


def references_of(given: object, number: int) -> tuple[str, ...]:
    """The references of one text; `number` is for error messages."""
    if isinstance(given, str):
        return (given,)
    if not is_list(given):
        raise DataError(f"Text {number} has {described(given)} as its references. {EXPECTED}")
    found = tuple(given)
    for one in found:
        if not isinstance(one, str):
            raise DataError(f"Text {number} has {described(one)} among its references. {EXPECTED}")
    if not found:
        raise DataError(f"Text {number} has no references. {EXPECTED}")
    return found


def is_list(given: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(given, Iterable) and not isinstance(given, bytes | bytearray | Mapping | Set)
