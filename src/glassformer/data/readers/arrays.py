"""Images in NumPy's files: .npy, one array, and .npz, an archive of several arrays with names."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.data.readers.opening import shown
from glassformer.errors import DataError

Picture = NDArray[np.uint8]  # (height, width, channels)

CHANNELS = (1, 3, 4)
IMAGE_NAMES = ("images", "image", "x", "x_train", "data", "arr_0")  # of arrays in .npz
LABEL_NAMES = ("labels", "label", "y", "y_train", "target", "arr_1")
MOST_BYTES = 4 << 30  # of a file, unpacked: a small compressed file can hold far more
BROKEN = (ValueError, OSError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error)


def load_npy(content: bytes, path: Path) -> NDArray[Any]:
    try:
        found: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{shown(path)}: not a readable array ({error}).") from None
    return found


def load_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an archive by their names, in lower case."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MOST_BYTES:
            raise DataError(
                f"{shown(path)}: more than {MOST_BYTES >> 30} GB when unpacked. Split it into several files."
            )
        with np.load(path, allow_pickle=False) as arrays:
            found = {name.lower(): arrays[name] for name in arrays.files}
    except BROKEN as error:
        raise DataError(f"{shown(path)}: not a readable .npz file ({error}).") from None
    # A file in the archive that is not .npy is read as its bytes.
    return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}


def named_array(arrays: dict[str, NDArray[Any]], names: tuple[str, ...]) -> NDArray[Any] | None:
    return next((arrays[name] for name in names if name in arrays), None)


def npz_images(path: Path) -> list[Picture]:
    """The images of an archive: the array with a usual name, or the only one that can hold images."""
    arrays = load_npz(path)
    images = named_array(arrays, IMAGE_NAMES)
    if images is None:
        several = [array for array in arrays.values() if array.ndim > 1]
        if len(several) != 1:
            names = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "none"
            raise DataError(f"{shown(path)}: its arrays are {names}. Save the images as the array `images`.")
        (images,) = several
    return images_of(images, path)


def images_of(array: NDArray[Any], path: Path) -> list[Picture]:
    """One image (height, width[, channels]), or many (n, height, width[, channels]). Channels are the last axis."""
    shape = array.shape
    has_channels = array.ndim == 4 or (array.ndim == 3 and shape[-1] <= max(CHANNELS))  # no image is that narrow
    array = array if has_channels else array[..., None]
    if array.ndim not in (3, 4) or array.shape[-1] not in CHANNELS or 0 in shape:
        raise DataError(
            f"{shown(path)}: an array of shape {shape}. Images are (height, width), (height, width, channels), or many "
            "of them (n, height, width) or (n, height, width, channels), with 1, 3 or 4 channels."
        )
    pixels = as_bytes(array, path)
    return [pixels] if pixels.ndim == 3 else list(pixels)


def as_bytes(array: NDArray[np.generic], path: Path) -> Picture:
    """Integers from 0 to 255 unchanged; floats from 0 to 1, where 1 is white, scaled to 0 to 255."""
    if array.dtype.kind not in "uif":
        raise DataError(
            f"{shown(path)}: an array of {array.dtype}. Pixels are whole numbers from 0 to 255, or from 0.0 to 1.0."
        )
    values = array.astype(np.float64)
    most = 1.0 if array.dtype.kind == "f" else 255.0
    least, greatest = float(values.min()), float(values.max())  # NaN if there is one
    if not (least >= 0 and greatest <= most):
        raise DataError(
            f"{shown(path)}: an array of {array.dtype} with values from {least:g} to {greatest:g}. Pixels are whole "
            "numbers from 0 to 255, or from 0.0 to 1.0."
        )
    return np.rint(values * (255.0 / most)).astype(np.uint8)
