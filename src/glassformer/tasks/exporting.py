"""Any model to a Hugging Face folder: written beside its place, read back, compared, and only then put there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from glassformer.hub.folders import new_folder, told_in_words, write_json
from glassformer.hub.huggingface.checking import Agreement, checked
from glassformer.hub.huggingface.checkpoint import SHARD_BYTES
from glassformer.hub.huggingface.folders import write_folder
from glassformer.hub.huggingface.pretrained import Pretrained

COMPARED = "comparison.json"


def export_to_huggingface(
    pretrained: Pretrained, out: str | Path, *, shard_bytes: int = SHARD_BYTES
) -> list[Agreement]:
    """Writes the folder `out` and gives the comparisons; nothing is written where one fails."""
    pretrained.model.cpu().float()
    with new_folder(Path(out)) as folder:
        with told_in_words(Path(out)):
            write_folder(pretrained, folder, shard_bytes=shard_bytes)
        found = checked(pretrained, folder)
        write_json(folder / COMPARED, [asdict(one) for one in found])
    return found
