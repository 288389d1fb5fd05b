"""Exports any model as a Hugging Face folder: written to a temporary folder, read back, compared, then moved."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from glassformer.errors import RunError
from glassformer.hub.folders import disk_errors_in_words, new_folder, write_json
from glassformer.hub.huggingface import adapters
from glassformer.hub.huggingface.checking import Agreement, checked
from glassformer.hub.huggingface.checkpoint import SHARD_BYTES
from glassformer.hub.huggingface.folders import write_folder
from glassformer.store.bundle import Bundle
from glassformer.store.run import CONFIG, RunFolder
from glassformer.store.weights import weights_of
from glassformer.tasks.loading import load_bundle
from glassformer.tasks.scoring import in_their_scale

COMPARED = "comparison.json"


def export_to_huggingface(bundle: Bundle, out: str | Path, *, shard_bytes: int = SHARD_BYTES) -> list[Agreement]:
    """Writes the folder `out` and returns the comparisons; nothing is written if one fails."""
    bundle.model.cpu().float()
    bundle = in_their_scale(bundle)
    with new_folder(Path(out)) as folder:
        with disk_errors_in_words(Path(out)):
            write_folder(bundle, folder, shard_bytes=shard_bytes)
        found = checked(bundle, folder)
        write_json(folder / COMPARED, [asdict(one) for one in found])
    return found


class ExportedAdapter(NamedTuple):
    """How many matrices the adapters belong to, and the base model if `peft` cannot read its folder."""

    matrices: int
    base_to_export: str | None


def export_adapter(path: str | Path, out: str | Path) -> ExportedAdapter:
    """Writes the adapters of a LoRA run alone, as `peft` reads them.

    They name their base model, unless its folder is one of glassformer, which other programs cannot read.
    """
    run = RunFolder(Path(path))
    if not run.exists:
        raise RunError(f"{path} is not a run. Adapters are exported from a run that was fine-tuned with train.lora.")
    settings = tomllib.loads(run.text(CONFIG).decode()).get("train", {})
    if not settings.get("lora"):
        raise RunError(
            f"{path} has no adapters: it is not a run that was fine-tuned with train.lora. Export the whole model: "
            f"glassformer export {path} --to huggingface --out {out}"
        )
    bundle = load_bundle(run.path)
    base = settings.get("start_from")
    is_ours = base is not None and (Path(base) / CONFIG).is_file()
    settings |= {"start_from": None if is_ours else base}
    content = adapters.peft_files(bundle, with_scale(run.adapter(), bundle), settings)
    with new_folder(Path(out)) as folder, disk_errors_in_words(Path(out)):
        adapters.write_files(folder, content)
    return ExportedAdapter(len(content.config["target_modules"]), base if is_ours else None)


def with_scale(adapter: Mapping[str, Tensor], bundle: Bundle) -> Mapping[str, Tensor]:
    """The adapter of a run; if its scores have a scale, with a head that has the scale inside."""
    scaled = in_their_scale(bundle)
    if scaled is bundle:
        return adapter
    head = {name: weight for name, weight in weights_of(scaled.model).items() if name.startswith("head.linear.")}
    return {**adapter, **head}
