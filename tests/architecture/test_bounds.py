"""Every number that a user can set has a least and a greatest value, and flags have the same as settings."""

from __future__ import annotations

import importlib
import math
import pkgutil
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pytest
import typer
from pydantic.fields import FieldInfo
from typer.models import OptionInfo

import glassformer
from glassformer.cli.main import app
from glassformer.config import Settings, bounds
from glassformer.data.settings import DataSettings
from glassformer.decode.settings import DecodeSettings, GenerationSettings, SamplingSettings
from glassformer.text.settings import TextSettings

ROOMS = ("data", "decode", "models", "tasks", "text", "training", "vectors")


def settings_classes(kind: type[Settings] = Settings) -> Iterator[type[Settings]]:
    for room in ROOMS:
        package = importlib.import_module(f"glassformer.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.rsplit(".")[-1] in ("settings", "recipe", "asked") or room == "models":
                importlib.import_module(module.name)
    found = [kind]
    for one in found:
        found += one.__subclasses__()
    yield from (one for one in found[1:] if one.__module__.startswith(glassformer.__name__))


def numbers_in(annotation: Any, metadata: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Of each number in a type what bounds it: itself, an item of a tuple, an option of a union."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from numbers_in(inner[0], (*metadata, *inner[1:]))
    elif origin in (Union, types.UnionType, tuple, list):
        for one in inner:
            yield from numbers_in(one, metadata)
    elif annotation in (int, float):
        yield metadata


def is_bounded(metadata: tuple[Any, ...]) -> bool:
    found = [*metadata, *(inner for one in metadata if isinstance(one, FieldInfo) for inner in one.metadata)]
    low = [value for one in found for name in ("ge", "gt") if (value := getattr(one, name, None)) is not None]
    high = [value for one in found for name in ("le", "lt") if (value := getattr(one, name, None)) is not None]
    return bool(low and high) and max(high) <= 2**63 and not any(math.isinf(value) for value in (*low, *high))


def test_every_number_of_the_settings_has_a_least_and_a_greatest_value() -> None:
    fields = [(kind, *item) for kind in settings_classes() for item in kind.model_fields.items()]
    assert len(fields) > 150
    loose = [
        f"{kind.__name__}.{name}"
        for kind, name, field in fields
        for metadata in numbers_in(field.annotation, tuple(field.metadata))
        if not is_bounded(metadata)
    ]
    assert loose == []


@dataclass(frozen=True)
class Flag:
    verb: str
    name: str
    least: float | None
    most: float | None


def flags(commands: typer.Typer = app, above: str = "") -> Iterator[Flag]:
    """Every flag that is a number."""
    for group in commands.registered_groups:
        assert group.typer_instance is not None
        yield from flags(group.typer_instance, f"{above}{group.name} ")
    for command in commands.registered_commands:
        assert command.callback is not None
        verb = above + (command.name or command.callback.__name__)
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            found = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, OptionInfo)]
            if found and list(numbers_in(get_args(hint)[0], ())):
                yield Flag(verb, name, found[0].min, found[0].max)


SAME = {  # the flag and the setting that it is
    "beam": (DecodeSettings, "beam"),
    "samples": (GenerationSettings, "n_best"),
    "n_best": (GenerationSettings, "n_best"),
    "max_new": (GenerationSettings, "max_new"),
    "min_new": (GenerationSettings, "min_new"),
    "top": (GenerationSettings, "top"),
    "no_repeat_ngram": (DecodeSettings, "no_repeat"),
    "repetition_penalty": (DecodeSettings, "repetition_penalty"),
    "temperature": (SamplingSettings, "temperature"),
    "top_k": (SamplingSettings, "top_k"),
    "top_p": (SamplingSettings, "top_p"),
    "seed": (SamplingSettings, "seed"),
    "vocab_size": (TextSettings, "vocab_size"),
    "corpus_size": (DataSettings, "corpus_size"),
}


FLAGS = list(flags())


@pytest.mark.parametrize("flag", FLAGS, ids=[f"{flag.verb} {flag.name}" for flag in FLAGS])
def test_every_number_on_the_command_line_is_bounded_as_its_setting_is(flag: Flag) -> None:
    assert flag.least is not None, "no least value"
    assert flag.most is not None, "no greatest value"
    if flag.name in SAME:
        kind, name = SAME["n_best" if (flag.verb, flag.name) == ("caption", "top") else flag.name]
        least, most = bounds(kind.model_fields[name])
        assert flag.most == most
        own_word = (1, 0), (0, 0.01)  # some flags have no 0, or have 0 for "none"
        assert flag.least == least or (flag.least, least) in own_word or flag.name == "max_new"


def test_the_flags_were_found() -> None:
    assert {"beam", "n_best", "max_new", "seed", "top", "vocab_size"} <= {flag.name for flag in FLAGS}
