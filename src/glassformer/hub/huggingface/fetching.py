"""A folder of the Hugging Face Hub by its name. Needs the package `huggingface_hub` (extra `hub`) and a network."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from glassformer.errors import ImportingError

NAME = re.compile(r"[\w.-]+/[\w.-]+")  # organisation/model
WANTED = ["*.json", "*.txt", "*.model", "*.spm", "*.safetensors"]
UNWANTED = ["onnx/*", "openvino/*", "coreml/*", "original/*"]
SECONDS = 10.0  # to wait for an answer


def local_folder(path: str) -> Path:
    """The folder at `path`; if there is none and `path` is a name on the Hub, the folder is fetched."""
    if Path(path).exists():
        return Path(path)
    if not NAME.fullmatch(path) or path.startswith("."):
        raise ImportingError(f"{path}: no such folder.")
    return fetched(path)


def fetched(name: str) -> Path:
    by_hand = f"Download the folder of https://huggingface.co/{name} by hand and give its path."
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError:
        raise ImportingError(
            f"{name}: no such folder. To fetch it from the Hub, install `pip install 'glassformer[hub]'`. Or: {by_hand}"
        ) from None
    try:
        return Path(hub.snapshot_download(name, allow_patterns=WANTED, ignore_patterns=UNWANTED, etag_timeout=SECONDS))
    except Exception as error:  # its own, those of its HTTP library, those of the system
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ImportingError(f"{name}: cannot be fetched from the Hub ({reason.rstrip('.')}). {by_hand}") from None
