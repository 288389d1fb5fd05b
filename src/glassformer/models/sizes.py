"""Named sizes: what a config's `size` fills in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from glassformer.config import Settings

C = TypeVar("C", bound=Settings)


def filled(
    values: Any, validated: Callable[[Any], C], *, sizes: Mapping[str, Mapping[str, Any]], default: str | None
) -> C:
    """For a config's wrap validator: `values` over those of their size, which do not count as set.

    An unknown size, or none where there is no default, fills in nothing or the default; the fields' own checks tell
    what is wrong then.
    """
    if not isinstance(values, dict):
        return validated(values)  # not a section: the fields' own check says so
    name = values.get("size", default)
    fallback = {} if default is None else sizes[default]
    config = validated({**(sizes.get(name, fallback) if isinstance(name, str) else fallback), **values})
    config.__pydantic_fields_set__.intersection_update(values)
    return config
