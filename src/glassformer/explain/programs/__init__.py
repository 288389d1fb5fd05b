"""The forward pass of every model as a program. Each model's file is its wiring; the layers are written by their own."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from torch import nn

from glassformer.config import Settings
from glassformer.errors import ModelError
from glassformer.explain.program import Program
from glassformer.explain.programs.writer import Writer

WIRINGS = {
    "transformer": "transformer.write_transformer",
}


def program_of(model: nn.Module) -> Program:
    """The program of any model of the registry, with the options that this one has."""
    kind: str = cast(Settings, model.config).kind  # type: ignore[attr-defined]
    if kind not in WIRINGS:
        raise ModelError(f"There is no program for the kind {kind!r}. Known: {', '.join(WIRINGS)}.")
    file, function = WIRINGS[kind].split(".")
    write: Callable[[Writer, Any], Program] = getattr(import_module(f"{__name__}.{file}"), function)
    return write(Writer(model, kind=kind), model)
