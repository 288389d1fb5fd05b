"""Models that read images: the classes of an image, or a caption.

An image is an array of bytes (height, width) or (height, width, C), or a file name. Shapes: B images, C channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.config import check_arguments
from glassformer.data.images import Preparation, batches_of
from glassformer.data.readers.images import NamedPicture, read_pictures
from glassformer.decode.settings import GenerationSettings
from glassformer.errors import DataError, ModelError
from glassformer.models.captioner import Captioner
from glassformer.models.vit import Vit
from glassformer.printable import opening
from glassformer.store.bundle import Bundle
from glassformer.tasks.forking import check_process
from glassformer.tasks.generation import Continuation, GenerateOptions
from glassformer.tasks.generation.generator import ContinuationGenerator
from glassformer.tasks.generation.inputs import start_token
from glassformer.tasks.guesses import Guess, label_of, likeliest
from glassformer.tasks.model import LoadedModel, described

if TYPE_CHECKING:
    from glassformer.explain.explanation import Explanation

Image = str | Path | NDArray[Any]
Progress = Callable[[int], None]  # how many more images are done

BATCH, MOST_BATCH = 16, 128  # images
PIXELS = 1 << 19  # numbers in a batch of more than 16 images
CAPTION = GenerateOptions(max_new=64, beam=5)


@dataclass(frozen=True)
class ImageBatch:
    """Images (B, C, height, width)."""

    images: Tensor

    def to(self, device: torch.device) -> ImageBatch:
        return ImageBatch(self.images.to(device))


@dataclass(frozen=True)
class ImageInputs:
    """How images reach a captioner: a row is an image (C, height, width), and all captions start from one token."""

    start: int
    longest: int  # tokens of a caption

    def ids(self, text: str) -> list[int]:
        raise ModelError(f"A captioner reads images; got the text {text!r}.")

    def batch(self, rows: Sequence[Any]) -> ImageBatch:
        return ImageBatch(torch.stack(list(rows)))

    def start_tokens(self, rows: Sequence[Any]) -> int:  # noqa: ARG002
        return self.start

    def prompt(self, row: Any) -> Sequence[int]:  # noqa: ARG002
        return ()

    def budget(self, row: Any) -> int | None:  # noqa: ARG002
        return self.longest


class ImageModel(LoadedModel):
    """A model that reads images."""

    def __init__(self, bundle: Bundle) -> None:
        if not isinstance(bundle.model, Vit | Captioner):
            raise ModelError(f"{opening(bundle.kind)} model cannot read images. Models that can: vit, captioner.")
        self.bundle, self.model = bundle, bundle.model.eval()
        config = self.model.config if isinstance(self.model, Vit) else self.model.config.encoder
        self.prepare = Preparation.of(bundle.extras.get("image"), size=config.image, channels=config.channels)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def kind_name(self) -> str:
        return self.bundle.kind

    # Reading

    def named(self, shown: Sequence[Image]) -> Iterator[NamedPicture]:
        """Every image with its name; a file may contain many."""
        for number, one in enumerate(shown):
            if isinstance(one, str | Path):
                yield from read_pictures(str(one))
            elif isinstance(one, np.ndarray):
                yield NamedPicture(f"image {number + 1}", pixels_of(one, number))
            else:
                raise DataError(
                    f"Image {number + 1} is {described(one)}; expected a file name, or an array of bytes (uint8)."
                )

    def given(self, shown: object) -> list[NamedPicture]:
        """The given images, one or several."""
        check_process()
        if isinstance(shown, str | Path | np.ndarray):
            return [self.one(shown)]
        if isinstance(shown, Mapping | bytes) or not isinstance(shown, Iterable):
            raise DataError(f"Got {described(shown)}; expected an image (a file name or an array) or a list of images.")
        return list(self.named(list(shown)))

    def one(self, shown: Image) -> NamedPicture:
        pictures = list(self.named([shown]))
        if len(pictures) != 1:
            raise DataError(
                f"{shown} contains {len(pictures):,} images. Give it in a list to get the results of all: [{shown!r}]."
            )
        return pictures[0]

    def prepared(self, pictures: Sequence[NamedPicture]) -> list[Tensor]:
        """The images as the model reads them, (C, height, width) each."""
        found = []
        for picture in pictures:
            try:
                found.append(self.prepare(picture.pixels))
            except DataError as error:
                raise DataError(f"{picture.name}: {error}") from None
        return found

    # Classes

    @overload
    def classify(self, shown: Image, *, top: int = ..., progress: Progress | None = ...) -> list[Guess]: ...  # type: ignore[overload-overlap]
    @overload
    def classify(
        self, shown: Sequence[Image], *, top: int = ..., progress: Progress | None = ...
    ) -> list[list[Guess]]: ...
    def classify(
        self, shown: Image | Sequence[Image], *, top: int = 5, progress: Progress | None = None
    ) -> list[Guess] | list[list[Guess]]:
        """The most likely classes of each image, most likely first; one image gives one result.

        In a list, a file that contains many images gives a result for each of them.
        """
        found = self.classified(self.given(shown), top=top, progress=progress)
        return found[0] if is_one(shown) else found

    @torch.inference_mode()
    def classified(
        self, pictures: Sequence[NamedPicture], *, top: int = 5, progress: Progress | None = None
    ) -> list[list[Guess]]:
        if not isinstance(self.model, Vit) or self.model.head is None:
            raise ModelError("This model has no classes: it is " + without_classes(self.model))
        check_arguments(GenerationSettings, {"top": top})
        results: list[list[Guess]] = [[] for _ in pictures]
        for places, images in batches_of(prepared := self.prepared(pictures), at_once(prepared)):
            probabilities = self.model(ImageBatch(images.to(self.device))).float().softmax(dim=-1)  # (B, classes)
            labels = self.bundle.extras.get("labels", [])
            for place, guesses in zip(places, likeliest(probabilities, labels, top=top), strict=True):
                results[place] = guesses
            if progress is not None:
                progress(len(places))
        return results

    def label(self, number: int) -> str:
        return label_of(number, self.bundle.extras.get("labels", []))

    # Captions

    @overload
    def caption(self, shown: Image, *, max_new: int = ..., beam: int = ...) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def caption(self, shown: Sequence[Image], *, max_new: int = ..., beam: int = ...) -> list[str]: ...
    def caption(self, shown: Image | Sequence[Image], *, max_new: int = 64, beam: int = 5) -> str | list[str]:
        """The caption of each image; one image gives one caption."""
        options = GenerateOptions(max_new=max_new, beam=beam)
        found = [own[0].text for own in self.captioned(self.given(shown), options)]
        return found[0] if is_one(shown) else found

    @overload
    def captions(  # type: ignore[overload-overlap]
        self, shown: Image, options: GenerateOptions = ..., *, progress: Progress | None = ...
    ) -> list[Continuation]: ...
    @overload
    def captions(
        self, shown: Sequence[Image], options: GenerateOptions = ..., *, progress: Progress | None = ...
    ) -> list[list[Continuation]]: ...
    def captions(
        self, shown: Image | Sequence[Image], options: GenerateOptions = CAPTION, *, progress: Progress | None = None
    ) -> list[Continuation] | list[list[Continuation]]:
        """The same with all options and full results: the n best of each image, best first."""
        found = self.captioned(self.given(shown), options, progress=progress)
        return found[0] if is_one(shown) else found

    @overload
    def explain(self, shown: Image, *, top: int = ..., options: GenerateOptions | None = ...) -> Explanation: ...  # type: ignore[overload-overlap]
    @overload
    def explain(
        self, shown: Sequence[Image], *, top: int = ..., options: GenerateOptions | None = ...
    ) -> list[Explanation]: ...
    def explain(
        self, shown: Image | Sequence[Image], *, top: int = 5, options: GenerateOptions | None = None
    ) -> Explanation | list[Explanation]:
        """Everything that happens to an image inside the model, from its taps; `options`: how a captioner writes."""
        from glassformer.tasks.glass.pages import explain_with_pages  # it imports this file

        found = [explain_with_pages(self, one, top=top, options=options) for one in self.given(shown)]
        return found[0] if is_one(shown) else found

    def captioned(
        self, pictures: Sequence[NamedPicture], options: GenerateOptions = CAPTION, *, progress: Progress | None = None
    ) -> list[list[Continuation]]:
        generator = self.caption_generator()
        results: list[list[Continuation]] = [[] for _ in pictures]
        for places, images in batches_of(prepared := self.prepared(pictures), at_once(prepared)):
            captions = generator.continuations(list(images), options, numbers=places)
            for place, found in zip(places, captions, strict=True):
                results[place] = found
            if progress is not None:
                progress(len(places))
        return results

    def caption_generator(self) -> ContinuationGenerator:
        if not isinstance(self.model, Captioner):
            raise ModelError(f"{opening(self.bundle.kind)} model cannot write captions. Models that can: captioner.")
        if self.bundle.tokenizer is None:
            raise ModelError(
                "This model has no tokenizer, so it cannot write text. Put tokenizer.json into its folder."
            )
        inputs = ImageInputs(start_token(self.bundle.marks), self.model.config.max_length)
        return ContinuationGenerator(self.bundle, inputs)


def at_once(images: Sequence[Tensor]) -> int:
    """How many images are in a batch: more if they are small."""
    largest = max((image.numel() for image in images), default=1)
    return max(BATCH, min(MOST_BATCH, PIXELS // largest))


def is_one(shown: object) -> bool:
    """Whether a single image is given."""
    return isinstance(shown, str | Path | np.ndarray)


def pixels_of(array: NDArray[Any], number: int) -> NDArray[np.uint8]:
    pixels = array[:, :, None] if array.ndim == 2 else array
    if pixels.ndim != 3 or pixels.dtype != np.uint8:
        raise DataError(
            f"Image {number + 1} is an array of {array.dtype} with shape {array.shape}; expected bytes (uint8), "
            "(height, width) or (height, width, channels)."
        )
    return pixels


def without_classes(model: Vit | Captioner) -> str:
    if isinstance(model, Captioner):
        return "a captioner. It describes images: use `glassformer caption`."
    return "a ViT without a classification head."
