"""Captioned images: the fingerprint of what is learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glassformer.data.sources.captions import CaptionedImage, read_captioned_images
from glassformer.data.sources.examples import Examples
from glassformer.data.sources.settings import CaptionDataSettings
from glassformer.training.watching import Silent
from toy_images import write_captions


def read(table: Path, **settings: Any) -> Examples[CaptionedImage]:
    data = CaptionDataSettings.model_validate({"files": str(table), **settings})
    return read_captioned_images(data, model=None, seed=1, listener=Silent())


def test_other_held_out_images_leave_other_images_to_learn(tmp_path: Path) -> None:
    table, prints = write_captions(tmp_path, count=30), set()
    for number in range(2):
        held = tmp_path / f"held{number}.tsv"
        names = range(10 * number, 10 * number + 10)
        held.write_text("image\tcaption\n" + "".join(f"{name}.pgm\ta bar\n" for name in names))
        found = read(table, valid=str(held))
        assert found.count == 20
        prints.add(found.fingerprints["train"])
    assert len(prints) == 2


def test_another_column_is_another_caption(tmp_path: Path) -> None:
    write_captions(tmp_path, count=20)
    table = tmp_path / "both.tsv"
    table.write_text("image\tshort\tlong\n" + "".join(f"{i}.pgm\tbar {i}\ta bar {i}\n" for i in range(20)))
    short, long = (read(table, columns=["image", name], valid="20%") for name in ("short", "long"))
    assert short.fingerprints["train"] != long.fingerprints["train"]
