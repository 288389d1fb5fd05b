"""Images in reports: the most wrong ones, examples with captions, and what each word of a caption looks at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from glassformer.data.images import fitted
from glassformer.explain.png import data_uri
from glassformer.explain.report import ShownGallery, ShownPicture
from glassformer.tasks.evaluating import Evaluation
from glassformer.text.pieces import MARK, on_page

MOST_WRONG = 24  # images in the report
SIDE = 96  # pixels of a thumbnail: larger images are made smaller
HEAT = (255, 90, 20)  # colour of the most attended patches


def image_mistakes(found: Evaluation) -> list[ShownGallery]:
    """Wrong predictions, lowest probability of the true class first; one example is (name, pixels, label)."""
    if found.losses is None or len(found.losses) != len(found.examples):
        return []
    rows = zip(found.losses[:, 0].tolist(), found.examples, found.predictions, strict=True)
    wrong = sorted((row for row in rows if row[1].label != row[2]), key=lambda row: -row[0])
    pictures = tuple(
        ShownPicture(
            thumbnail(one.pixels),
            f"{one.name}: {predicted} instead of {one.label}",
            (f"{one.label} → {predicted}", f"{math.exp(-loss):.1%} for {one.label}"),
        )
        for loss, one, predicted in wrong[:MOST_WRONG]
    )
    note = f"{len(wrong):,} of {len(found.examples):,} are wrong. True class → predicted class, and the probability of "
    note += "the true class; the clearest mistakes first."
    return [ShownGallery("wrong", "The clearest mistakes", note, pictures)] if pictures else []


def thumbnail(pixels: NDArray[np.uint8]) -> str:
    """The image as an address for a page; large ones are made smaller."""
    height, width, channels = pixels.shape
    longest = max(height, width)
    if longest > SIDE:
        size = (max(1, height * SIDE // longest), max(1, width * SIDE // longest))
        pixels = fitted(pixels, size, channels)
    return data_uri(pixels)


def heat_picture(pixels: NDArray[np.uint8], weights: Any) -> NDArray[np.uint8]:
    """The image, darker where a word does not look; `weights` (down, across) are the attention to its patches."""
    side = max(pixels.shape[:2])
    enlarged = pixels.repeat(max(1, SIDE // side), axis=0).repeat(max(1, SIDE // side), axis=1)
    height, width = enlarged.shape[:2]
    grid = torch.as_tensor(weights, dtype=torch.float32)[None, None]
    shares = F.interpolate(grid, size=(height, width), mode="bicubic", align_corners=False)[0, 0].clamp_min(0).numpy()
    strength = (shares / max(float(shares.max()), 1e-9))[:, :, None]
    grey = np.repeat(enlarged[:, :, :1], 3, axis=2) if enlarged.shape[2] == 1 else enlarged[:, :, :3]
    dimmed = 0.35 * grey + 0.65 * 90
    mixed = strength * (0.75 * grey + 0.25 * np.array(HEAT)) + (1 - strength) * dimmed
    return np.clip(np.rint(mixed), 0, 255).astype(np.uint8)


SHOWN = 24  # captions in the report
EXPLAINED = 3  # captions whose attention is drawn


def caption_gallery(found: Evaluation) -> list[ShownGallery]:
    """Captions, wrong ones first; one example is (name, pixels, captions)."""
    rows = list(zip(found.examples, found.predictions, strict=True))
    wrong = [row for row in rows if row[1] not in row[0].captions]
    right = [row for row in rows if row[1] in row[0].captions]
    half = min(len(wrong), SHOWN // 2)
    pictures = tuple(
        ShownPicture(
            thumbnail(one.pixels),
            f"{one.name}: {caption}",
            (caption, *([] if caption in one.captions else [f"right: {one.captions[0]}"])),
            "" if caption in one.captions else "wrong",
        )
        for one, caption in [*wrong[:half], *right[: SHOWN - half]]
    )
    note = f"{len(right):,} of {len(rows):,} captions are equal to a right one. "
    note += f"The first {half} here are wrong." if half else "None is wrong."
    return [ShownGallery("captions", "Captions", note, pictures, wide=True)] if pictures else []


def heat_galleries(user: Any, found: Evaluation) -> list[ShownGallery]:
    """What each word of some captions looks at: mean of all heads of the cross-attention."""
    galleries = []
    for number, one in enumerate(found.examples[:EXPLAINED]):
        seen = user.explain(one.pixels)
        grid = seen.tokens["encoder"].grid
        pattern = seen.alignment()  # (T, S)
        pictures = [ShownPicture(thumbnail(one.pixels), one.name, ("the image",))]
        for piece, weights in zip(seen.target, pattern, strict=True):
            share = weights[1:].unflatten(0, grid)
            word = on_page(piece.removeprefix(MARK))
            line = f"{float(weights[1:].max()):.0%} at most"
            pictures.append(
                ShownPicture(data_uri(heat_picture(one.pixels, share)), f"attention of {word}", (word, line))
            )
        note = f"“{seen.answer}”. Bright patches are those that the decoder reads when it writes the word: "
        note += "cross-attention, mean of all layers and heads."
        title = "What each word looks at" if not number else f"Another image: {one.name}"
        galleries.append(ShownGallery(f"looks{number}", title, note, tuple(pictures)))
    return galleries
