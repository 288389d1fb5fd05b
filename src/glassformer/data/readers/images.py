"""Images from files, as arrays of bytes (height, width, channels).

NumPy's .npy and .npz (`arrays.py`), the PNM family (.pbm, .pgm, .ppm) and IDX (MNIST) are read without other libraries,
also compressed. Pillow reads all others, if it is installed. Some files contain many images: `digits.idx:7` is one of
them, `digits.idx:0-99` the first hundred.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.data.readers.arrays import MOST_BYTES, Picture, images_of, load_npy, npz_images
from glassformer.data.readers.opening import blocks_of, check_file, shown
from glassformer.errors import DataError
from glassformer.printable import counted

NPY, IDX = b"\x93NUMPY", b"\x00\x00\x08"
PNM = re.compile(rb"P[1-6]\s")
PNM_NUMBER = rb"(?:\s|#[^\n]*\n)+(\d+)"  # after any comments
CHOICE = re.compile(r"(?P<file>.+):(?P<first>\d+)(?:-(?P<last>\d+))?")
SCENES = "scenes"  # drawn ones, of the test part
SCENE = re.compile(rf"{SCENES}:(?P<first>\d{{1,4}})(?:-(?P<last>\d{{1,4}}))?")
MOST_PIXELS = 100_000_000  # of one image
DEEP = ("I;16", "I", "F")  # Pillow's modes for grey values of more than 8 bits
KEPT_MODES = {"1": "L", "L": "L", "LA": "RGBA", "RGBA": "RGBA", "PA": "RGBA"}  # all others become RGB


@dataclass(frozen=True)
class NamedPicture:
    """An image and its name."""

    name: str
    pixels: Picture


def read_pictures(name: str) -> Iterator[NamedPicture]:
    """The images of a file, or those that the name selects."""
    if (name == SCENES or name.startswith(f"{SCENES}:")) and not Path(name).exists():
        yield from scenes_named(name)
        return
    path, chosen = Path(name), None
    if not path.exists() and (match := CHOICE.fullmatch(name)):
        first, last = int(match["first"]), int(match["last"] or match["first"])
        path, chosen = Path(match["file"]), range(first, last + 1)
        refuse_reversed(name, first, last)
    found = pictures_of(path)
    if chosen is not None and chosen.stop > len(found):
        raise DataError(f"{name}: {shown(path)} has {counted(len(found), 'image')}, numbered from 0.")
    if len(found) == 1:
        yield NamedPicture(shown(path), found[0])
        return
    for number in range(len(found)) if chosen is None else chosen:
        yield NamedPicture(f"{shown(path)}:{number}", found[number])


def refuse_reversed(name: str, first: int, last: int) -> None:
    if last < first:
        raise DataError(f"{name}: {first}-{last} is in reverse order. Write {last}-{first}.")


def scenes_named(name: str) -> Iterator[NamedPicture]:
    """Drawn test scenes: `scenes:7` or `scenes:0-9`."""
    drawn = SCENE.fullmatch(name)
    if drawn is None:
        raise DataError(f"{name}: no such file. Drawn scenes are {SCENES}:7 or {SCENES}:0-9, with numbers up to 9999.")
    first, last = int(drawn["first"]), int(drawn["last"] or drawn["first"])
    refuse_reversed(name, first, last)
    yield from scenes_of(first, last)


def scenes_of(first: int, last: int) -> Iterator[NamedPicture]:
    """Drawn test scenes by their numbers."""
    from glassformer.data.scenes import draw, scenes

    made = scenes(0, held=last + 1).test[first:]
    for number, pixels in enumerate(draw(made), start=first):
        yield NamedPicture(f"scenes:{number}", pixels)


def pictures_of(path: Path) -> list[Picture]:
    """All images of a file."""
    check_file(path)
    with path.open("rb") as file:
        head = file.read(16)
    if foreign(head):
        return [by_pillow(path)]
    if path.suffix.lower() == ".npz":  # an archive, which other files are not read from
        return npz_images(path)
    content = unpacked(path)
    if content.startswith(NPY):
        return images_of(load_npy(content, path), path)
    if content.startswith(IDX):
        return from_idx(content, path)
    if PNM.match(content):
        return [from_pnm(content, path)]
    if is_text(content):
        raise DataError(f"{shown(path)}: text, not an image. Give an image file; texts need a model that reads texts.")
    return [by_pillow(path)]


def unpacked(path: Path) -> bytes:
    """The whole content of a file; an error if it is far too large."""
    blocks, size = list[bytes](), 0
    for block in blocks_of(path):
        blocks.append(block)
        size += len(block)
        if size > MOST_BYTES:
            raise DataError(
                f"{shown(path)}: more than {MOST_BYTES >> 30} GB when unpacked. Split it into several files."
            )
    return b"".join(blocks)


def is_text(content: bytes) -> bool:
    """Whether a file is plain text, which no library reads as an image. XPM and XBM images are C code, so not text."""
    if not content or b"\0" in content or content.lstrip().startswith((b"/* XPM", b"#define")):
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def foreign(head: bytes) -> bool:
    """Whether only Pillow can read the file: JPEG, PNG, GIF, WebP, BMP, TIFF."""
    return head.startswith((b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"RIFF", b"BM", b"II*\x00", b"MM\x00*"))


# IDX: two zeros, the type (8: bytes), the number of axes; the size of each axis in four bytes, big-endian; the data.


def from_idx(content: bytes, path: Path) -> list[Picture]:
    axes = content[3]
    if axes not in (3, 4) or len(content) < 4 + 4 * axes:
        what = "labels, not images" if axes == 1 else f"an array of {axes} axes"
        raise DataError(f"{shown(path)}: an IDX file with {what}. Images have 3 axes: number, height, width.")
    shape = [int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(axes)]
    pixels = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * axes)
    if len(pixels) != math.prod(shape) or 0 in shape:
        raise DataError(
            f"{shown(path)}: {len(pixels):,} pixels, but its header says {math.prod(shape):,}. Get the file again."
        )
    return list(pixels.reshape(shape) if axes == 4 else pixels.reshape(*shape, 1))


# PNM: P1 to P3 are ASCII digits, P4 to P6 are bytes; each: bitmaps (1 is black), grey, colour.


def from_pnm(content: bytes, path: Path) -> Picture:
    kind = content[1] - ord("0")
    bitmap, channels = kind in (1, 4), 3 if kind in (3, 6) else 1
    match = re.match(rb"P\d" + PNM_NUMBER * (2 if bitmap else 3) + rb"(?:\s|$)", content)
    numbers = [] if match is None else [int(number) for number in match.groups()]
    if match is None or 0 in numbers or numbers[-1] >= 1 << 16:
        raise DataError(f"{shown(path)}: begins like a PNM image, but width, height and largest value do not follow.")
    width, height, largest = *numbers[:2], 1 if bitmap else numbers[2]
    data, count = content[match.end() :], width * height * channels
    values = pnm_digits(data, bitmap=bitmap) if kind < 4 else pnm_bytes(data, width, height, channels, largest, bitmap)
    if len(values) < count or values[:count].max(initial=0) > largest:
        good = f"{min(len(values), count):,} valid pixels of {count:,}"
        raise DataError(f"{shown(path)}: {good}. The file is incomplete; get it again.")
    scaled = np.rint(values[:count] * (255 / largest)).astype(np.uint8)
    return (255 - scaled if bitmap else scaled).reshape(height, width, channels)


def pnm_digits(data: bytes, *, bitmap: bool) -> NDArray[np.int64]:
    plain = re.sub(rb"#[^\n]*", b"", data)
    words = re.findall(rb"[01]" if bitmap else rb"\d+", plain)
    return np.array([int(word) for word in words], dtype=np.int64)


def pnm_bytes(data: bytes, width: int, height: int, channels: int, largest: int, bitmap: bool) -> NDArray[np.int64]:
    if bitmap:  # eight pixels per byte; every row begins a new byte
        row = (width + 7) // 8
        whole = np.frombuffer(data[: len(data) // row * row], dtype=np.uint8).reshape(-1, row)
        return np.unpackbits(whole, axis=1)[:height, :width].ravel().astype(np.int64)
    size = 1 if largest < 256 else 2
    wanted = width * height * channels * size
    return np.frombuffer(data[: min(len(data) // size * size, wanted)], dtype=f">u{size}").astype(np.int64)


# Everything else


def by_pillow(path: Path) -> Picture:
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise DataError(
            f"{shown(path)}: reading this kind of file needs Pillow: pip install 'glassformer[images]'. Without it, "
            ".npy, .npz, .pgm, .ppm and IDX files can be read."
        ) from None
    try:
        with Image.open(path) as image:
            if image.width * image.height > MOST_PIXELS:
                raise DataError(f"{shown(path)}: {image.width:,} x {image.height:,} pixels. Make it smaller first.")
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith(DEEP):
                # Pillow's older versions read PNGs of 16 bits as "I"
                return in_bytes(np.asarray(upright), path, is_known=upright.mode[1:] != "" or image.format == "PNG")
            own = "RGBA" if "transparency" in upright.info else KEPT_MODES.get(upright.mode, "RGB")
            pixels = np.asarray(upright.convert(own), dtype=np.uint8)
    except UnidentifiedImageError:
        raise DataError(f"{shown(path)}: not a readable image.") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{shown(path)}: cannot be read as an image ({error}).") from None
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def in_bytes(values: NDArray[Any], path: Path, *, is_known: bool) -> Picture:
    """Grey values of 16 bits, scaled to 8; Pillow's own conversion would make nearly all of them white.

    `is_known`: the file says that it has 16 bits, so 65,535 is white. The largest value of a file does not say which
    one is white, and each file would be scaled differently.
    """
    if not is_known and values.dtype.kind != "f":
        raise DataError(
            f"{shown(path)}: its pixels have 32 bits, values from {values.min():,} to {values.max():,}, and nothing "
            "says which value is white. Convert it to 8 or 16 bits."
        )
    if values.dtype.kind == "f" or values.min(initial=0) < 0 or values.max(initial=0) >= 1 << 16:
        raise DataError(
            f"{shown(path)}: its values are not whole numbers from 0 to 65,535. Convert it to 8 or 16 bits."
        )
    return np.rint(values.astype(np.float64) / 257).astype(np.uint8)[:, :, None]
