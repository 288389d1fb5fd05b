"""The special ids of a folder: from config.json, generation_config.json, or the texts in the tokenizer's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from glassformer.hub.huggingface.checkpoint import read_json
from glassformer.hub.huggingface.fields import Fields, is_whole, wrong
from glassformer.store.bundle import SpecialIds
from glassformer.text import Tokenizer

GENERATION, TOKENS, TOKENIZER = "generation_config.json", "special_tokens_map.json", "tokenizer_config.json"
ADDED = "added_tokens.json"
START = "decoder_start_token_id"
NAMES = tuple(field.name for field in fields(SpecialIds) if field.name != "start")


def read_marks(
    folder: Path, theirs: Mapping[str, Any], tokenizer: Tokenizer | None, *, vocabulary: int | None = None
) -> SpecialIds:
    """config.json takes precedence over generation_config.json, and that over the texts in the tokenizer's files.

    Ids beyond the model's vocabulary are left out: it has no vector for them and never produces them. But the token
    that outputs start from is required.
    """
    generation = optional_json(folder / GENERATION)
    texts = special_texts(folder)
    ids = {name: first_id(f"{name}_token_id", theirs, generation) for name in NAMES}
    if tokenizer is not None:
        ids |= {name: tokenizer.id(texts[name]) for name in NAMES if ids[name] is None and name in texts}
    start = first_id(START, theirs, generation)
    if vocabulary is not None:
        ids = {name: number for name, number in ids.items() if number is not None and number < vocabulary}
        if start is not None and start >= vocabulary:
            raise wrong({START: start}, START, f"an id below {vocabulary:,}, the number of tokens")
    return SpecialIds(**ids, start=start)


def first_id(field: str, *files: Mapping[str, Any]) -> int | None:
    """The id in the first file that has one; the first of a list (several ends). Some files write -1 for none."""
    for content in files:
        value = content.get(field)
        value = value[0] if isinstance(value, list) and value else value
        if is_whole(value, least=0):
            return cast(int, value)
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


def optional_json(path: Path) -> Fields:
    """The object in a file that may not exist."""
    return read_json(path) if path.is_file() else Fields({}, origin=path)


def generation_fields(marks: SpecialIds) -> dict[str, int]:
    """Fields of generation_config.json: the ids that a text begins and ends with, if there are any."""
    ids = {"bos_token_id": marks.bos, "eos_token_id": marks.eos, "pad_token_id": marks.pad, START: marks.start}
    return {name: number for name, number in ids.items() if number is not None}
