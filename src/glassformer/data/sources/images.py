"""Labelled images for training: read once, checked, resized to one size, and split.

All images are kept in memory as bytes of the size that the model reads.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.data.checks.image_findings import HeldImages, ImageFindings
from glassformer.data.checks.label_findings import label_order, note_missing
from glassformer.data.images import fitted, on_white
from glassformer.data.readers.arrays import Picture
from glassformer.data.readers.inputs import Input, fingerprint
from glassformer.data.selection import HELD, LEFT_OUT, NO_NUMBER, TRAIN, HoldOut, divided_by_class
from glassformer.data.sources.examples import FILES, Examples, Listener, changed_since, decision_digest
from glassformer.data.sources.image_files import ImageFiles, ImageUnit, image_files
from glassformer.data.sources.settings import ImageClassDataSettings, ImageSettings
from glassformer.errors import DataError
from glassformer.printable import counted

LOOKED_AT = 200  # images that decide the size, if none is set
USUAL_SIDE = 64  # pixels, for images of several sizes or of larger ones
MOST_LABELS = 1000
MOST_BYTES = 8 << 30  # of all images, after resizing
DARK = 32  # of 256 levels; an image without a brighter pixel is nearly black
MOST_UNREADABLE = 0.5  # share; above, the files are probably no images


class LabelledImage(NamedTuple):
    """One image as bytes (height, width, channels), its name and its label."""

    name: str
    pixels: Picture
    label: str


@dataclass(frozen=True)
class Shape:
    """What all images are made into."""

    size: tuple[int, int]
    channels: int


def shape_of(data: ImageSettings, units: Sequence[ImageUnit], model: tuple[tuple[int, int], int] | None) -> Shape:
    """The size and channels: as set, as the model to start from reads them, or as the first images have them."""
    if model is not None:
        return Shape(data.image or model[0], model[1])
    reasons: list[DataError] = []
    seen = list(first_pictures(units, reasons))
    if not seen:
        why = f" The first one: {reasons[0]}" if reasons else ""
        raise DataError(f"None of the images can be read.{why}")
    sizes = {picture.shape[:2] for picture in seen}
    own = next(iter(sizes)) if len(sizes) == 1 and max(map(max, sizes)) <= USUAL_SIDE else (USUAL_SIDE, USUAL_SIDE)
    return Shape(data.image or (int(own[0]), int(own[1])), 1 if all(is_grey(picture) for picture in seen) else 3)


def first_pictures(units: Sequence[ImageUnit], reasons: list[DataError]) -> Iterator[Picture]:
    """Some images, evenly taken from all; `reasons` gets why others of them cannot be read."""
    for i in range(0, len(units), max(1, len(units) // LOOKED_AT)):
        load = units[i].load
        try:
            if load is not None:
                yield load()
        except DataError as error:
            reasons.append(error)


def is_grey(picture: Picture) -> bool:
    colours = on_white(picture)
    return picture.shape[2] == 1 or bool((colours == colours[:, :, :1]).all())


@dataclass(frozen=True)
class ReadImages:
    """Images that were read, in order: name, pixels, label and a hash of the pixels of each."""

    examples: list[LabelledImage]
    hashes: list[bytes]


def read_images(
    files: ImageFiles, shape: Shape, findings: ImageFindings, listener: Listener, *, labels: bool = True
) -> ReadImages:
    """All usable images of the files, resized; the findings count everything else."""
    examples: list[LabelledImage] = []
    hashes: list[bytes] = []
    seen: dict[bytes, str] = {}
    size = shape.size[0] * shape.size[1] * shape.channels
    findings.ignored += files.ignored
    findings.empty += files.empty
    for done, unit in enumerate(files.units, start=1):
        findings.units += 1
        one = read_one(unit, shape, findings, needs_label=labels)
        if one is not None:
            example, mark = one
            note_repeated(example, mark, seen, findings)
            examples.append(example)
            hashes.append(mark)
        if done % 500 == 0 or done == len(files.units):
            listener.on_count(done, len(files.units))
        if len(examples) * size > MOST_BYTES:
            raise DataError(
                f"More than {MOST_BYTES >> 30} GB of pixels. Set a smaller data.image, or give fewer images."
            )
    return ReadImages(examples, hashes)


def read_one(
    unit: ImageUnit, shape: Shape, findings: ImageFindings, *, needs_label: bool
) -> tuple[LabelledImage, bytes] | None:
    """An image with the hash of its own pixels; None if it cannot be used."""
    if unit.load is None:
        findings.add("unreadable", f"{unit.name}: {unit.problem}")
        return None
    if needs_label and not unit.label:
        findings.add("no label", unit.name)
        return None
    try:
        picture = unit.load()
        pixels = fitted(picture, shape.size, shape.channels)
    except DataError as error:
        text = str(error)
        findings.add("unreadable", text if unit.name in text else f"{unit.name}: {text}")
        return None
    height, width, channels = picture.shape
    findings.sizes[height, width] += 1
    findings.channels[channels] += 1
    if picture.min() == picture.max():
        findings.add("constant", unit.name)
    elif (highest := int(on_white(picture).max())) < DARK:
        findings.add("dark", f"{unit.name}: {highest + 1} of 256 levels")
    mark = hashlib.blake2b(picture.tobytes(), digest_size=16, person=f"{height}x{width}".encode()[:16])
    return LabelledImage(unit.name, pixels, unit.label), mark.digest()


def note_repeated(example: LabelledImage, mark: bytes, seen: dict[bytes, str], findings: ImageFindings) -> None:
    if mark in seen:
        findings.add("duplicate" if seen[mark] == example.label else "conflict", example.name)
    seen.setdefault(mark, example.label)
    findings.labels[example.label] += 1
    findings.used += 1


def read_labelled_images(
    data: ImageClassDataSettings,
    *,
    model: tuple[tuple[int, int], int] | None,
    seed: int,
    listener: Listener,
) -> Examples[LabelledImage]:
    """The training and validation images; `model` is the size and channels of a model to start from."""
    files = image_files(data.files, data.columns)
    shape, findings = shape_of(data, files.units, model), ImageFindings()
    given = image_files(data.valid_files, data.columns) if data.valid_files else None
    held = read_images(given, shape, ImageFindings(), listener) if given is not None else None
    found = read_images(files, shape, findings, listener)
    refuse_unusable(findings)
    parts = split(found, held, findings, HoldOut(seed=seed, share=data.valid_share) if held is None else None)
    train = [one for one, part in zip(found.examples, parts.tolist(), strict=True) if part == TRAIN]
    counts = Counter(one.label for one in train)
    valid = [one for one, part in zip(found.examples, parts.tolist(), strict=True) if part == HELD]
    if held is not None:
        valid = [one for one in held.examples if one.label in counts]
        if len(valid) < len(held.examples):
            listener.on_stage(f"Left out {len(held.examples) - len(valid):,} validation images with other labels")
    refuse_too_few(counts, valid)
    note_missing(findings.missing, "valid", label_order(counts), (one.label for one in valid))
    report(findings, shape, listener)
    listener.on_stage(f"{counted(len(train), 'training image')}, {counted(len(valid), 'validation image')}")
    raw = files_digest(files)
    marks = {
        "train": decision_digest(raw, data.columns, shape.size, shape.channels, parts=parts.tobytes()),
        "valid": images_digest(valid),
        FILES: raw,
    }
    labels = tuple(label_order(counts))
    facts = {"findings": findings, "labels": labels, "shape": shape, "pixels": pixel_facts(train)}
    return Examples(lambda: iter(train), len(train), valid, marks, facts)


def split(
    found: ReadImages, held: ReadImages | None, findings: ImageFindings, hold_out: HoldOut | None
) -> NDArray[np.uint8]:
    """The part of each image: equal images stay in one part; none that is held out is learned."""
    known = set(held.hashes) if held is not None else set()
    used, numbers, classes = array("B"), array("I"), array("H")
    order = {label: i for i, label in enumerate(label_order(findings.labels))}
    for example, mark in zip(found.examples, found.hashes, strict=True):
        overlaps = mark in known
        if overlaps:
            findings.add("overlap", example.name)
            findings.labels[example.label] -= 1
            findings.used -= 1
        used.append(LEFT_OUT if overlaps else TRAIN)
        numbers.append(NO_NUMBER if overlaps or hold_out is None else hold_out.number(mark.hex()))
        classes.append(order[example.label])
    return divided_by_class(used, numbers, classes, hold_out)


def read_held_images(
    files: Sequence[str], data: ImageClassDataSettings, channels: int, listener: Listener
) -> list[LabelledImage]:
    """Images to evaluate a trained model on."""
    assert data.image is not None  # decided before training
    findings = ImageFindings()
    found = read_images(image_files(files, data.columns), Shape(data.image, channels), findings, listener)
    refuse_unusable(findings)
    for line in findings.lines():
        listener.on_stage(line)
    return found.examples


def examine_images(
    files: Sequence[str], *, columns: tuple[str, ...] | None, held: Mapping[str, Sequence[str]], listener: Listener
) -> ImageFindings:
    """Everything that can be said about labelled images before training."""
    read, findings = image_files(files, columns), ImageFindings()
    shape = shape_of(ImageClassDataSettings(), read.units, None)
    found = read_images(read, shape, findings, listener)
    learned = names_by_hash(found)
    for name, names in held.items():
        if names:
            other = read_images(image_files(names, columns), shape, ImageFindings(), listener)
            findings.held.append(held_images(name, other, learned))
            note_missing(findings.missing, name, findings.balance(), (one.label for one in other.examples))
    if not held.get("valid") and found.examples:
        parts = split(found, None, findings, HoldOut(seed=1)).tolist()
        chosen = (one.label for one, part in zip(found.examples, parts, strict=True) if part == HELD)
        note_missing(findings.missing, "valid", findings.balance(), chosen)
    return findings


def names_by_hash(found: ReadImages) -> dict[bytes, str]:
    """The name of the first image with each hash."""
    return {mark: one.name for one, mark in reversed(list(zip(found.examples, found.hashes, strict=True)))}


def held_images(name: str, found: ReadImages, learned: Mapping[bytes, str]) -> HeldImages:
    """Which images of a held-out part are also in the training data."""
    return HeldImages.of(name, zip((one.name for one in found.examples), found.hashes, strict=True), learned)


def files_changed(data: ImageClassDataSettings, begun: Mapping[str, str]) -> bool:
    """Whether the files to learn from are other ones than those with these fingerprints; False if they are gone."""
    return changed_since(begun, lambda: files_digest(image_files(data.files, data.columns)))


def files_digest(files: ImageFiles) -> str:
    """sha256 of the bytes of all files and of the labels, which may be the names of folders."""
    content = fingerprint([Input((path,), "image") for path in files.paths])
    return hashlib.sha256(json.dumps([content, *(unit.label for unit in files.units)]).encode()).hexdigest()


def pixel_facts(train: Sequence[LabelledImage]) -> dict[str, tuple[float, ...]]:
    """Mean and standard deviation of each channel, where 1 is white."""
    sums, squares, count = 0.0, 0.0, 0
    for start in range(0, len(train), 1000):
        part = np.stack([one.pixels for one in train[start : start + 1000]]).astype(np.float64) / 255
        sums = sums + part.sum(axis=(0, 1, 2))
        squares = squares + (part**2).sum(axis=(0, 1, 2))
        count += part[..., 0].size
    mean = np.atleast_1d(sums / count)
    std = np.sqrt(np.maximum(squares / count - mean**2, 1e-4))
    return {"mean": tuple(np.round(mean, 6).tolist()), "std": tuple(np.round(std, 6).tolist())}


def images_digest(examples: Sequence[LabelledImage]) -> str:
    digest = hashlib.sha256()
    for one in examples:
        digest.update(f"{one.pixels.shape} {len(one.label)} {one.label}".encode())
        digest.update(one.pixels.tobytes())
    return digest.hexdigest()


def refuse_unusable(findings: ImageFindings) -> None:
    bad = findings.counts["unreadable"]
    if bad > MOST_UNREADABLE * findings.units or not findings.used:
        first = findings.examples.get("unreadable") or findings.examples.get("no label") or ["no image was found"]
        raise DataError(
            f"{findings.units - findings.used:,} of {counted(findings.units, 'image')} cannot be used: {first[0]}"
        )


def refuse_too_few(counts: Mapping[str, int], valid: Sequence[LabelledImage]) -> None:
    if len(counts) < 2:
        only = next(iter(counts), "none")
        raise DataError(f"All training images have the same label ({only}). A classifier needs two or more classes.")
    if len(counts) > MOST_LABELS:
        raise DataError(f"{len(counts):,} labels; at most {MOST_LABELS:,} are possible. Is it the right column?")
    if not valid:
        raise DataError("There are no validation images. Give more images, or others with --valid.")


def report(findings: ImageFindings, shape: Shape, listener: Listener) -> None:
    balance = ", ".join(f"{label!r} {count:,}" for label, count in list(findings.balance().items())[:12])
    more = ", ..." if len(findings.labels) > 12 else ""
    listener.on_stage(
        f"{counted(findings.used, 'image')} with {counted(len(findings.labels), 'label')}: {balance}{more}"
    )
    height, width = shape.size
    same = set(findings.sizes) == {shape.size}
    resized = "" if same else f", resized to {height} x {width}"
    colours = "grey" if shape.channels == 1 else f"{shape.channels} channels"
    listener.on_stage(f"Images: {findings.size_words()}{resized}, {colours}")
    for line in findings.lines():
        listener.on_stage(line)
