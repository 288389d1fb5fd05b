"""Special ids of a folder: from config.json, generation_config.json, or by the texts of the tokenizer's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from glassformer.hub.huggingface.checkpoint import read_json
from glassformer.hub.huggingface.pretrained import SpecialIds
from glassformer.text import Tokenizer

GENERATION, TOKENS, TOKENIZER = "generation_config.json", "special_tokens_map.json", "tokenizer_config.json"
ADDED = "added_tokens.json"
START = "decoder_start_token_id"
NAMES = tuple(field.name for field in fields(SpecialIds) if field.name != "start")


def read_marks(folder: Path, theirs: Mapping[str, Any], tokenizer: Tokenizer | None) -> SpecialIds:
    """What config.json tells wins over generation_config.json, and that over the texts of the tokenizer's files."""
    generation = optional_json(folder / GENERATION)
    texts = special_texts(folder)
    ids = {name: first_id(f"{name}_token_id", theirs, generation) for name in NAMES}
    if tokenizer is not None:
        ids |= {name: tokenizer.id(texts[name]) for name in NAMES if ids[name] is None and name in texts}
    return SpecialIds(**ids, start=first_id(START, theirs, generation))


def first_id(field: str, *files: Mapping[str, Any]) -> int | None:
    """The id that the first of the files has; of a list (several ends) its first. Some write -1 for none."""
    for content in files:
        value = content.get(field)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def special_texts(folder: Path) -> dict[str, str]:
    """The text of each special token: {"cls": "[CLS]"}."""
    found: dict[str, str] = {}
    for content in (optional_json(folder / TOKENS), optional_json(folder / TOKENIZER)):
        for name in NAMES:
            value = content.get(f"{name}_token")
            text = value.get("content") if isinstance(value, dict) else value
            if isinstance(text, str):
                found.setdefault(name, text)
    return found


def optional_json(path: Path) -> dict[str, Any]:
    """The object in a file that may not be there."""
    return read_json(path) if path.is_file() else {}


def generation_fields(marks: SpecialIds) -> dict[str, int]:
    """generation_config.json: the ids that a generation begins and ends with, as far as there are some."""
    ids = {"bos_token_id": marks.bos, "eos_token_id": marks.eos, "pad_token_id": marks.pad, START: marks.start}
    return {name: number for name, number in ids.items() if number is not None}
