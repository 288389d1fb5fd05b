"""Folders of sentence-transformers: an encoder, and how a sentence's vector is made from those of its tokens.

modules.json names the steps: the encoder, the pooling (1_Pooling/config.json), and the normalisation. What is read goes
to `Bundle.extras`: {"pooling": "mean", "normalise": True, "max_length": 256, "prompt": "query: "}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.errors import ImportingError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.checkpoint import read_json, read_json_value
from glassformer.hub.huggingface.marks import TOKENIZER, optional_json
from glassformer.printable import printable
from glassformer.store.bundle import Bundle

MODULES, ENCODER, SENTENCES = "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"
POOLINGS = {"mean": "mean", "cls": "cls", "max": "max", "lasttoken": "last"}
FLAGS = {  # older files: a flag for each
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
STEPS = ("Transformer", "Pooling", "Normalize")
ENDLESS = 10**6  # tokenizers without a limit write a far larger number


def read(folder: Path) -> dict[str, Any]:
    """How the folder makes sentence vectors; empty if it is not a sentence-transformers folder."""
    if not (folder / MODULES).is_file():
        return {}
    steps = steps_of(folder / MODULES)
    return {
        **({"pooling": pooling(folder / steps["Pooling"] / "config.json")} if "Pooling" in steps else {}),
        "normalise": "Normalize" in steps,
        **of_encoder(folder / steps.get("Transformer", "")),
        **prompt(folder),
    }


def steps_of(path: Path) -> dict[str, str]:
    """The kind of each step and its folder. Any other kind would change the vectors, so it is refused."""
    listed = read_json_value(path)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ImportingError(f"{path}: not a list of steps with type and path.")
    steps = {}
    for one in listed:
        step = fields.Fields(one, origin=path)
        kind, place = fields.text(step, "type"), fields.text(step, "path")
        if not kind or place is None or Path(place).is_absolute() or ".." in Path(place).parts or "\0" in place:
            raise ImportingError(f"{path}: every step needs a type, and as its path a folder beside this file.")
        steps[kind.rpartition(".")[2]] = place
    if other := [kind for kind in steps if kind not in STEPS]:
        raise ImportingError(f"{path}: the step {printable(other[0])} is not supported. Allowed: {', '.join(STEPS)}.")
    return steps


def pooling(path: Path) -> str:
    config = read_json(path)
    modes = config.get("pooling_mode", [mode for flag, mode in FLAGS.items() if fields.flag(config, flag, False)])
    modes = fields.listed(config, "pooling_mode", str) if not isinstance(modes, str | list) else modes
    modes = [modes] if isinstance(modes, str) else [str(mode) for mode in modes]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise ImportingError(f"{path}: pooling by {modes} is not supported. Allowed: one of {', '.join(POOLINGS)}.")
    return POOLINGS[modes[0]]


def of_encoder(folder: Path) -> dict[str, Any]:
    """How many tokens of a text are read, and whether the text is lower-cased first."""
    config = optional_json(folder / ENCODER)
    by_tokenizer = config.get("max_seq_length") is None
    limit = tokens_read(optional_json(folder / TOKENIZER)) if by_tokenizer else tokens_read(config, "max_seq_length")
    return {**limit, **({"lowercase": True} if fields.flag(config, "do_lower_case", False) else {})}


def tokens_read(config: Mapping[str, Any], field: str = "model_max_length") -> dict[str, Any]:
    """How many tokens of a text are read, if a field says so."""
    longest = config.get(field)
    longest = longest if isinstance(longest, int | float) and not isinstance(longest, bool) else 0
    return {"max_length": int(longest)} if 1 <= longest < ENDLESS else {}


def prompt(folder: Path) -> dict[str, str]:
    """The text that is put before every text by default."""
    if not (folder / SENTENCES).is_file():
        return {}
    config = read_json(folder / SENTENCES)
    name, prompts = fields.text(config, "default_prompt_name"), fields.mapped(config, "prompts", str)
    return {"prompt": prompts[name]} if name and prompts.get(name) else {}


def written(bundle: Bundle) -> dict[str, bytes]:
    """The files for the extras, if there are any."""
    extras = bundle.extras
    if "pooling" not in extras:
        return {}
    config: Any = bundle.model.config
    kind = {ours: theirs for theirs, ours in POOLINGS.items()}[extras["pooling"]]
    flags = {flag: mode == kind for flag, mode in FLAGS.items()}
    steps = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    files: dict[str, Any] = {
        MODULES: [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{step}"}
            for i, (path, step) in enumerate(steps if extras.get("normalise") else steps[:2])
        ],
        ENCODER: {
            "max_seq_length": extras.get("max_length", config.max_length),
            "do_lower_case": bool(extras.get("lowercase")),
        },
        "1_Pooling/config.json": {"word_embedding_dimension": config.d, **flags},
    }
    if "prompt" in extras:
        files[SENTENCES] = {"prompts": {"default": extras["prompt"]}, "default_prompt_name": "default"}
    return {name: (json.dumps(content, indent=2) + "\n").encode() for name, content in files.items()}
