"""Named sizes: the settings that a config's `size` sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from glassformer import limits
from glassformer.config import Settings, merge

C = TypeVar("C", bound=Settings)


def filled(
    values: Any, validated: Callable[[Any], C], *, sizes: Mapping[str, Mapping[str, Any]], default: str | None
) -> C:
    """For a config's wrap validator: `values`, and from their size whatever they do not give, section by section.
    Settings from the size do not count as set.

    For an unknown size the default is used, if there is one; the check of the field `size` then reports the error.
    """
    if not isinstance(values, dict):
        return validated(values)  # not a section: pydantic reports it
    name = values.get("size", default)
    fallback = {} if default is None else sizes[default]
    usual = sizes.get(name, fallback) if isinstance(name, str) else fallback
    config = validated(merge(usual, values))
    config.__pydantic_fields_set__.intersection_update(values)
    for section in (name for name, value in usual.items() if isinstance(value, Mapping)):
        given = values.get(section, {})
        if isinstance(given, Mapping):
            getattr(config, section).__pydantic_fields_set__.intersection_update(given)
    return config


def longest_text(config: Settings) -> int:
    """How many tokens a model with these settings can read at once; recurrent models have no limit of their own."""
    return int(getattr(config, "max_length", limits.TOKENS))


def has_positions(config: Settings) -> bool:
    """Whether the length of a text is limited by a setting."""
    return "max_length" in type(config).model_fields
