"""Captions: a sentence about an image. An image encoder, and a text decoder that reads it through cross-attention.

Shapes: B images, T tokens.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np
from pydantic import Field
from torch import Tensor, nn

from glassformer.data.batches import Marks
from glassformer.data.columns import Columns, Encoded, Pool, Ragged
from glassformer.data.image_batches import CaptionBatch, CaptionedImages, PixelScale, bytes_column
from glassformer.data.readers.images import NamedPicture
from glassformer.data.sources.captions import CaptionedImage, read_captioned_images, read_held_captions
from glassformer.data.sources.settings import CaptionDataSettings
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.classes import PERCENT
from glassformer.evaluate.metric import Metric
from glassformer.evaluate.translation import BLEU, CHRF, EXACT
from glassformer.models.captioner import CaptionerConfig
from glassformer.models.registry import build
from glassformer.nn.patches import grid_of
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.generation import GenerateOptions
from glassformer.tasks.image_classes import image_extras, sized, usual_patch
from glassformer.tasks.image_reports import caption_gallery, heat_galleries
from glassformer.tasks.vision import ImageModel
from glassformer.text import Tokenizer, tokenizer_for
from glassformer.training.budget_rules import SHAPE, BudgetRules
from glassformer.training.objective import token_loss, token_losses
from glassformer.training.recipe import Recipe
from glassformer.training.task import TOKENIZER, Listener, Material, ReportParts, Setup, Task, Tokenizers

GRID = 8  # patches along the shorter side, about, if the patch is not set
LADDER: tuple[dict[str, Any], ...] = (  # of encoder and decoder
    {"N": 4, "d": 192, "h": 6, "d_ff": 384},
    {"N": 4, "d": 128, "h": 4, "d_ff": 256},
    {"N": 3, "d": 96, "h": 3, "d_ff": 192},
    {"N": 2, "d": 64, "h": 2, "d_ff": 128},
)
BEAM = 5  # of final predictions


class CaptionRecipe(Recipe):
    """All settings of the training of a captioner."""

    task: Literal["caption"] = Field("caption", description="What is learned, named by the verb that uses it.")
    data: CaptionDataSettings = Field(default_factory=CaptionDataSettings)
    model: CaptionerConfig

    metrics = (replace(EXACT, at_validations=True, unit="%", scale=PERCENT), BLEU, CHRF)
    usual_model = MappingProxyType({"size": "tiny", "vocabulary": 1, "dropout": 0.0})
    usual_train = MappingProxyType({"label_smoothing": 0.0})


class Captions(Task):
    """Learns to describe an image in words."""

    name = "caption"
    title = "A Transformer that learns to describe images"
    unit, units = "image", "images"
    held_units, predictions, predicted_by = "images", "captions", "greedy"
    recipe = CaptionRecipe
    kinds = ("captioner",)
    tokens = "patches and tokens"
    rules = BudgetRules(
        rate=5e-3,
        train={"optimiser": "muon", "weight_decay": 0.02},
        batch_tokens=(2048, 4096),
        weights_per_token=4,
        tokens_per_weight=10,
        dropout=((10.0, 0.0), (40.0, 0.1), (100.0, 0.2)),
    )
    decided_names = ("model.vocabulary",)

    # Data

    def read(self, recipe: CaptionRecipe, listener: Listener) -> Material:
        encoder = recipe.model.encoder
        model = (encoder.image, encoder.channels) if recipe.train.start_from else None
        found = read_captioned_images(recipe.data, model=model, seed=recipe.train.seed, listener=listener)
        test = found.facts.get("test")
        return Material(found.train, found.count, found.valid, found.fingerprints, test=test, facts=found.facts)

    def read_held(self, files: Sequence[str], recipe: CaptionRecipe, listener: Listener) -> list[CaptionedImage]:
        if not files:
            raise DataError("Got no file; give a table of image files and captions, or `scenes`.")
        seed, channels = recipe.train.seed, recipe.model.encoder.channels
        return read_held_captions(files, recipe.data, channels, seed, listener)

    def decided(self, recipe: CaptionRecipe, material: Material) -> CaptionRecipe:
        shape, pixels = material.facts["shape"], material.facts["pixels"]
        data = {
            "image": shape.size,
            "mean": recipe.data.mean or pixels["mean"],
            "std": recipe.data.std or pixels["std"],
        }
        model = recipe.model
        if not recipe.train.start_from:
            chosen = {"image": shape.size, "channels": shape.channels}
            if not model.encoder.model_fields_set & {"patch", "size"}:
                chosen["patch"] = usual_patch(shape.size, GRID)
            model = model.decided({"encoder": model.encoder.decided(chosen)})
        if not all(grid_of(shape.size, model.encoder.patch)):
            raise SettingsError(
                f"Images of {sized(shape.size)} pixels are smaller than a patch ({sized(model.encoder.patch)}). Set a "
                "smaller model.encoder.patch, or a larger data.image."
            )
        return recipe.decided({"data": recipe.data.decided(data), "model": model})

    def inherited(self, recipe: CaptionRecipe, base: CaptionRecipe) -> CaptionRecipe:
        return recipe.with_open("data", {name: getattr(base.data, name) for name in ("image", "mean", "std")})

    def keeps_heads(self, recipe: CaptionRecipe, base: CaptionRecipe) -> bool:
        return bool(recipe.data.image == base.data.image)

    def make_tokenizers(self, recipe: CaptionRecipe, material: Material, listener: Listener) -> dict[str, Tokenizer]:
        texts = (caption for one in material.train() for caption in one.captions)
        tokenizer = tokenizer_for(recipe.text, texts, progress=listener.on_count)
        return {TOKENIZER: tokenizer}

    def fitted(self, recipe: CaptionRecipe, tokenizers: Tokenizers) -> CaptionRecipe:
        if recipe.text.kind == "imported":
            return recipe
        return recipe.decided({"model": recipe.model.decided({"vocabulary": len(tokenizers[TOKENIZER])})})

    # Batches

    def encoding(self, recipe: CaptionRecipe) -> str:
        return json.dumps([recipe.data.image, recipe.model.encoder.channels, longest_of(recipe)])

    def encode(self, setup: Setup, examples: Sequence[CaptionedImage]) -> Encoded:
        """The bytes of the images, and the ids of all their captions. Captions that are too long are cut."""
        most = longest_of(setup.recipe)
        ids = setup.tokenizer.encode_batch([caption for one in examples for caption in one.captions])
        cut = sum(len(row) > most for row in ids)
        rows, ends, place = list[list[int]](), list[list[int]](), 0
        for one in examples:
            own = [row[:most] for row in ids[place : place + len(one.captions)]]
            place += len(one.captions)
            rows.append([number for row in own for number in row])
            ends.append(np.cumsum([len(row) for row in own]).tolist())
        images = bytes_column(np.stack([one.pixels for one in examples]))
        return Encoded(Columns({"image": images, "caption": Ragged.of(rows), "ends": Ragged.of(ends)}), cut=cut)

    def limit(self, recipe: Any, *, held: bool) -> str:  # noqa: ARG002
        return "unreadable"

    def cut_to(self, recipe: CaptionRecipe) -> str:
        return f"{longest_of(recipe)} tokens of a caption"

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        return pool_of(setup, columns, is_training=True)

    def pool_held(self, setup: Setup, columns: Columns) -> Pool:
        return pool_of(setup, columns)

    def to_json(self, example: CaptionedImage) -> Any:
        pixels = base64.b64encode(example.pixels.tobytes()).decode()
        return [example.name, example.pixels.shape, pixels, example.captions]

    def tried_with(self, recipe: Any) -> str:  # noqa: ARG002
        return "IMAGE"

    def from_json(self, example: Any) -> CaptionedImage:
        name, shape, pixels, captions = example
        image = np.frombuffer(base64.b64decode(pixels), dtype=np.uint8).reshape(shape)
        return CaptionedImage(name, image, tuple(captions))

    # The model

    def build(self, setup: Setup) -> Any:
        return build("captioner", setup.recipe.model.model_dump())

    def sides(self, model: Any) -> tuple[nn.Module, ...]:
        return model.encoder, model.decoder

    def ladder(self, recipe: CaptionRecipe) -> list[dict[str, Any]]:
        """The same shape for encoder and decoder; the encoder keeps its own if the user chose it."""
        encoder = recipe.model.encoder
        is_chosen = bool(encoder.model_fields_set & SHAPE)
        return [{**sizes, "encoder": encoder if is_chosen else encoder.decided(sizes)} for sizes in LADDER]

    def model_for(self, config: Any) -> Any:
        return build("captioner", {**config.model_dump(), "vocabulary": 1})

    def shape(self, recipe: CaptionRecipe) -> str:
        model, encoder = recipe.model, recipe.model.encoder
        patches = f"patches of {sized(encoder.patch)}"
        return f"{encoder.N}+{model.N} layers, d {model.d}, {model.h} heads, d_ff {model.d_ff}, {patches}"

    def loss(self, setup: Setup, model: Any, batch: CaptionBatch) -> tuple[Tensor, int]:
        return token_loss(model, batch, label_smoothing=setup.recipe.train.label_smoothing)

    def losses(self, setup: Setup, model: Any, batch: CaptionBatch) -> list[tuple[float, float]]:
        return token_losses(model, batch, vocabulary=self.output_width(setup))

    # Using it

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> ImageModel:
        extras = {"image": image_extras(setup.recipe.data)}
        found = ImageModel(Bundle("captioner", model, setup.tokenizer, marks_of(setup), extras))
        found.origin = origin
        return found

    def predict(self, user: ImageModel, examples: Sequence[CaptionedImage]) -> list[str]:
        return captions_by(user, examples, beam=1)

    def predict_best(
        self, user: Any, examples: Sequence[CaptionedImage], *, beam: int | None = None, progress: Any = None
    ) -> tuple[list[str], str]:
        width, found = beam or BEAM, list[str]()
        for index in self.groups(user, examples):
            found += captions_by(user, [examples[i] for i in index], beam=width)
            if progress is not None:
                progress(len(index))
        return found, f"beam {width}" if width > 1 else "greedy"

    def closing_cost(self, recipe: Any) -> float:  # noqa: ARG002
        return 3.0  # a beam is slower than greedy decoding

    def question(self, example: CaptionedImage) -> tuple[str, tuple[str, ...]]:
        return example.name, example.captions

    def report_parts(self, user: ImageModel, found: Evaluation, prepared: Any) -> ReportParts:  # noqa: ARG002
        """Examples, right and wrong, and what each word of some captions looks at."""
        return ReportParts({"galleries": [*caption_gallery(found), *heat_galleries(user, found)]})

    def in_words(self, setup: Setup, batch: CaptionBatch) -> list[dict[str, str]]:
        rows = zip(batch.index.tolist(), batch.target_out.tolist(), batch.target_lengths.tolist(), strict=True)
        return [
            {"image": f"number {number}", "caption": setup.tokenizer.decode(ids[: length - 1])}
            for number, ids, length in rows
        ]

    def texts(self, examples: Sequence[CaptionedImage]) -> Mapping[str, Sequence[str]]:
        return {TOKENIZER: [caption for one in examples for caption in one.captions]}

    def metrics_for(self, recipe: Any) -> tuple[Metric, ...]:  # noqa: ARG002
        return self.metrics


def captions_by(user: ImageModel, examples: Sequence[CaptionedImage], *, beam: int) -> list[str]:
    pictures = [NamedPicture(one.name, one.pixels) for one in examples]
    longest = cast(CaptionerConfig, user.model.config).max_length
    options = GenerateOptions(max_new=longest, beam=beam)
    return [found[0].text for found in user.captioned(pictures, options)]


def longest_of(recipe: CaptionRecipe) -> int:
    """Tokens of a caption, without the begin or end mark."""
    return min(recipe.data.max_tokens, recipe.model.max_length) - 1


def pool_of(setup: Setup, columns: Columns, *, is_training: bool = False) -> CaptionedImages:
    data, encoder, tokenizer = setup.recipe.data, setup.recipe.model.encoder, setup.tokenizer
    scale = PixelScale((*data.image, encoder.channels), data.mean, data.std, data.augment, is_training)
    down, across = grid_of(data.image, encoder.patch)
    marks = Marks(pad=tokenizer.pad_id or 0, bos=tokenizer.bos_id or 0, eos=tokenizer.eos_id or 0)
    return CaptionedImages(columns, scale, 1 + down * across, marks)


def marks_of(setup: Setup) -> SpecialIds:
    tokenizer = setup.tokenizer
    return SpecialIds(bos=tokenizer.bos_id, eos=tokenizer.eos_id, pad=tokenizer.pad_id, start=tokenizer.bos_id)
