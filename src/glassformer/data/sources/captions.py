"""Images with captions: tables of image files, or the drawn scenes that are included."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from glassformer.data.checks.image_findings import ImageFindings
from glassformer.data.readers.arrays import Picture
from glassformer.data.readers.fields import read_fields
from glassformer.data.readers.images import SCENES
from glassformer.data.readers.lines import lines_of
from glassformer.data.readers.naming import expand, kind_of
from glassformer.data.readers.opening import blocks_of, check_file, shown
from glassformer.data.readers.roles import Roles
from glassformer.data.scenes import SIDE, Scene, captions_of, draw, scenes
from glassformer.data.selection import HELD, TRAIN, HoldOut, divided
from glassformer.data.sources.examples import FILES, Examples, Listener, decision_digest
from glassformer.data.sources.image_files import TABLES, ImageFiles, ImageUnit, load_one, table_columns
from glassformer.data.sources.images import (
    LabelledImage,
    Shape,
    files_digest,
    held_images,
    images_digest,
    names_by_hash,
    pixel_facts,
    read_images,
    refuse_unusable,
    shape_of,
)
from glassformer.data.sources.settings import CaptionDataSettings
from glassformer.errors import DataError
from glassformer.printable import counted

BETWEEN = "\n"  # between the captions of an image; a caption is one line
Size = tuple[tuple[int, int], int]  # height and width, channels


class CaptionedImage(NamedTuple):
    """One image as bytes (height, width, channels), its name and its right captions."""

    name: str
    pixels: Picture
    captions: tuple[str, ...]


def read_captioned_images(
    data: CaptionDataSettings, *, model: Size | None, seed: int, listener: Listener
) -> Examples[CaptionedImage]:
    """The training, validation and (for the drawn scenes) test images."""
    if data.files == (SCENES,):
        return drawn(data, seed=seed, listener=listener)
    files = caption_files(data.files, data.columns)
    shape, findings = shape_of(data, files.units, model), ImageFindings()
    found = read_images(files, shape, findings, listener)
    refuse_unusable(findings)
    if data.valid_files:
        held = read_images(caption_files(data.valid_files, data.columns), shape, ImageFindings(), listener)
        known = set(held.hashes)
        pairs = zip(found.examples, found.hashes, strict=True)
        train, valid = [one for one, mark in pairs if mark not in known], held.examples
    else:
        hold_out = HoldOut(seed=seed, share=data.valid_share)
        numbers = array("I", (hold_out.number(mark.hex()) for mark in found.hashes))
        split = divided(array("B", [TRAIN] * len(numbers)), numbers, hold_out)
        chosen = list(zip(found.examples, split.tolist(), strict=True))
        train, valid = ([one for one, part in chosen if part == wanted] for wanted in (TRAIN, HELD))
    if not train or not valid:
        raise DataError(f"{len(train):,} training and {len(valid):,} validation images. Give more images.")
    for line in findings.lines():
        listener.on_stage(line)
    listener.on_stage(
        f"Images: {findings.size_words()}; {counted(len(train), 'training image')}, "
        f"{counted(len(valid), 'validation image')}"
    )
    raw = files_digest(files)
    marks = {
        "train": decision_digest(raw, data.columns, shape.size, shape.channels, images_digest(train)),
        "valid": images_digest(valid),
    }
    facts = {"shape": shape, "pixels": pixel_facts(train), "findings": findings}
    kept = [captioned(one) for one in train]
    return Examples(lambda: iter(kept), len(kept), [captioned(one) for one in valid], {**marks, FILES: raw}, facts)


def captioned(one: LabelledImage) -> CaptionedImage:
    return CaptionedImage(one.name, one.pixels, tuple(one.label.split(BETWEEN)))


# Drawn scenes


def drawn(data: CaptionDataSettings, *, seed: int, listener: Listener) -> Examples[CaptionedImage]:
    """The drawn scenes: validation and test have combinations that training does not have."""
    size = data.image or (SIDE, SIDE)
    if size[0] != size[1]:
        raise DataError(f"data.image = {size}: drawn scenes are square. Give one number.")
    made = scenes(data.scenes, seed=seed)
    listener.on_stage(f"Drawing {data.scenes:,} scenes")
    train, valid, test = (list(examples_of(part, size[0], name)) for name, part in vars(made).items())
    listener.on_stage(
        f"{len(train):,} training scenes; {len(valid):,} validation and {len(test):,} test scenes with combinations of "
        "count, colour, shape and place that training does not have"
    )
    listener.on_stage(f"The first caption: {train[0].captions[0]}")
    first = [LabelledImage(one.name, one.pixels, BETWEEN.join(one.captions)) for one in train[:2000]]
    facts = {"shape": Shape((size[0], size[0]), 3), "pixels": pixel_facts(first), "test": test}
    mark = decision_digest(SCENES, data.scenes, seed, size, version_of_drawing())
    return Examples(lambda: iter(train), len(train), valid, {"train": mark, "valid": f"{mark} valid"}, facts)


def examples_of(part: Sequence[Scene], side: int, name: str) -> Iterator[CaptionedImage]:
    for number, (scene, pixels) in enumerate(zip(part, draw(part, side), strict=True)):
        yield CaptionedImage(f"{SCENES}:{name}:{number}", pixels, captions_of(scene))


def version_of_drawing() -> str:
    """Changes when scenes are drawn differently."""
    few = scenes(16, held=1, seed=0).train
    return hashlib.sha256(draw(few).tobytes() + repr([captions_of(one) for one in few]).encode()).hexdigest()


# Tables


def caption_files(names: Sequence[str], columns: tuple[str, ...] | None) -> ImageFiles:
    """The images of tables, each with its captions."""
    if not names or SCENES in names:
        raise DataError(f"Give `{SCENES}` alone, or tables of image file and caption (.tsv, .csv, .jsonl).")
    known: dict[Path, list[str]] = {}
    problems: list[ImageUnit] = []
    tables = expand(names)
    for table in tables:
        check_file(table)
        if kind_of(table) not in TABLES:
            raise DataError(f"{shown(table)}: not a table. Give .tsv, .csv or .jsonl files of image file and caption.")
        for image, captions, problem in _rows(table, columns):
            if problem:
                problems.append(ImageUnit(str(image), "", None, problem))
            else:
                known.setdefault(image, []).extend(captions)
    units = [ImageUnit(shown(path), BETWEEN.join(dict.fromkeys(own)), load_one(path)) for path, own in known.items()]
    return ImageFiles((*tables, *(path for path in known if path.is_file())), [*units, *problems])


def _rows(table: Path, columns: tuple[str, ...] | None) -> Iterator[tuple[Path, list[str], str]]:
    """Image file, captions, and a problem if the row cannot be used."""
    rows = _objects(table, columns) if kind_of(table) == "jsonl" else _cells(table, columns)
    for place, name, captions, problem in rows:
        image, kept = table.parent / name, [" ".join(one.split()) for one in captions if one.strip()]
        if problem or not name:
            yield Path(place), [], problem or "no image file"
        elif not kept:
            yield image, [], f"no caption ({place})"
        elif not image.is_file():
            yield image, [], f"no such file ({place})"
        else:
            yield image, kept, ""


Row = tuple[str, str, list[str], str]  # place, image file, captions, problem


def _cells(table: Path, columns: tuple[str, ...] | None) -> Iterator[Row]:
    for row in read_fields(table, kind_of(table), Roles(columns or table_columns(table, "caption"), has_label=True)):
        if row.problem is None:
            yield str(row.place), row.texts[0].strip(), [row.texts[-1]], ""
        elif row.problem.kind != "header":
            yield str(row.place), "", [], row.problem.detail or row.problem.kind


def _objects(table: Path, columns: tuple[str, ...] | None) -> Iterator[Row]:
    image_key, caption_key = columns or ("image", "caption")
    for number, (line, _, _) in enumerate(lines_of(blocks_of(table), table), start=1):
        place = f"{shown(table)}, line {number:,}"
        if not line.strip():
            continue
        found: object = None
        with suppress(ValueError, RecursionError):
            found = json.loads(line)
        values = found if isinstance(found, dict) else {}
        captions = values.get(caption_key, values.get(f"{caption_key}s"))
        captions = [captions] if isinstance(captions, str) else captions
        image = values.get(image_key, values.get("path"))
        good = isinstance(image, str) and isinstance(captions, list) and all(isinstance(one, str) for one in captions)
        if good:
            yield place, str(image), list(captions), ""  # type: ignore[arg-type]
        else:
            yield place, "", [], f'not a JSON object with "{image_key}" and "{caption_key}"'


def read_held_captions(
    files: Sequence[str], data: CaptionDataSettings, channels: int, seed: int, listener: Listener
) -> list[CaptionedImage]:
    """Images to evaluate a trained model on; `scenes` are the drawn test scenes."""
    assert data.image is not None  # decided before training
    if tuple(files) == (SCENES,):
        return list(examples_of(scenes(0, seed=seed).test, data.image[0], "test"))
    findings = ImageFindings()
    found = read_images(caption_files(files, data.columns), Shape(data.image, channels), findings, listener)
    refuse_unusable(findings)
    return [captioned(one) for one in found.examples]


def examine_captions(
    files: Sequence[str], *, columns: tuple[str, ...] | None, held: Mapping[str, Sequence[str]], listener: Listener
) -> ImageFindings:
    """Everything that can be said about captioned images before training."""
    if tuple(files) == (SCENES,):
        raise DataError(
            f"`{SCENES}` are drawn when they are needed: there is nothing to examine. Train with --data scenes."
        )
    read, findings = caption_files(files, columns), ImageFindings()
    shape = shape_of(CaptionDataSettings(), read.units, None)
    found = read_images(read, shape, findings, listener)
    learned = names_by_hash(found)
    for name, names in held.items():
        if names:
            other = read_images(caption_files(names, columns), shape, ImageFindings(), listener)
            findings.held.append(held_images(name, other, learned))
    lengths = [len(caption.split()) for one in found.examples for caption in one.label.split(BETWEEN)]
    findings.captions = {"captions": len(lengths), "words": int(np.sum(lengths)), "longest": max(lengths, default=0)}
    findings.labels.clear()
    return findings
