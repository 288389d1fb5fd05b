"""Models that see: the class of an image, or what it shows in words.

An image is an array of bytes (height, width) or (height, width, C), or a file's name. Shapes: B images, C channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.images import Preparation, batches_of
from glassformer.data.readers.images import NamedPicture, read_pictures
from glassformer.errors import DataError, ModelError
from glassformer.hub.huggingface.pretrained import Pretrained
from glassformer.models.captioner import Captioner
from glassformer.models.vit import Vit
from glassformer.tasks.generation import Asked, Continuation, LanguageModel
from glassformer.tasks.generation.inputs import start_of

Shown = str | Path | NDArray[Any]
Progress = Callable[[int], None]  # how many more images are done

TOGETHER = 16  # images of a batch
CAPTION = Asked(max_new=64, beam=5)


@dataclass(frozen=True)
class ImageBatch:
    """Images (B, C, height, width)."""

    images: Tensor

    def to(self, device: torch.device) -> ImageBatch:
        return ImageBatch(self.images.to(device))


@dataclass(frozen=True)
class Guess:
    """A class, and how likely the model finds it."""

    number: int
    label: str
    probability: float


@dataclass(frozen=True)
class Seen:
    """For the writing of captions: a row is an image (C, height, width), and all texts begin from one token."""

    start: int
    longest: int

    def ids(self, text: str) -> list[int]:
        raise ModelError(f"A captioner reads images; got the text {text!r}.")

    def batch(self, rows: Sequence[Any]) -> ImageBatch:
        return ImageBatch(torch.stack(list(rows)))

    def firsts(self, rows: Sequence[Any]) -> int:  # noqa: ARG002
        return self.start

    def before(self, row: Any) -> Sequence[int]:  # noqa: ARG002
        return ()

    def room(self, row: Any) -> int | None:  # noqa: ARG002
        return self.longest


class ImageModel:
    """A pretrained model that reads images."""

    def __init__(self, pretrained: Pretrained) -> None:
        if not isinstance(pretrained.model, Vit | Captioner):
            raise ModelError(f"A {pretrained.kind} does not read images. Those that do: vit, captioner.")
        self.pretrained, self.model = pretrained, pretrained.model.eval()
        config = self.model.config if isinstance(self.model, Vit) else self.model.config.encoder
        self.prepare = Preparation.of(pretrained.extras.get("image"), size=config.image, channels=config.channels)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    # Reading

    def named(self, shown: Sequence[Shown]) -> Iterator[NamedPicture]:
        """Every image with its name; a file may hold many."""
        for number, one in enumerate(shown):
            if isinstance(one, str | Path):
                yield from read_pictures(str(one))
            else:
                yield NamedPicture(f"image {number + 1}", pixels_of(one, number))

    def prepared(self, pictures: Sequence[NamedPicture]) -> list[Tensor]:
        """As the model wants them, (C, height, width) each."""
        found = []
        for picture in pictures:
            try:
                found.append(self.prepare(picture.pixels))
            except DataError as error:
                raise DataError(f"{picture.name}: {error}") from None
        return found

    # What it shows

    def classify(
        self, shown: Shown | Sequence[Shown], *, top: int = 5, progress: Progress | None = None
    ) -> list[list[Guess]]:
        """The likeliest classes of each image, likeliest first."""
        return self.classified(list(self.named(listed(shown))), top=top, progress=progress)

    @torch.inference_mode()
    def classified(
        self, pictures: Sequence[NamedPicture], *, top: int = 5, progress: Progress | None = None
    ) -> list[list[Guess]]:
        if not isinstance(self.model, Vit) or self.model.head is None:
            raise ModelError("This model tells no classes: it is " + without_classes(self.model))
        results: list[list[Guess]] = [[] for _ in pictures]
        for places, images in batches_of(self.prepared(pictures), TOGETHER):
            shares = self.model(ImageBatch(images.to(self.device))).float().softmax(dim=-1)  # (B, classes)
            best = shares.topk(min(top, shares.size(1)), dim=-1)
            for place, values, numbers in zip(places, best.values.tolist(), best.indices.tolist(), strict=True):
                results[place] = [Guess(n, self.label(n), p) for n, p in zip(numbers, values, strict=True)]
            if progress is not None:
                progress(len(places))
        return results

    def label(self, number: int) -> str:
        labels = self.pretrained.extras.get("labels", [])
        return labels[number] if number < len(labels) else f"class {number}"

    def caption(
        self, shown: Shown | Sequence[Shown], asked: Asked = CAPTION, *, progress: Progress | None = None
    ) -> list[list[Continuation]]:
        """What each image shows, in words: the n best of each, best first."""
        return self.captioned(list(self.named(listed(shown))), asked, progress=progress)

    def captioned(
        self, pictures: Sequence[NamedPicture], asked: Asked = CAPTION, *, progress: Progress | None = None
    ) -> list[list[Continuation]]:
        writer, results = self.writer(), [cast("list[Continuation]", []) for _ in pictures]
        for places, images in batches_of(self.prepared(pictures), TOGETHER):
            for place, found in zip(places, writer.continued(list(images), asked, numbers=places), strict=True):
                results[place] = found
            if progress is not None:
                progress(len(places))
        return results

    def writer(self) -> LanguageModel:
        if not isinstance(self.model, Captioner):
            raise ModelError(f"A {self.pretrained.kind} writes no captions. A captioner does.")
        if self.pretrained.tokenizer is None:
            raise ModelError(
                "This model has no tokenizer beside it, so it cannot write texts. Put tokenizer.json there."
            )
        return LanguageModel(
            self.pretrained, inputs=Seen(start_of(self.pretrained.marks), self.model.config.max_length)
        )


def listed(shown: Shown | Sequence[Shown]) -> Sequence[Shown]:
    return [shown] if isinstance(shown, str | Path | np.ndarray) else shown


def pixels_of(array: NDArray[Any], number: int) -> NDArray[np.uint8]:
    pixels = array[:, :, None] if array.ndim == 2 else array
    if pixels.ndim != 3 or pixels.dtype != np.uint8:
        raise DataError(
            f"Image {number + 1} is an array of {array.dtype} with shape {array.shape}; needed are bytes (uint8), "
            "(height, width) or (height, width, channels)."
        )
    return pixels


def without_classes(model: Vit | Captioner) -> str:
    if isinstance(model, Captioner):
        return "a captioner. It describes images in words: `glassformer caption`."
    return "a ViT without a head for them."
