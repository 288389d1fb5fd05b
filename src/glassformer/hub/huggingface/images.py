"""How images are prepared for a model: preprocessor_config.json <-> `extras["image"]`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.errors import ImportingError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.marks import optional_json

FILE, KEY = "preprocessor_config.json", "image"
RESAMPLES = {0: "nearest", 2: "bilinear", 3: "bicubic"}  # the numbers are Pillow's
OLD_MEAN = (0.5, 0.5, 0.5)


def read_preparation(folder: Path) -> dict[str, Any]:
    """What the file says, under our names; nothing where there is no file."""
    path = folder / FILE
    theirs = optional_json(path)
    if not theirs:
        return {}
    try:
        return {KEY: preparation(theirs)}
    except ImportingError as error:
        raise ImportingError(str(error).replace("config.json", str(path), 1)) from None


def preparation(theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Every step that changes the numbers."""
    found: dict[str, Any] = {}
    if fields.flag(theirs, "do_resize", True):
        found |= resizing(theirs.get("size", 224))
        found["resample"] = fields.one_of(theirs, "resample", RESAMPLES, 2)
    if fields.flag(theirs, "do_center_crop", False):
        crop = resizing(theirs.get("crop_size", 224))
        found |= {"crop_height": crop["height"], "crop_width": crop["width"]}
    if fields.flag(theirs, "do_rescale", True):
        found["rescale"] = fields.number(theirs, "rescale_factor", 1 / 255)
    if fields.flag(theirs, "do_normalize", True):
        found["mean"] = numbers(theirs, "image_mean")
        found["std"] = numbers(theirs, "image_std")
    return found


def resizing(size: Any) -> dict[str, int]:
    """A number, or {"height", "width"}, or {"shortest_edge"}."""
    if isinstance(size, int):
        return {"height": size, "width": size}
    if isinstance(size, Mapping) and set(size) == {"height", "width"}:
        return {name: fields.whole(size, name) for name in ("height", "width")}
    if isinstance(size, Mapping) and set(size) == {"shortest_edge"}:
        return {"shortest": fields.whole(size, "shortest_edge")}
    raise ImportingError(
        f"config.json: size = {size!r} cannot be honoured. Allowed: a number, height and width, or shortest_edge."
    )


def numbers(theirs: Mapping[str, Any], field: str) -> list[float]:
    value = theirs.get(field, OLD_MEAN)
    value = [value] if isinstance(value, int | float) else value
    if not isinstance(value, list | tuple) or not all(isinstance(one, int | float) for one in value):
        raise ImportingError(f"config.json: {field} = {value!r}: needed is a number for each channel.")
    return [float(one) for one in value]


def written_preparation(extras: Mapping[str, Any]) -> dict[str, bytes]:
    """The file, where the model came with a preparation."""
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
