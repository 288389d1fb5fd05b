"""Reads LoRA adapters of the library `peft` and adds them to the matrices of their base model.

A folder of `peft` holds adapter_config.json and adapter_model.safetensors: for a matrix W the thin matrices A and B,
and the heads that were trained whole. The result is a plain model with W + scale * B A.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from glassformer.errors import ImportingError
from glassformer.hub.huggingface import fields, keys
from glassformer.hub.huggingface.adapters import BASE, CLASSES, CONFIG, TASKS, WEIGHTS
from glassformer.hub.huggingface.checkpoint import Checkpoint, finite, raise_all, read_json
from glassformer.hub.huggingface.fields import Fields
from glassformer.hub.huggingface.filling import Tensors, planned
from glassformer.hub.huggingface.folders import CONFIG as MODEL
from glassformer.hub.huggingface.folders import Opened, model_in, open_model
from glassformer.printable import printable
from glassformer.store.bundle import Bundle
from glassformer.store.run import CONFIG as OWN

A, B = ".lora_A.weight", ".lora_B.weight"
SAVED = ".modules_to_save"  # old versions of peft leave it in the names
OTHER_KINDS = {
    "use_dora": "DoRA",
    "lora_bias": "adapters with a bias",
    "megatron_config": "Megatron's layers",
    "layer_replication": "models with repeated layers",
    "alora_invocation_tokens": "adapters that begin to work at certain tokens",
    "use_qalora": "QALoRA",
    "use_bdlora": "BD-LoRA",
    "arrow_config": "Arrow's mixtures of adapters",
    "target_parameters": "adapters of single parameters",
    "trainable_token_indices": "vectors of single tokens",
}
READ: tuple[str, ...] = ("peft_type", "task_type", "base_model_name_or_path", "bias", "init_lora_weights")
READ += ("lora_alpha", "alpha_pattern", "use_rslora")
# What the tensors and the base model's layers show as well, how the adapters were trained, and other notes.
HARMLESS: tuple[str, ...] = (
    "r",
    "rank_pattern",
    "target_modules",
    "exclude_modules",
    "modules_to_save",
    "layers_to_transform",
)
HARMLESS += ("layers_pattern", "fan_in_fan_out", "lora_dropout", "inference_mode", "eva_config")
HARMLESS += ("auto_mapping", "peft_version", "revision", "megatron_core", "qalora_group_size", "runtime_config")
INITIAL = (None, True, False, "gaussian", "eva", "orthogonal")  # init_lora_weights that leave the base as it is


def is_adapter(folder: Path) -> bool:
    return (folder / CONFIG).is_file() and not (folder / MODEL).is_file()


def read_adapted(folder: Path, base: Path | None = None) -> Bundle:
    """The base model with the adapters of `folder` added. Without `base`, the folder that the adapters name."""
    settings = read_json(folder / CONFIG)
    refuse_other_kinds(settings)
    if not (folder / WEIGHTS).is_file():
        raise ImportingError(
            f"{folder} has no {WEIGHTS}. A file adapter_model.bin is a pickle, which can run arbitrary code when it is "
            "read: load the adapters with `peft` if you trust their author, and save them again."
        )
    adapter = Adapter.of(Checkpoint([folder / WEIGHTS]), settings, origin=str(folder / WEIGHTS))
    found = base or named_base(settings, folder)
    refuse_own(found, folder)
    opened = open_model(found)
    tensors = WithAdapter(opened.tensors, adapter, opened.layout.prefixes, transposed_in(opened))
    theirs = with_classes(opened.theirs, adapter, class_names(folder))
    both = Opened(opened.folder, theirs, opened.layout, tensors)
    return model_in(both, origin=f"The adapters {folder} on {opened.folder}")


def named_base(settings: Fields, folder: Path) -> Path:
    """The folder of the base model that the adapters name; an error if it is not there."""
    named = settings.get("base_model_name_or_path")
    base = Path(named) if isinstance(named, str) and named else None
    if base is None or not ((base / MODEL).is_file() or (base / OWN).is_file()):
        whose = "do not name their base model" if base is None else f"belong to {printable(str(named))}, not found here"
        raise ImportingError(
            f"{folder} has adapters, which {whose}. Name the folder of that model: "
            f"glassformer import {folder} --base MODEL --out OUT"
        )
    return base


def refuse_own(base: Path, folder: Path) -> None:
    """Names and order of the tensors are those of the Hugging Face folder, which the base must be."""
    if (base / OWN).is_file() and not (base / MODEL).is_file():
        raise ImportingError(
            f"{base} is a folder of glassformer. Give the Hugging Face folder that it came from, or export it first: "
            f"glassformer export {base} --to huggingface --out HF; glassformer import {folder} --base HF --out OUT"
        )


def class_names(folder: Path) -> Mapping[str, str]:
    """The names of the classes, which glassformer writes beside the adapters; empty if they are not known."""
    return fields.mapped(read_json(folder / CLASSES), "id2label", str) if (folder / CLASSES).is_file() else {}


def refuse_other_kinds(settings: Fields) -> None:
    """Adapters of which we would compute something else."""
    if settings.get("peft_type") != "LORA":
        raise fields.wrong(settings, "peft_type", "LORA, the only kind of adapter that can be read")
    fields.must_be(settings, "bias", "none")
    for field, words in OTHER_KINDS.items():
        if settings.get(field):
            raise ImportingError(f"{settings.origin}: {field} is set: {words} cannot be read, plain LoRA can.")
    if (initial := settings.get("init_lora_weights")) not in INITIAL:
        raise ImportingError(
            f"{settings.origin}: init_lora_weights = {fields.shown(initial)}: the training began by changing the base "
            "model, whose weights no longer fit. Let `peft` convert the adapters to plain LoRA (save_pretrained with "
            "path_initial_model_for_weight_conversion)."
        )

    for field, value in settings.items():
        if value and field not in (*READ, *HARMLESS):
            raise ImportingError(
                f"{settings.origin}: {field} = {fields.shown(value)}: this field is not known here and may change the "
                "results. Adapters of plain LoRA can be read."
            )


def transposed_in(opened: Opened) -> frozenset[str]:
    """The matrices that the base model stores as (in, out). The adapters' own fan_in_fan_out is not asked: `peft` goes
    by the layers too, and the flag that it saves is that of the last one."""
    values = opened.layout.to_config(opened.theirs, frozenset(opened.tensors))
    plan = planned(opened.layout, values, opened.tensors, origin=str(opened.folder))
    turned = keys.CHANGES["transposed"]
    lines = keys.matches(plan.lines, plan.counts, prefix=plan.prefix)
    return frozenset(
        name
        for match in lines
        for names in match.theirs
        for name, change in zip(names, match.changes, strict=True)
        if change is turned
    )


@dataclass(frozen=True)
class Adapter:
    """The tensors of an adapter by the names of the base model's modules."""

    pairs: Mapping[str, tuple[Tensor, Tensor, float]]  # module: A, B, scale
    whole: Mapping[str, Tensor]  # tensors that replace those of the base, or are new
    task: str | None

    @classmethod
    def of(cls, tensors: Checkpoint, settings: Fields, *, origin: str) -> Adapter:
        names = {name.removeprefix(BASE).replace(SAVED, ""): name for name in tensors}
        modules = sorted(name.removesuffix(A) for name in names if name.endswith(A))
        raise_all(unreadable(names, tensors), origin=origin)
        pairs = {}
        for module in modules:
            a, b = (tensors[names[module + end]].float() for end in (A, B))
            pairs[module] = a, b, scale_of(module, len(a), settings)
        whole = {name: tensors[place] for name, place in names.items() if not name.endswith((A, B))}
        raise_all([bad for name, place in names.items() for bad in finite(name, tensors[place])], origin=origin)
        known: dict[str | None, str | None] = {one: one for one in TASKS.values()}
        known |= {None: None, "": None, "FEATURE_EXTRACTION": None}
        return cls(pairs, whole, fields.one_of(settings, "task_type", known))


def unreadable(names: Mapping[str, str], tensors: Checkpoint) -> list[str]:
    """What is wrong with the thin matrices: for each, its name and the reason. `names`: ours to those of the file."""
    thin = {name: place for name, place in names.items() if "lora_" in name}
    wrong = []
    for name, place in thin.items():
        end, shape = next((end for end in (A, B) if name.endswith(end)), ""), tensors.shape(place)
        other = name.removesuffix(end) + (B if end == A else A)
        if "lora_embedding" in name:
            wrong.append(f"{name}: adapters of embeddings cannot be read")
        elif not end:
            wrong.append(f"{name}: not a matrix A or B of plain LoRA")
        elif other not in names:
            wrong.append(f"{name} without its {'lora_B' if end == A else 'lora_A'}")
        elif len(shape) != 2 or not all(shape):
            wrong.append(f"{name} is of shape {shape}, not a matrix")
    return wrong


def scale_of(module: str, rank: int, settings: Fields) -> float:
    """alpha / rank, or alpha / sqrt(rank) for rank-stabilised adapters."""
    alpha = fields.number(settings, "lora_alpha")
    patterns = settings.get("alpha_pattern") or {}
    if not isinstance(patterns, dict):
        raise fields.wrong(settings, "alpha_pattern", "an object with names of modules and numbers")
    for pattern in patterns:
        if fits(pattern, module):
            alpha = fields.number(patterns, pattern)
            break
    return alpha / (math.sqrt(rank) if fields.flag(settings, "use_rslora", False) else rank)


def fits(pattern: str, module: str) -> bool:
    """Whether a pattern is the name of a module or of its last parts; it may be a regular expression."""
    try:
        return re.fullmatch(rf"(?:.*\.)?(?:{pattern})", module) is not None
    except re.error:
        return module == pattern or module.endswith(f".{pattern}")


class WithAdapter(Mapping[str, Tensor]):
    """The tensors of the base model with an adapter added; each is computed when it is read."""

    def __init__(self, base: Tensors, adapter: Adapter, prefixes: tuple[str, ...], transposed: frozenset[str]) -> None:
        self.base, self.adapter, self.transposed = base, adapter, transposed
        self.whole = {self.found(name, prefixes) or name: value for name, value in adapter.whole.items()}
        places = {module: self.found(f"{module}.weight", prefixes) for module in adapter.pairs}
        missing = [f"{module}, which the base model does not have" for module, name in places.items() if name is None]
        raise_all(missing, origin="The adapters are for other modules")
        self.modules = {name: module for module, name in places.items() if name is not None}
        raise_all(list(self.misfits()), origin="The adapters do not fit the base model")

    def found(self, name: str, prefixes: tuple[str, ...]) -> str | None:
        """The name in the base model, whose body may have a prefix less or more."""
        bare = {name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)} | {name}
        options = [name, *(prefix + one for one in sorted(bare) for prefix in prefixes)]
        return next((one for one in options if one in self.base), None)

    def misfits(self) -> Iterator[str]:
        for name, module in self.modules.items():
            a, b, _ = self.adapter.pairs[module]
            shape = self.base.shape(name)
            product = (a.shape[1], b.shape[0]) if name in self.transposed else (b.shape[0], a.shape[1])
            if shape != product or a.shape[0] != b.shape[1]:
                yield f"{name} has shape {shape}, the product of its adapters {product}"

    def __getitem__(self, name: str) -> Tensor:
        if name in self.whole:
            return self.whole[name]
        weight = self.base[name]
        if name not in self.modules:
            return weight
        a, b, scale = self.adapter.pairs[self.modules[name]]
        product = scale * (b @ a)
        return weight.float() + (product.mT if name in self.transposed else product)

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self.base), **self.whole})

    def __contains__(self, name: object) -> bool:
        return name in self.whole or name in self.base

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.whole[name].shape) if name in self.whole else self.base.shape(name)

    def holds_weights(self, name: str) -> bool:
        return self.whole[name].is_floating_point() if name in self.whole else self.base.holds_weights(name)


def with_classes(theirs: Fields, adapter: Adapter, names: Mapping[str, str]) -> Fields:
    """config.json of the base model, with the classes of a head that the adapters bring along."""
    ends = ("classifier.weight", "score.weight", "classifier.out_proj.weight")
    heads = [value for name, value in adapter.whole.items() if name.endswith(ends) and value.dim() == 2]
    if not heads:
        return theirs
    count, named = len(heads[-1]), theirs.get("id2label")
    own = dict(theirs)
    if len(names) == count:
        own["id2label"] = dict(names)
    elif not isinstance(named, dict) or len(named) != count:
        own["id2label"] = {str(number): f"LABEL_{number}" for number in range(count)}
    ending = next((end for end, task in TASKS.items() if task == adapter.task and "Class" in end), None)
    if ending is not None:
        first = next(iter(fields.listed(theirs, "architectures", str)), "")
        body = re.sub(r"(For\w+|Model|LMHeadModel)$", "", first)
        own["architectures"] = [f"{body}For{ending}"]
    return Fields(own, origin=theirs.origin)
