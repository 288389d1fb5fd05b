"""LoRA adapters as the library `peft` reads them: adapter_config.json and adapter_model.safetensors.

Where queries, keys and values are one matrix there (GPT-2), our three adapters become one of three times the rank: the
A one below the other, the B in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glassformer.errors import ExportError
from glassformer.hub.folders import write_json
from glassformer.hub.huggingface import keys
from glassformer.hub.huggingface.filling import Plan
from glassformer.hub.huggingface.folders import layout_to_write
from glassformer.store.bundle import Bundle
from glassformer.store.files import pack_tensors

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
CLASSES = "classes.json"  # the names of the classes, for which peft has no field; only glassformer reads it
BASE = "base_model.model."  # what peft puts before the names of the base model
TASKS = {"CausalLM": "CAUSAL_LM", "LMHeadModel": "CAUSAL_LM", "SequenceClassification": "SEQ_CLS"}
TASKS |= {"TokenClassification": "TOKEN_CLS", "QuestionAnswering": "QUESTION_ANS", "MTModel": "SEQ_2_SEQ_LM"}
TASKS |= {"ConditionalGeneration": "SEQ_2_SEQ_LM"}


class Files(NamedTuple):
    """adapter_config.json, the tensors, and the names of the classes of a head that was trained."""

    config: dict[str, Any]
    tensors: dict[str, Tensor]
    classes: Mapping[str, str] | None


@dataclass
class Exported:
    """The tensors, and which modules they belong to."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)  # of each module with an adapter
    transposed: bool = False  # the matrices of the base are stored as (in, out)
    whole: list[str] = field(default_factory=list)  # modules that were trained whole


def peft_files(bundle: Bundle, adapter: Mapping[str, Tensor], settings: Mapping[str, Any]) -> Files:
    """The content of the files; `settings` are those of [train] in the run."""
    layout, theirs = layout_to_write(bundle)
    plan = Plan.of(layout.expressed(bundle).model, layout, {})
    found = Exported()
    for match in keys.matches(plan.lines, plan.counts, prefix=layout.prefixes[0]):
        add(found, match, adapter, plan.counts)
    rank = settings["lora"]
    scale = (settings.get("lora_alpha") or 2 * rank) / rank
    others = {name: own for name, own in found.ranks.items() if own != rank}
    config = {
        "peft_type": "LORA",
        "task_type": next((task for end, task in TASKS.items() if theirs["architectures"][0].endswith(end)), None),
        "base_model_name_or_path": settings.get("start_from"),
        "r": rank,
        "lora_alpha": scale * rank,
        "rank_pattern": others,
        "alpha_pattern": {name: scale * own for name, own in others.items()},
        "lora_dropout": settings.get("lora_dropout", 0.0),
        "target_modules": sorted(found.ranks),
        "modules_to_save": sorted(set(found.whole)) or None,
        "fan_in_fan_out": found.transposed,
        "bias": "none",
        "inference_mode": True,
    }
    return Files(config, found.tensors, theirs.get("id2label") if found.whole else None)


def write_files(folder: Path, content: Files) -> None:
    write_json(folder / CONFIG, content.config)
    (folder / WEIGHTS).write_bytes(pack_tensors(content.tensors))
    if content.classes:
        write_json(folder / CLASSES, {"id2label": content.classes})


def add(found: Exported, match: keys.Match, adapter: Mapping[str, Tensor], counts: keys.Counts) -> None:
    """Adds what was learned beside one of our tensors, or in its place."""
    if match.ours in adapter:  # trained whole: a head
        for name, value in keys.to_theirs_of(match, adapter[match.ours], counts):
            found.tensors[f"{BASE}{name}"] = value.contiguous()
            found.whole.append(name.rpartition(".")[0])
        return
    pairs = list(parts_of(match.ours.removesuffix("weight"), adapter))
    if not pairs:
        return
    (names,) = match.theirs
    is_transposed = match.changes[0] is keys.CHANGES["transposed"]
    if len(names) == 1:
        pairs = [joined(pairs)]
    if len(names) != len(pairs):
        raise ExportError(f"{match.ours}: {len(pairs)} adapters for {len(names)} matrices of the Hugging Face model.")
    for name, (a, b), change in zip(names, pairs, match.changes, strict=True):
        module = name.removesuffix(".weight")
        rows = b if is_transposed else change.to_theirs(b, counts)
        found.tensors |= {
            f"{BASE}{module}.lora_A.weight": a.contiguous(),
            f"{BASE}{module}.lora_B.weight": rows.contiguous(),
        }
        found.ranks[module] = len(a)
        found.transposed |= is_transposed


def parts_of(name: str, adapter: Mapping[str, Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    """A and B of each adapter of a layer; `name` ends with a dot."""
    number = 0
    while f"{name}adapters.{number}.a" in adapter:
        yield adapter[f"{name}adapters.{number}.a"], adapter[f"{name}adapters.{number}.b"]
        number += 1


def joined(pairs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Several adapters of one matrix as one: B A is the same."""
    return torch.cat([a for a, _ in pairs]), torch.block_diag(*(b for _, b in pairs))
