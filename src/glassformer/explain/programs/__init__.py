"""The forward pass of every model as a program: a file of wiring for each family; layers are written by their own."""

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
    "bert": "bert.write_bert",
    "roformer": "bert.write_roformer",
    "gpt": "decoder_only.write_gpt",
    "llama": "decoder_only.write_llama",
    "t5": "t5.write_t5",
    "vit": "vit.write_vit",
    "captioner": "vit.write_captioner",
    "lstm": "lstm.write_lstm",
    "lstm_lm": "lstm.write_lstm_lm",
    "bilstm": "lstm.write_bilstm",
    "rnn_attention": "rnn_attention.write_rnn_attention",
}


def program_of(model: nn.Module) -> Program:
    """The program of any model of the registry, with the options that this one has."""
    kind: str = cast(Settings, model.config).kind  # type: ignore[attr-defined]
    if kind not in WIRINGS:
        raise ModelError(f"There is no program for the kind {kind!r}. Known: {', '.join(WIRINGS)}.")
    file, function = WIRINGS[kind].split(".")
    write: Callable[[Writer, Any], Program] = getattr(import_module(f"{__name__}.{file}"), function)
    return write(Writer(model, kind=kind), model)
