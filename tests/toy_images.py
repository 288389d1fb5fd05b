"""Tiny images to train on: bright bars that lie or rise, on a dark ground with noise."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE = 8
NAMES = ("lying", "rising")
MODEL = {"N": 1, "d": 16, "h": 2, "d_ff": 32, "dropout": 0.1, "patch": 4}
TRAIN = {"threads": 1, "device": "cpu", "optimiser": "muon", "lr": 1e-2, "batch_tokens": 150}


def bars(count: int, *, seed: int = 1) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, 8, 8, 1), and their class."""
    random = np.random.default_rng(seed)
    classes, places = random.integers(0, 2, count), random.integers(1, SIDE - 1, count)
    images = random.integers(0, 30, (count, SIDE, SIDE, 1)).astype(np.uint8)
    for image, own, place in zip(images, classes, places, strict=True):
        rows = image if own == 0 else image.swapaxes(0, 1)
        rows[place - 1 : place + 1] = 200 + random.integers(0, 50)
    return images, classes


def write_idx(
    folder: Path, *, count: int = 120, seed: int = 1, name: str = "train", shuffled: bool = False
) -> list[str]:
    """Two compressed IDX files, as MNIST has them: images and labels."""
    images, classes = bars(count, seed=seed)
    classes = np.random.default_rng(9).permutation(classes) if shuffled else classes
    head = b"\x00\x00\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (count, SIDE, SIDE))
    (folder / f"{name}-images.gz").write_bytes(gzip.compress(head + images.tobytes()))
    labels = b"\x00\x00\x08\x01" + count.to_bytes(4, "big") + classes.astype(np.uint8).tobytes()
    (folder / f"{name}-labels.gz").write_bytes(gzip.compress(labels))
    return [str(folder / f"{name}-images.gz"), str(folder / f"{name}-labels.gz")]


def pgm(image: NDArray[np.uint8]) -> bytes:
    height, width, _ = image.shape
    return f"P5 {width} {height} 255\n".encode() + image.tobytes()


def write_folder(folder: Path, *, count: int = 40, seed: int = 1) -> Path:
    """A folder of PGM files for each class."""
    images, classes = bars(count, seed=seed)
    for number, (image, own) in enumerate(zip(images, classes, strict=True)):
        place = folder / NAMES[own]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.pgm").write_bytes(pgm(image))
    return folder


def write_captions(folder: Path, *, count: int = 100, seed: int = 1) -> Path:
    """A table of PGM files and captions; every third image has two captions."""
    images, classes = bars(count, seed=seed)
    rows = ["image\tcaption"]
    for number, (image, own) in enumerate(zip(images, classes, strict=True)):
        (folder / f"{number}.pgm").write_bytes(pgm(image))
        rows.append(f"{number}.pgm\ta {NAMES[own]} bar")
        if number % 3 == 0:
            rows.append(f"{number}.pgm\tthe bar is {NAMES[own]}")
    table = folder / "captions.tsv"
    table.write_text("\n".join(rows) + "\n")
    return table


def class_sections(train: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"model": MODEL, "train": {**TRAIN, **(train or {})}}


def caption_sections(train: dict[str, Any] | None = None) -> dict[str, Any]:
    shape = {name: MODEL[name] for name in ("N", "d", "h", "d_ff")}
    model = {**shape, "dropout": 0.1, "encoder": {**MODEL, "size": "nano"}}
    return {"text": {"kind": "word", "vocab_size": 40}, "model": model, "train": {**TRAIN, **(train or {})}}
