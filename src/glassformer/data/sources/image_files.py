"""Finds labelled images: folders of classes, IDX files, NumPy arrays, and tables of image files.

An image file is opened only when its turn comes. Files that cannot be read are reported by name; they stop nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from glassformer.data.readers.arrays import (
    IMAGE_NAMES,
    LABEL_NAMES,
    Picture,
    as_bytes,
    images_of,
    load_npy,
    load_npz,
    named_array,
)
from glassformer.data.readers.fields import read_fields
from glassformer.data.readers.images import IDX, NPY, from_idx, pictures_of, unpacked
from glassformer.data.readers.naming import expand, kind_of, unpacked_name
from glassformer.data.readers.opening import blocks_of, check_file, shown
from glassformer.data.readers.roles import Roles
from glassformer.errors import DataError

SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".pgm", ".ppm", ".pbm", ".pnm"}
ARRAYS = {".npy", ".npz"}
TABLES = ("csv", "tsv", "jsonl")

Load = Callable[[], Picture]


@dataclass(frozen=True)
class ImageUnit:
    """One image that may be read, and its label. `problem` says why it cannot be used."""

    name: str
    label: str
    load: Load | None
    problem: str = ""


@dataclass(frozen=True)
class ImageFiles:
    """Labelled images and the files that they come from."""

    paths: tuple[Path, ...]  # everything that is read, for fingerprints
    units: Sequence[ImageUnit]
    ignored: tuple[str, ...] = ()  # files in folders that are not images
    empty: tuple[str, ...] = ()  # folders of classes without images


def are_images(names: Sequence[str]) -> bool:
    """Whether files hold images, by their names and first bytes. A table of image files is not recognised."""
    return bool(names) and all(_is_image(Path(name)) for name in names[:4])


def _is_image(path: Path) -> bool:
    if path.is_dir():
        return any(one.suffix.lower() in SUFFIXES for one in path.glob("*/*"))
    if Path(unpacked_name(path)).suffix.lower() in SUFFIXES | ARRAYS:
        return True
    try:
        return next(blocks_of(path, block=1 << 12), b"").startswith(IDX) if path.is_file() else False
    except DataError:
        return False


def image_files(names: Sequence[str], columns: tuple[str, ...] | None = None) -> ImageFiles:
    """The labelled images of these folders, files and patterns, in a fixed order."""
    if not names:
        raise DataError(
            "No images were given. Give a folder with a folder for each class, or IDX, .npz or table files."
        )
    parts: list[ImageFiles] = []
    arrays: list[Path] = []
    for name in names:
        if name and os.path.isdir(name):
            parts.append(_folder(Path(name)))
            continue
        for path in expand([name]):
            check_file(path)
            if kind_of(path) in TABLES and Path(unpacked_name(path)).suffix.lower() not in SUFFIXES | ARRAYS:
                parts.append(_table(path, columns))
            else:
                arrays.append(path)
    parts += _arrays(arrays)
    paths, units = (tuple(one for part in parts for one in getattr(part, what)) for what in ("paths", "units"))
    ignored, empty = (tuple(name for part in parts for name in getattr(part, what)) for what in ("ignored", "empty"))
    return ImageFiles(paths, units, ignored, empty)


# Folders


def _folder(folder: Path) -> ImageFiles:
    """A folder of images for each class; images may lie deeper in it. Hidden files are ignored."""
    classes = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    paths: list[Path] = []
    units: list[ImageUnit] = []
    ignored = [shown(one) for one in sorted(folder.iterdir()) if one.is_file() and not one.name.startswith(".")]
    for own in classes:
        for path in sorted(own.rglob("*")):
            if not path.is_file() or path.name.startswith("."):
                continue
            if path.suffix.lower() in SUFFIXES or path.suffix.lower() == ".npy":
                paths.append(path)
                units.append(ImageUnit(shown(path), own.name, load_one(path)))
            else:
                ignored.append(shown(path))
    if not units:
        raise DataError(
            f"{shown(folder)}: no images found. Put the images of each class into a folder with the name of the class: "
            f"{shown(folder)}/cat/1.png, {shown(folder)}/dog/1.png."
        )
    full = {unit.label for unit in units}
    empty = tuple(shown(one) for one in classes if one.name not in full)
    return ImageFiles(tuple(paths), units, tuple(ignored), empty)


def load_one(path: Path) -> Load:
    """Reads the only image of a file when it is called."""

    def load() -> Picture:
        found = pictures_of(path)
        if len(found) != 1:
            raise DataError(f"{shown(path)}: contains {len(found):,} images, where one was expected.")
        return found[0]

    return load


# Tables


def _table(path: Path, columns: tuple[str, ...] | None) -> ImageFiles:
    """Rows of image file and label; names are relative to the folder of the table."""
    units: list[ImageUnit] = []
    paths = [path]
    for row in read_fields(path, kind_of(path), Roles(columns or table_columns(path), has_label=True)):
        if row.problem is not None:
            if row.problem.kind != "header":
                units.append(ImageUnit(str(row.place), "", None, row.problem.detail or row.problem.kind))
            continue
        *_, name, label = row.texts
        image = path.parent / name.strip()
        if not image.is_file():
            units.append(ImageUnit(shown(image), label, None, f"no such file ({row.place})"))
            continue
        paths.append(image)
        units.append(ImageUnit(shown(image), label.strip(), load_one(image)))
    return ImageFiles(tuple(paths), units)


def table_columns(path: Path, second: str = "label") -> tuple[str, ...]:
    """The columns by their usual names; the first two if there is no such header."""
    head = next(blocks_of(path, block=1 << 16), b"").split(b"\n", 1)[0].decode("utf-8", "replace").lower()
    names = [name.strip(' "{') for part in head.split(",") for name in part.replace("\t", ":").split(":")]
    for first in ("image", "path", "file", "filename", "file_name"):
        if first in names and second in names:
            return first, second
    return ("1", "2") if kind_of(path) != "jsonl" else ("image", second)


# Arrays: images and labels in one .npz, or in two files that follow each other


def _arrays(paths: Sequence[Path]) -> list[ImageFiles]:
    found: list[ImageFiles] = []
    waiting: dict[str, tuple[Path, Any]] = {}
    for path in paths:
        for what, content in _contents(path).items():
            if what in waiting:
                raise DataError(f"{shown(path)}: a second file of {what}. Give images and their labels alternately.")
            waiting[what] = path, content
        if len(waiting) == 2:
            found.append(_paired(waiting))
            waiting = {}
    if waiting:
        ((what, (path, _)),) = waiting.items()
        missing = "labels" if what == "images" else "images"
        raise DataError(f"{shown(path)}: holds {what}, but no file with the {missing} was given. Give both files.")
    return found


def _paired(parts: dict[str, tuple[Path, Any]]) -> ImageFiles:
    (path, images), (label_path, labels) = parts["images"], parts["labels"]
    if len(images) != len(labels):
        raise DataError(
            f"{shown(path)} has {len(images):,} images, but {shown(label_path)} has {len(labels):,} labels. They must "
            "belong together."
        )
    units = [
        ImageUnit(f"{shown(path)}:{i}", label, lambda image=image: image)  # type: ignore[misc]
        for i, (image, label) in enumerate(zip(images, labels, strict=True))
    ]
    return ImageFiles(tuple(dict.fromkeys((path, label_path))), units)


def _contents(path: Path) -> dict[str, Any]:
    """What a file holds: "images", "labels", or both."""
    if path.suffix.lower() == ".npz":  # an archive, which other files are not read from
        return _npz(path)
    content = unpacked(path)
    if content.startswith(NPY):
        array = load_npy(content, path)
        return {"labels": _labels(array, path)} if array.ndim == 1 else {"images": images_of(array, path)}
    if content.startswith(IDX) and content[3] == 1:
        return {"labels": [str(number) for number in content[8:]]}
    if content.startswith(IDX):
        return {"images": from_idx(content, path)}
    raise DataError(
        f"{shown(path)}: not labelled images. Give a folder with a folder for each class, IDX files (images and "
        "labels), .npz or .npy arrays, or a table of image files and labels."
    )


def _npz(path: Path) -> dict[str, Any]:
    arrays = load_npz(path)
    images, labels = named_array(arrays, IMAGE_NAMES), named_array(arrays, LABEL_NAMES)
    if images is None or labels is None:
        names = ", ".join(arrays) or "none"
        raise DataError(f"{shown(path)}: its arrays are {names}; expected `images` and `labels`.")
    return {"images": _stack(images, path), "labels": _labels(labels, path)}


def _stack(array: NDArray[Any], path: Path) -> list[Picture]:
    """Many images (n, height, width) or (n, height, width, channels)."""
    array = array[..., None] if array.ndim == 3 else array
    if array.ndim != 4 or 0 in array.shape:
        raise DataError(f"{shown(path)}: images of shape {array.shape}; expected (n, height, width[, channels]).")
    return list(as_bytes(array, path))


def _labels(array: NDArray[Any], path: Path) -> list[str]:
    if array.ndim != 1 or array.dtype.kind not in "iuUb":
        raise DataError(f"{shown(path)}: labels of type {array.dtype} and shape {array.shape}; expected a list.")
    return [str(label) for label in array.tolist()]
