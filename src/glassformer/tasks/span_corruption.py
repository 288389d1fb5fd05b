"""Span corruption, the pre-training of T5: removed spans of any text are written again.

The result is a start (`--from`) for `rewrite` and `summarise`. The task is called `infill`, after the command that
uses the result itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field
from torch import Tensor, nn

from glassformer import limits
from glassformer.data.batches import Batch, Marks
from glassformer.data.columns import Columns, Encoded, Pool
from glassformer.data.settings import TextDataSettings
from glassformer.data.spans import SENTINEL, SENTINELS, CorruptedWindows, Corruption, encode_packed
from glassformer.data.windows import Text
from glassformer.errors import SettingsError
from glassformer.evaluate.perplexity import PERPLEXITY
from glassformer.models.registry import build, sizes
from glassformer.models.t5 import T5Config
from glassformer.store.bundle import Bundle
from glassformer.tasks.infilling import Infiller
from glassformer.tasks.text_task import TextTask
from glassformer.tasks.text_to_text import marks_of, rows_in_words
from glassformer.text import Tokenizer, tokenizer_for
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.objective import token_loss, token_losses
from glassformer.training.recipe import Recipe
from glassformer.training.task import TOKENIZER, Listener, Material, Setup, Tokenizers

LADDER = ("small", "medium", "mini", "tiny")


class SpanDataSettings(TextDataSettings):
    """Texts, and how much of them is removed."""

    share: float = Field(0.15, ge=0.01, le=0.9, description="Share of the tokens that are removed.")
    span: float = Field(3.0, ge=1, le=100, description="Mean length of a removed span, in tokens.")
    max_tokens: int = Field(256, ge=3, le=limits.TOKENS, description="Tokens of a window of text, before removal.")


class SpanRecipe(Recipe):
    """All settings of pre-training by span corruption."""

    task: Literal["infill"] = Field("infill", description="What is learned, named by the verb that uses it.")
    data: SpanDataSettings = Field(default_factory=SpanDataSettings)
    model: T5Config = Field(default_factory=lambda: T5Config.model_validate({}))

    metrics = (PERPLEXITY,)
    usual_train = MappingProxyType({"label_smoothing": 0.0})  # smoothing would raise the perplexity


class SpanCorruption(TextTask):
    """Learns to write what was removed from a text."""

    name = "infill"
    title = "A T5 that learns to fill gaps"
    unit, units = "window", "windows"
    held_units = "windows"
    recipe = SpanRecipe
    kinds = ("t5",)
    rules = BudgetRules(batch_tokens=(1024, 8192), weights_per_token=20, tokens_per_weight=1.0, quick_predictions=True)
    fine_tuning = MappingProxyType({"epochs": 10.0, "warmup": None})
    rate_factor, highest_rate = 20 / 3, 4e-3  # 5e-4 for T5 small's width; narrow models learn faster
    decided_names = ("model.vocabulary",)

    def make_tokenizers(self, recipe: SpanRecipe, material: Material, listener: Listener) -> dict[str, Tokenizer]:
        """With one special token for each span that may be removed, as in T5's own vocabulary."""
        texts = (one for one, _, _ in material.train())
        tokenizer = tokenizer_for(
            recipe.text,
            texts,
            extra=[SENTINEL.format(number) for number in range(SENTINELS)],
            progress=listener.on_count,
        )
        return {TOKENIZER: tokenizer}

    def fitted(self, recipe: SpanRecipe, tokenizers: Tokenizers) -> SpanRecipe:
        sentinels_of(tokenizers[TOKENIZER])
        if recipe.text.kind == "imported":  # some of these have more rows than tokens
            return recipe
        return recipe.decided({"model": recipe.model.decided({"vocabulary": len(tokenizers[TOKENIZER])})})

    def encoding(self, recipe: SpanRecipe) -> str:
        return f"packed {recipe.data.max_tokens}"

    def encode(self, setup: Setup, examples: Sequence[Text]) -> Encoded:
        end = marks_of(setup).eos
        assert end is not None
        return encode_packed(examples, setup.tokenizer, size=setup.recipe.data.max_tokens, end=end)

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        data, marks, sentinels = setup.recipe.data, marks_of(setup), sentinels_of(setup.tokenizer)
        assert marks.eos is not None
        assert marks.start is not None
        corruption = Corruption(data.share, data.span, len(sentinels))
        return CorruptedWindows(columns, Marks(marks.pad or 0, marks.start, marks.eos), sentinels, corruption)

    def build(self, setup: Setup) -> Any:
        return build("t5", setup.recipe.model.model_dump())

    def sides(self, model: Any) -> tuple[nn.Module, ...]:
        return model.encoder, model.decoder

    def ladder(self, recipe: SpanRecipe) -> list[dict[str, Any]]:  # noqa: ARG002
        return [{"size": name, **sizes("t5")[name]} for name in LADDER]

    def model_for(self, config: Any) -> Any:
        return build("t5", {**config.model_dump(), "vocabulary": 1})

    def loss(self, setup: Setup, model: Any, batch: Batch) -> tuple[Tensor, int]:
        return token_loss(model, batch, label_smoothing=setup.recipe.train.label_smoothing)

    def losses(self, setup: Setup, model: Any, batch: Batch) -> list[tuple[float, float]]:
        return token_losses(model, batch, vocabulary=setup.recipe.model.vocabulary)

    def shape(self, recipe: SpanRecipe) -> str:
        model = recipe.model
        return f"{model.N}+{model.N_decoder or model.N} layers, d {model.d}, {model.h} heads, d_ff {model.d_ff}"

    def tried_with(self, recipe: Any) -> str:  # noqa: ARG002
        return '"... ___ ..."'

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> Infiller:
        found = Infiller(Bundle("t5", model, setup.tokenizer, marks_of(setup)))
        found.origin = origin
        return found

    def groups(self, user: Infiller, examples: Sequence[Text]) -> list[list[int]]:  # noqa: ARG002
        return []  # its metric comes from the losses

    def watched(self, examples: Sequence[Text], count: int) -> list[int]:  # noqa: ARG002
        return []

    def texts(self, examples: Sequence[Text]) -> dict[str, Sequence[str]]:
        return {TOKENIZER: [text for text, _, _ in examples]}

    def in_words(self, setup: Setup, batch: Batch) -> list[dict[str, str]]:
        return list(rows_in_words(setup.tokenizer, batch))


def sentinels_of(tokenizer: Tokenizer) -> tuple[int, ...]:
    """The ids of <extra_id_0>, <extra_id_1>, ..., as many as the vocabulary has."""
    found: list[int] = []
    while (number := tokenizer.id(SENTINEL.format(len(found)))) is not None:
        found.append(number)
    if not found:
        raise SettingsError(
            "The vocabulary has no tokens for removed spans (<extra_id_0>, ...). Start from a T5, or from nothing."
        )
    return tuple(found)
