"""A token cache that was damaged between two trainings changes no weight, and the user is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer import train_translator
from glassformer.data.token_cache import cache_folder
from glassformer.training.watching import Silent
from toy_corpus import Toy


class Listening(Silent):
    def __init__(self) -> None:
        self.stages: list[str] = []

    def on_stage(self, text: str) -> None:
        self.stages.append(text)


@pytest.mark.parametrize("at", [-1, -400], ids=["lengths", "ids"])
def test_the_weights_are_the_same_after_damage(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "cache"))
    train_translator(toy.recipe(), tmp_path / "first")
    (shard,) = cache_folder().glob("*/shard-*")
    content = bytearray(shard.read_bytes())
    content[at] ^= 4
    shard.write_bytes(content)
    watcher = Listening()
    train_translator(toy.recipe(), tmp_path / "second", watcher=watcher)
    weights = [(tmp_path / run / "model.safetensors").read_bytes() for run in ("first", "second")]
    assert weights[0] == weights[1]
    assert sum("damaged" in stage for stage in watcher.stages) == 1
