"""How images are prepared for a model: preprocessor_config.json <-> `extras["image"]`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.marks import optional_json

FILE, KEY = "preprocessor_config.json", "image"
RESAMPLES = {0: "nearest", 2: "bilinear", 3: "bicubic"}  # the numbers are Pillow's
MOST_PIXELS = 4096  # of one side
OLD_MEAN = (0.5, 0.5, 0.5)


def read_preparation(folder: Path) -> dict[str, Any]:
    """What the file says, under our names; empty if there is no file."""
    path = folder / FILE
    theirs = optional_json(path)
    if not theirs:
        return {}
    return {KEY: preparation(theirs)}


def preparation(theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Every step that changes the numbers."""
    found: dict[str, Any] = {}
    if fields.flag(theirs, "do_resize", True):
        found |= resizing(theirs, "size")
        found["resample"] = fields.one_of(theirs, "resample", RESAMPLES, 2)
    if fields.flag(theirs, "do_center_crop", False):
        crop = resizing(theirs, "crop_size")
        if "shortest" in crop:
            raise fields.wrong(theirs, "crop_size", "a number, or height and width")
        found |= {"crop_height": crop["height"], "crop_width": crop["width"]}
    if fields.flag(theirs, "do_rescale", True):
        found["rescale"] = fields.number(theirs, "rescale_factor", 1 / 255)
    if fields.flag(theirs, "do_normalize", True):
        found["mean"] = numbers(theirs, "image_mean")
        found["std"] = numbers(theirs, "image_std")
    return found


def resizing(theirs: Mapping[str, Any], field: str) -> dict[str, int]:
    """A number, or {"height", "width"}, or {"shortest_edge"}."""
    size = theirs.get(field, 224)
    given = size if isinstance(size, dict) else {"height": size, "width": size}
    if set(given) not in ({"height", "width"}, {"shortest_edge"}):
        raise fields.wrong(theirs, field, "a number, or height and width, or shortest_edge")
    if not all(fields.is_whole(pixels, most=MOST_PIXELS) for pixels in given.values()):
        raise fields.wrong(theirs, field, f"whole numbers of pixels from 1 to {MOST_PIXELS:,}")
    return {"shortest": given["shortest_edge"]} if "shortest_edge" in given else given


def numbers(theirs: Mapping[str, Any], field: str) -> list[float]:
    value = theirs.get(field, OLD_MEAN)
    value = [value] if isinstance(value, int | float) else value
    if not isinstance(value, list | tuple) or not value or not all(map(fields.is_number, value)):
        raise fields.wrong(theirs, field, "a number for each channel")
    if field == "image_std" and not all(value):
        raise fields.wrong(theirs, field, "a number other than 0 for each channel")
    return [float(one) for one in value]


def written_preparation(extras: Mapping[str, Any]) -> dict[str, bytes]:
    """The file, if the model has a preparation."""
    ours = extras.get(KEY)
    if not ours:
        return {}
    theirs: dict[str, Any] = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": "resample" in ours,
        "do_rescale": "rescale" in ours,
        "do_normalize": "mean" in ours,
        "do_center_crop": "crop_height" in ours,
    }
    if "resample" in ours:
        edge = {"shortest_edge": ours["shortest"]} if "shortest" in ours else None
        theirs["size"] = edge or {"height": ours["height"], "width": ours["width"]}
        theirs["resample"] = next(number for number, name in RESAMPLES.items() if name == ours["resample"])
    if "crop_height" in ours:
        theirs["crop_size"] = {"height": ours["crop_height"], "width": ours["crop_width"]}
    renamed = {"rescale": "rescale_factor", "mean": "image_mean", "std": "image_std"}
    theirs |= {their: ours[name] for name, their in renamed.items() if name in ours}
    return {FILE: (json.dumps(theirs, indent=2) + "\n").encode()}
