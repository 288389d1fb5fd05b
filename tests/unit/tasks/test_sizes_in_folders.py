"""Folders of ours whose settings ask for a larger model than is in the file, with a manifest that agrees with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import import_seeds as seeds
from glassformer.errors import RunError
from glassformer.models.registry import build
from glassformer.store import files
from glassformer.store.bundle import Bundle, save_bundle
from glassformer.store.run import CONFIG
from glassformer.store.weights import NoLargerThan
from glassformer.tasks.loading import load_bundle

MADE: dict[str, Callable[[], Bundle]] = {
    "gpt": lambda: seeds.decoder("gpt"),
    "llama": lambda: seeds.decoder("llama"),
    "bert": seeds.encoder,
    "roformer": lambda: seeds.encoder("roformer"),
    "t5": seeds.t5,
    "vit": lambda: Bundle("vit", build("vit", seeds.vit()).eval(), None, seeds.encoder_models.MARKS, {}),
    "captioner": seeds.captioner,
}
LARGER = {"N": 50, "d": 2**16, "d_ff": 2**20, "vocabulary": 2**24, "max_length": 2**24}
ROTARY = ("llama", "roformer")  # their longest text is not a size of a tensor


def change_sealed(folder: Path, field: str, value: int) -> None:
    """Edits config.toml and makes the manifest again, as an attacker would."""
    content = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != files.MANIFEST}
    text, changed = re.subn(rf"(?m)^{field} = \d+$", f"{field} = {value}", content[CONFIG].decode())
    assert changed
    (folder / CONFIG).write_text(text)
    content[CONFIG] = text.encode()
    (folder / files.MANIFEST).write_bytes(files.manifest_of(content, about={}))


@pytest.mark.parametrize("kind", MADE)
def test_a_larger_model_is_refused_before_memory_is_taken(kind: str, tmp_path: Path) -> None:
    save_bundle(MADE[kind](), tmp_path / "sound")
    assert load_bundle(tmp_path / "sound").kind == kind
    written = (tmp_path / "sound" / CONFIG).read_text()
    fields = [field for field in LARGER if re.search(rf"(?m)^{field} = ", written)]
    fields = [field for field in fields if field != "max_length" or kind not in ROTARY]
    assert len(fields) >= 3
    for field in fields:
        folder = tmp_path / field
        save_bundle(MADE[kind](), folder)
        change_sealed(folder, field, LARGER[field])
        with pytest.raises(RunError, match=r"do not fit this model: (its settings need over|.* is missing)"):
            load_bundle(folder)


@pytest.mark.parametrize("make", [lambda: torch.empty(2**20, 2**12), lambda: torch.zeros(size=(2**12, 2**20))])
def test_nothing_is_allocated_beyond_the_weights(make: Callable[[], torch.Tensor]) -> None:
    small = {"a": torch.zeros(3)}
    with NoLargerThan(small, origin="here"):
        nn.Linear(3, 5)
        with pytest.raises(RunError, match=r"^here: .* need over 4,294,967,3\d\d numbers, and the file has 3 in 1 "):
            make()
