"""Settings of image data: where images come from, their size, and how they are changed at random."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator

from glassformer import limits
from glassformer.data.settings import FileSettings, comma_separated

Change = Literal["shift", "rotate", "scale", "shear", "flip"]  # of an image, at random


def pair_of_pixels(value: Any) -> Any:
    """One number gives both height and width; `28,32` gives both."""
    value = comma_separated(value)
    return (value, value) if isinstance(value, int) and not isinstance(value, bool) else value


Pixels = Annotated[int, Field(ge=4, le=limits.SIDE)]
Share = Annotated[float, Field(ge=0, le=1)]
Deviation = Annotated[float, Field(gt=0, le=1)]


class ImageSettings(FileSettings):
    """What all image data has in common."""

    image: Annotated[tuple[Pixels, Pixels], BeforeValidator(pair_of_pixels)] | None = Field(
        None,
        description="Height and width that all images are resized to; one number sets both. Default: their own size if "
        "it is the same for all and at most 64, otherwise 64; with --from, the size that the model was trained with.",
    )
    mean: tuple[Share, ...] | None = Field(
        None, description="Mean of each channel, where 1 is white. Default: that of the training images."
    )
    std: tuple[Deviation, ...] | None = Field(
        None, description="Standard deviation of each channel. Default: that of the training images."
    )
    augment: tuple[Change, ...] = Field(
        ("shift", "rotate", "scale"),
        description="Random changes of training images: shift, rotate, scale, shear, flip (left and right), separated "
        "by commas; none: no changes. Use flip only where a mirror image has the same meaning.",
    )

    @field_validator("augment", mode="before")
    @classmethod
    def _changes(cls, value: Any) -> Any:
        return () if value == "none" else comma_separated(value)


class ImageClassDataSettings(ImageSettings):
    """Images with one label each."""

    widths: ClassVar = (2,)
    example: ClassVar = "image,label"

    files: tuple[str, ...] = Field(
        (),
        description="Labelled images: a folder with a folder of images for each class; IDX files of images and labels; "
        ".npz, or .npy files of images and labels; or a table (.csv, .tsv, .jsonl) of image file and label.",
    )
    columns: tuple[str, ...] | None = Field(
        None, description="Tables: the columns or keys of image file and label (image,label), by name or number."
    )
    valid: tuple[str, ...] = Field(
        (),
        description="Validation images: files like the training files, or a share to hold out, such as 10%. Default: "
        "2%, at most 1,000; 10%, at most 50, if there is little data. Each label is held out in proportion.",
    )


class CaptionDataSettings(ImageSettings):
    """Images with captions."""

    widths: ClassVar = (2,)
    example: ClassVar = "image,caption"

    files: tuple[str, ...] = Field(
        (),
        description="`scenes` (drawn scenes, included), or tables of image file and caption: .tsv, .csv, .jsonl with "
        '{"image": ..., "caption": ...}, where "captions" may be a list. Rows of one image are several captions of it.',
    )
    columns: tuple[str, ...] | None = Field(
        None, description="Tables: the columns or keys of image file and caption (image,caption), by name or number."
    )
    valid: tuple[str, ...] = Field(
        (),
        description="Validation images: tables like those for training, or a share to hold out, such as 5%. Default: "
        "2%, at most 1,000; 10%, at most 50, if there is little data. The drawn scenes have their own.",
    )
    augment: tuple[Change, ...] = Field(
        (),
        description="Random changes of training images: shift, rotate, scale, shear, flip, separated by commas. "
        "Default: none, because captions may speak of places and sizes.",
    )
    scenes: int = Field(20_000, ge=100, le=limits.SCENES, description="Number of drawn scenes to train on.")
    max_tokens: int = Field(
        64, ge=2, le=limits.TOKENS, description="Maximum tokens per caption. Longer captions are cut, and counted."
    )
