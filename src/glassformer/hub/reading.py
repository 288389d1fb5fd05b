"""Reads a model made by others in any supported form: a Hugging Face folder, adapters of `peft` with their base model,
llama2.c's files, minGPT's JSON."""

from __future__ import annotations

from pathlib import Path

from glassformer.errors import ImportingError
from glassformer.hub.huggingface.adapted import is_adapter, read_adapted
from glassformer.hub.huggingface.folders import CONFIG, read_folder
from glassformer.hub.llama2c import is_llama2c, read_llama2c
from glassformer.hub.mingpt import is_mingpt, read_mingpt
from glassformer.store.bundle import Bundle


def is_model(path: Path) -> bool:
    """Whether it looks like one of them."""
    return path.exists() and ((path / CONFIG).is_file() or is_adapter(path) or is_llama2c(path) or is_mingpt(path))


def read_model(path: Path, *, base: Path | None = None) -> Bundle:
    """The model, with what belongs to it. `base`: the model that adapters are added to, if not the one they name."""
    if is_adapter(path):
        return read_adapted(path, base)
    if base is not None:
        raise ImportingError(f"--base is for a folder of adapters (adapter_config.json); {path} is none. Leave it out.")
    if not (path / CONFIG).is_file():
        if is_llama2c(path):
            return read_llama2c(path)
        if is_mingpt(path):
            return read_mingpt(path)
    return read_folder(path)  # its error says what is missing
