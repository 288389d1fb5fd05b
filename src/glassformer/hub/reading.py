"""Reads a model made by others in any supported form: a Hugging Face folder, llama2.c's files, minGPT's JSON."""

from __future__ import annotations

from pathlib import Path

from glassformer.hub.huggingface.folders import CONFIG, read_folder
from glassformer.hub.llama2c import is_llama2c, read_llama2c
from glassformer.hub.mingpt import is_mingpt, read_mingpt
from glassformer.store.bundle import Bundle


def is_model(path: Path) -> bool:
    """Whether it looks like one of them."""
    return path.exists() and ((path / CONFIG).is_file() or is_llama2c(path) or is_mingpt(path))


def read_model(path: Path) -> Bundle:
    """The model, with what belongs to it."""
    if not (path / CONFIG).is_file():
        if is_llama2c(path):
            return read_llama2c(path)
        if is_mingpt(path):
            return read_mingpt(path)
    return read_folder(path)  # its error says what is missing
