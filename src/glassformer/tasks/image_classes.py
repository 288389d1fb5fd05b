"""Image classes: the label of an image. ViT models. Shapes: B images, K classes.

`--task classify` with image files selects this task; `--task classify-images` names it. The result is used with
`glassformer classify`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np
import torch.nn.functional as F
from pydantic import Field, field_validator
from torch import Tensor

from glassformer.data.columns import Columns, Encoded, Pool, Ragged
from glassformer.data.image_batches import ClassBatch, LabelledImages, PixelScale, bytes_column
from glassformer.data.readers.images import NamedPicture
from glassformer.data.sources.images import LabelledImage, files_changed, read_held_images, read_labelled_images
from glassformer.data.sources.settings import ImageClassDataSettings
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.classes import class_metrics
from glassformer.evaluate.metric import Metric
from glassformer.models.registry import build
from glassformer.models.vit import VitConfig
from glassformer.nn.patches import grid_of
from glassformer.store.bundle import Bundle
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.image_reports import image_mistakes
from glassformer.tasks.sentence_classes import confusion_table
from glassformer.tasks.vision import ImageModel
from glassformer.text import Tokenizer
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.recipe import Recipe
from glassformer.training.task import Listener, Material, ReportParts, Setup, Task

GRID = 7  # patches along the shorter side, about, if the patch is not set
LADDER: tuple[dict[str, Any], ...] = (
    {"N": 6, "d": 192, "h": 6, "d_ff": 384},
    {"N": 6, "d": 128, "h": 4, "d_ff": 256},
    {"N": 4, "d": 96, "h": 3, "d_ff": 192},
    {"N": 4, "d": 64, "h": 2, "d_ff": 128},
)


class ImageClassRecipe(Recipe):
    """All settings of the training of an image classifier."""

    task: Literal["classify-images"] = Field(
        "classify-images", description="What is learned: classes of images; used with `glassformer classify`."
    )
    labels: tuple[str, ...] = Field((), description="Names of the classes. Default: the labels of the data.")
    data: ImageClassDataSettings = Field(default_factory=ImageClassDataSettings)
    model: VitConfig

    metrics = class_metrics()
    usual_model = MappingProxyType({"size": "nano", "norm_eps": 1e-6})
    usual_train = MappingProxyType({"label_smoothing": 0.0})

    @field_validator("labels")
    @classmethod
    def _each_once(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if twice := [label for i, label in enumerate(labels) if label in labels[:i]]:
            raise ValueError(f"{twice[0]!r} is given twice; each class has one name")
        return labels


class ImageClasses(Task):
    """Learns to predict the label of an image."""

    name, verb = "classify-images", "classify"
    title = "A Transformer that learns to classify images"
    unit, units = "image", "images"
    held_units = "images"
    recipe = ImageClassRecipe
    kinds = ("vit",)
    has_text = False
    tokens = "patches"
    rules = BudgetRules(
        rate=5e-3,
        train={"optimiser": "muon", "weight_decay": 0.02},
        batch_tokens=(2048, 4096),
        weights_per_token=2,
        tokens_per_weight=50,  # small images are learned from many passes, each with other random changes
        dropout=((5.0, 0.0), (30.0, 0.05), (100.0, 0.1)),
        quick_predictions=True,
    )
    new_heads = ("head.",)
    decided_names = ("labels", "model.image", "model.channels", "model.classes", "model.pooler")

    # Data

    def read(self, recipe: ImageClassRecipe, listener: Listener) -> Material:
        model = (recipe.model.image, recipe.model.channels) if recipe.train.start_from else None
        found = read_labelled_images(recipe.data, model=model, seed=recipe.train.seed, listener=listener)
        if model is not None and found.facts["shape"].size != model[0]:
            listener.on_stage(
                f"The images have {sized(found.facts['shape'].size)} pixels, those of the model to start from had "
                f"{sized(model[0])}: its positions are interpolated"
            )
        return Material(found.train, found.count, found.valid, found.fingerprints, facts=found.facts)

    def changed_files(self, recipe: ImageClassRecipe, begun: Mapping[str, str]) -> list[str]:
        return ["the images to learn from have changed"] if files_changed(recipe.data, begun) else []

    def read_held(self, files: Sequence[str], recipe: ImageClassRecipe, listener: Listener) -> list[LabelledImage]:
        if not files:
            raise DataError("Got no file; give labelled images, such as a folder with a folder for each class.")
        return read_held_images(files, recipe.data, recipe.model.channels, listener)

    def decided(self, recipe: ImageClassRecipe, material: Material) -> ImageClassRecipe:
        found, shape = tuple(material.facts["labels"]), material.facts["shape"]
        unknown = [label for label in found if label not in recipe.labels]
        if unknown and "labels" in recipe.model_fields_set:
            raise DataError(f"The label {unknown[0]!r} is not one of the classes {', '.join(recipe.labels)}.")
        labels = found if unknown else recipe.labels
        pixels = material.facts["pixels"]
        data = {
            "image": shape.size,
            "mean": recipe.data.mean or pixels["mean"],
            "std": recipe.data.std or pixels["std"],
        }
        model: dict[str, Any] = {"classes": len(labels), "pooler": False, "channels": shape.channels}
        if not recipe.train.start_from:
            model["image"] = shape.size
            if not recipe.model.model_fields_set & {"patch", "size"}:
                model["patch"] = usual_patch(shape.size)
        decided = recipe.model.decided(model)
        if not all(grid_of(shape.size, decided.patch)):
            raise SettingsError(
                f"Images of {sized(shape.size)} pixels are smaller than a patch ({sized(decided.patch)}). Set a "
                "smaller model.patch, or a larger data.image."
            )
        return recipe.decided({"labels": labels, "data": recipe.data.decided(data), "model": decided})

    def inherited(self, recipe: ImageClassRecipe, base: ImageClassRecipe) -> ImageClassRecipe:
        same = {name: getattr(base.data, name) for name in ("image", "mean", "std")}
        taken = recipe.with_open("data", same)
        return taken if "labels" in recipe.model_fields_set else taken.decided({"labels": base.labels})

    def with_body(self, recipe: ImageClassRecipe, extras: Mapping[str, Any]) -> ImageClassRecipe:
        """Images are scaled as the model's folder says."""
        found = scale_in(extras)
        return recipe.with_open("data", found) if found else recipe

    def keeps_heads(self, recipe: ImageClassRecipe, base: ImageClassRecipe) -> bool:
        """Outputs belong to classes by their place; old images must have the same size to be mixed in."""
        return recipe.labels == base.labels and recipe.data.image == base.data.image

    def recipe_of(self, bundle: Bundle) -> ImageClassRecipe | None:
        """An imported ViT with named classes can be measured, and fine-tuned with its head."""
        config, labels = cast(VitConfig, bundle.model.config), tuple(bundle.extras.get("labels", ()))
        if not config.classes or len(labels) != config.classes or len(set(labels)) != len(labels):
            return None
        size = ImageModel(bundle).prepare.size or config.image
        data = {"image": size, **(scale_in(bundle.extras) or {"mean": (0.5,), "std": (0.5,)})}
        return ImageClassRecipe.model_validate({"labels": labels, "data": data, "model": config.model_dump()})

    def metrics_for(self, recipe: ImageClassRecipe) -> tuple[Metric, ...]:
        return class_metrics(recipe.labels or None)

    def make_tokenizers(self, recipe: Any, material: Material, listener: Listener) -> dict[str, Tokenizer]:  # noqa: ARG002
        return {}

    # Batches

    def encoding(self, recipe: ImageClassRecipe) -> str:
        return json.dumps([recipe.data.image, recipe.model.channels, recipe.labels])

    def encode(self, setup: Setup, examples: Sequence[LabelledImage]) -> Encoded:
        number = {label: i for i, label in enumerate(setup.recipe.labels)}
        labels = np.array([number[one.label] for one in examples], dtype=np.int32)
        images = bytes_column(np.stack([one.pixels for one in examples]))
        return Encoded(Columns({"image": images, "label": Ragged(labels, np.ones(len(labels), dtype=np.int64))}))

    def limit(self, recipe: Any, *, held: bool) -> str:  # noqa: ARG002
        return "unreadable"

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        return LabelledImages(columns, pixel_scale(setup.recipe, is_training=True), patches_of(setup.recipe))

    def pool_held(self, setup: Setup, columns: Columns) -> Pool:
        return LabelledImages(columns, pixel_scale(setup.recipe), patches_of(setup.recipe))

    def to_json(self, example: LabelledImage) -> Any:
        return [example.name, example.pixels.shape, base64.b64encode(example.pixels.tobytes()).decode(), example.label]

    def tried_with(self, recipe: Any) -> str:  # noqa: ARG002
        return "IMAGE"

    def from_json(self, example: Any) -> LabelledImage:
        name, shape, pixels, label = example
        return LabelledImage(name, np.frombuffer(base64.b64decode(pixels), dtype=np.uint8).reshape(shape), label)

    # The model

    def build(self, setup: Setup) -> Any:
        return build("vit", setup.recipe.model.model_dump())

    def ladder(self, recipe: ImageClassRecipe) -> list[dict[str, Any]]:  # noqa: ARG002
        return list(LADDER)

    def model_for(self, config: Any) -> Any:
        return build("vit", config.model_dump())

    def output_width(self, setup: Setup) -> int:  # noqa: ARG002
        return 0  # one prediction per image

    def loss(self, setup: Setup, model: Any, batch: ClassBatch) -> tuple[Tensor, int]:
        smoothing = setup.recipe.train.label_smoothing
        logits = model(batch).float()  # (B, K)
        return F.cross_entropy(logits, batch.labels, reduction="sum", label_smoothing=smoothing), batch.weight

    def losses(self, setup: Setup, model: Any, batch: ClassBatch) -> list[tuple[float, float]]:  # noqa: ARG002
        found = F.cross_entropy(model(batch).float(), batch.labels, reduction="none")
        return [(loss, 1.0) for loss in found.tolist()]

    # Using it

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> ImageModel:
        extras = {"labels": list(setup.recipe.labels), "image": image_extras(setup.recipe.data)}
        found = ImageModel(Bundle("vit", model, extras=extras))
        found.origin = origin
        return found

    def predict(self, user: ImageModel, examples: Sequence[LabelledImage]) -> list[str]:
        pictures = [NamedPicture(one.name, one.pixels) for one in examples]
        return [guesses[0].label for guesses in user.classified(pictures, top=1)]

    def question(self, example: LabelledImage) -> tuple[str, tuple[str, ...]]:
        return example.name, (example.label,)

    def report_parts(self, user: ImageModel, found: Evaluation, prepared: Any) -> ReportParts:  # noqa: ARG002
        """The confusion matrix, and the most wrong images."""
        table = confusion_table(found, prepared.recipe.labels)
        return ReportParts({"tables": [table], "galleries": image_mistakes(found)})

    def check_held(self, setup: Setup, examples: Sequence[LabelledImage]) -> None:
        known = set(setup.recipe.labels)
        if unknown := [one for one in examples if one.label not in known]:
            raise DataError(
                f"{len(unknown):,} held-out images have unknown labels, first {unknown[0].label!r}. "
                f"It knows {', '.join(map(repr, setup.recipe.labels[:20]))}. Remove these images."
            )

    def compared_by(self, setups: Mapping[str, Setup], examples: Sequence[Any]) -> tuple[Metric, ...]:
        """Runs with different classes cannot be compared."""
        (first, one), *others = setups.items()
        for name, setup in others:
            if set(setup.recipe.labels) != set(one.recipe.labels):
                raise DataError(f"{first} and {name} cannot be compared: their classes differ.")
        return super().compared_by(setups, examples)

    def in_words(self, setup: Setup, batch: ClassBatch) -> list[dict[str, str]]:
        labels = setup.recipe.labels
        rows = zip(batch.index.tolist(), batch.labels.tolist(), strict=True)
        return [{"image": f"number {number}", "label": labels[label]} for number, label in rows]


def usual_patch(size: tuple[int, int], grid: int = GRID) -> tuple[int, int]:
    """The patch that divides the image best into about grid x grid: a divisor of both sides where there is one."""
    wanted = max(1, round(min(size) / grid))
    divisors = [n for n in range(max(1, wanted // 2), 2 * wanted + 1) if size[0] % n == 0 and size[1] % n == 0]
    side = min(divisors, key=lambda n: (abs(n - wanted), -n)) if divisors else wanted
    return side, side


def patches_of(recipe: Any) -> int:
    """Patches of an image, with the token for the whole image."""
    down, across = grid_of(recipe.data.image, recipe.model.patch)
    return 1 + down * across


def pixel_scale(recipe: Any, *, is_training: bool = False) -> PixelScale:
    data, shape = recipe.data, (*recipe.data.image, recipe.model.channels)
    return PixelScale(shape, data.mean, data.std, data.augment, is_training)


def image_extras(data: Any) -> dict[str, Any]:
    """How an image is prepared for the model, as `data.images.Preparation` reads it."""
    height, width = data.image
    size = {"height": height, "width": width, "resample": "bilinear"}
    return {**size, "rescale": 1 / 255, "mean": list(data.mean), "std": list(data.std)}


def scale_in(extras: Mapping[str, Any]) -> dict[str, Any] | None:
    """Mean and deviation of an imported model; None if it has none, or rescales in another way."""
    image = extras.get("image", {})
    if "mean" not in image or abs(image.get("rescale", 1 / 255) - 1 / 255) > 1e-6:
        return None
    return {"mean": tuple(image["mean"]), "std": tuple(image["std"])}


def sized(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"
