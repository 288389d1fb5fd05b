"""Masked language modelling: find the masked tokens of a text from both sides. BERT and RoFormer.

Texts are packed into windows of data.max_tokens tokens. In each window some tokens are masked, others every time it
is seen. Only the masked places go through the vocabulary. Shapes: B windows, T tokens, M masked tokens, D width,
V vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from glassformer.config import validate
from glassformer.data.columns import Columns, Encoded, Pool
from glassformer.data.masked_windows import MaskedBatch, MaskedWindows, encode_packed, with_fixed_masks
from glassformer.data.masking import Masking
from glassformer.data.settings import MaskedTextSettings
from glassformer.data.windows import Text
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.masked_words import MASKED_ACCURACY, MASKED_PERPLEXITY
from glassformer.evaluate.metric import Counts, Metric
from glassformer.models.bert import BertConfig
from glassformer.models.registry import build
from glassformer.models.roformer import RoFormerConfig
from glassformer.nn.vocabulary_loss import tokens_at_a_time
from glassformer.store.bundle import Bundle, SpecialIds, frame_for
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.language_modelling import paired_by_bytes
from glassformer.tasks.masked_words_tables import word_tables
from glassformer.tasks.text_task import TextTask
from glassformer.text import MASK, Tokenizer, tokenizer_for
from glassformer.text.framing import with_frame
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.recipe import Recipe
from glassformer.training.task import TOKENIZER, Listener, Material, ReportParts, Setup, Tokenizers

FORMAT = "masked windows 1"  # of the token cache
LADDERS: dict[str, tuple[dict[str, Any], ...]] = {  # largest first
    "bert": (
        {"size": "mini", "N": 4, "d": 256, "h": 4, "d_ff": 1024},
        {"size": "tiny", "N": 4, "d": 128, "h": 4, "d_ff": 512},
        {"size": "tiny", "N": 2, "d": 128, "h": 2, "d_ff": 512},
    ),
    "roformer": (
        {"size": "tiny", "N": 4, "d": 256, "h": 4, "d_ff": 1024},
        {"size": "tiny", "N": 4, "d": 128, "h": 4, "d_ff": 512},
        {"size": "tiny", "N": 2, "d": 128, "h": 2, "d_ff": 512},
    ),
}


class MaskedRecipe(Recipe):
    """All settings of the training of a model that finds masked words."""

    task: Literal["fill"] = Field("fill", description="What is learned, named by the verb that uses it.")
    data: MaskedTextSettings = Field(default_factory=MaskedTextSettings)
    model: Annotated[BertConfig | RoFormerConfig, Field(discriminator="kind")]

    metrics = (MASKED_ACCURACY, MASKED_PERPLEXITY)
    # From the start, rotary positions learn much sooner than BERT's. The tokenizer decides the vocabulary.
    usual_model = MappingProxyType({"kind": "roformer", "vocabulary": 1})
    usual_train = MappingProxyType({"label_smoothing": 0.0})  # smoothing would raise the perplexity


class MaskedLanguageModelling(TextTask):
    """Learns to find masked words."""

    name = "fill"
    title = "A Transformer that learns to fill in masked words"
    unit, units = "window", "windows"
    recipe = MaskedRecipe
    kinds = ("bert", "roformer")
    rules = BudgetRules(
        rate=1.5e-2,  # low rates stay long at the frequencies of the words
        batch_tokens=(2048, 8192),
        weights_per_token=20,
        tokens_per_weight=1.0,
        quick_predictions=True,
    )
    decided_names = ("model.vocabulary", "model.head", "model.pooler")
    adjusted_names = ("model.max_length", "data.max_tokens")
    held_units = "windows"

    # Data

    def decided(self, recipe: MaskedRecipe, material: Material) -> MaskedRecipe:  # noqa: ARG002
        """The head finds words. Nothing would train a pooler."""
        pooler = {"pooler": False} if isinstance(recipe.model, BertConfig) else {}
        return recipe.decided({"model": recipe.model.decided({"head": "words", **pooler})})

    def make_tokenizers(self, recipe: MaskedRecipe, material: Material, listener: Listener) -> dict[str, Tokenizer]:
        """With a mask token. Its file puts the begin and end marks around texts."""
        texts = (piece for piece, _, _ in material.train())
        tokenizer = tokenizer_for(recipe.text, texts, extra=(MASK,), progress=listener.on_count)
        return {TOKENIZER: with_frame(tokenizer, frame_for(tokenizer, SpecialIds.of_encoder(tokenizer)))}

    def fitted(self, recipe: MaskedRecipe, tokenizers: Tokenizers) -> MaskedRecipe:
        """A new model has as many positions as a window; windows are no longer than a start model's positions."""
        tokenizer, model = tokenizers[TOKENIZER], recipe.model
        if tokenizer.mask_id is None:
            raise SettingsError(
                f"--from {recipe.train.start_from}: its vocabulary has no mask token ({MASK} or [MASK]), so it cannot "
                "learn to fill in words. Start from another model, or train a new one without --from."
            )
        if recipe.text.kind == "imported" or recipe.train.start_from:
            return self.within_positions(recipe)
        longest = model.max_length if "max_length" in model.model_fields_set else recipe.data.max_tokens
        recipe = recipe.decided({"model": model.decided({"vocabulary": len(tokenizer), "max_length": longest})})
        return self.within_positions(recipe)

    def within_positions(self, recipe: MaskedRecipe) -> MaskedRecipe:
        size, longest = recipe.data.max_tokens, recipe.model.max_length
        if size <= longest:
            return recipe
        if "max_tokens" in recipe.data.model_fields_set:
            model = recipe.train.start_from or "the model (model.max_length)"
            raise SettingsError(f"data.max_tokens = {size}, but {model} reads at most {longest} tokens. Lower it.")
        return recipe.decided({"data": recipe.data.decided({"max_tokens": longest})})

    # Ids and batches

    def encoding(self, recipe: MaskedRecipe) -> str:
        return json.dumps([recipe.data.max_tokens, FORMAT])

    def encode(self, setup: Setup, examples: Sequence[Text]) -> Encoded:
        size, tokenizer = setup.recipe.data.max_tokens, setup.tokenizer
        return encode_packed(
            examples, tokenizer, size=size, frame=frame_for(tokenizer, SpecialIds.of_encoder(tokenizer))
        )

    def encode_held(self, setup: Setup, examples: Sequence[Text]) -> Encoded:
        """Their masks are a function of each window, so that every validation of every run has the same."""
        return Encoded(with_fixed_masks(self.encode(setup, examples).columns, masking_of(setup)))

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        return MaskedWindows(columns, setup.tokenizer.pad_id or 0, masking_of(setup))

    # The model

    def build(self, setup: Setup) -> Any:
        return build(setup.recipe.model.kind, setup.recipe.model.model_dump())

    def ladder(self, recipe: MaskedRecipe) -> list[dict[str, Any]]:
        return [dict(sizes) for sizes in LADDERS[recipe.model.kind]]

    def model_for(self, config: Any) -> Any:
        return build(config.kind, {**config.model_dump(), "vocabulary": 1})

    def output_width(self, setup: Setup) -> int:
        return round(setup.recipe.data.mask_rate * len(setup.tokenizer))  # only masked tokens are predicted

    def loss(self, setup: Setup, model: Any, batch: MaskedBatch) -> tuple[Tensor, int]:
        """Cross-entropy of the true tokens at the masked places."""
        smoothing = setup.recipe.train.label_smoothing
        hidden = masked_rows(model, batch, compiled=setup.recipe.train.compile)
        return model.head.loss(hidden, batch.labels, label_smoothing=smoothing), batch.weight

    def losses(self, setup: Setup, model: Any, batch: MaskedBatch) -> list[tuple[float, ...]]:  # noqa: ARG002
        """The summed loss of each window, its masked tokens, and how many of them are found."""
        log_probs, guesses = label_log_probs(model, batch)
        each = torch.stack([-log_probs, torch.ones_like(log_probs), (guesses == batch.labels).to(log_probs)], dim=1)
        summed = each.new_zeros(len(batch.ids), 3).index_add_(0, batch.windows, each)  # (B, 3)
        return [tuple(row) for row in summed.tolist()]

    # Using it

    def tried_with(self, recipe: Any) -> str:  # noqa: ARG002
        return '"... [MASK] ..."'

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> TextEncoder:
        extras = {"max_length": setup.recipe.data.max_tokens}
        marks = SpecialIds.of_encoder(setup.tokenizer)
        found = TextEncoder(Bundle(setup.recipe.model.kind, model, setup.tokenizer, marks, extras))
        found.origin = origin
        return found

    def groups(self, user: TextEncoder, examples: Sequence[Text]) -> list[list[int]]:  # noqa: ARG002
        return []  # all of its metrics come from the losses

    def watched(self, examples: Sequence[Text], count: int) -> list[int]:  # noqa: ARG002
        return []

    def in_words(self, setup: Setup, batch: MaskedBatch) -> list[dict[str, str]]:
        """The windows with their masks; what is to be found is beside them."""
        tokenizer, words = setup.tokenizer, [""] * len(batch.ids)
        for window, label in zip(batch.windows.tolist(), batch.labels.tolist(), strict=True):
            words[window] += f" {tokenizer.pieces_of([label])[0]}"
        rows = zip(batch.ids.tolist(), batch.lengths.tolist(), words, strict=True)
        return [
            {"text": text_with_masks(tokenizer, ids[:length]), "masked": found.strip()} for ids, length, found in rows
        ]

    def texts(self, examples: Sequence[Text]) -> dict[str, Sequence[str]]:
        return {TOKENIZER: [text for text, _, _ in examples]}

    def report_parts(self, user: TextEncoder, found: Evaluation, prepared: Any) -> ReportParts:  # noqa: ARG002
        """The words that are found most easily, and those that are not, each with one of its contexts."""
        if not isinstance(found.pool, MaskedWindows):
            return ReportParts()
        return ReportParts({"tables": word_tables(user, found.pool, label_log_probs)})

    def compared_by(self, setups: Mapping[str, Setup], examples: Sequence[Text]) -> tuple[Metric, ...]:  # noqa: ARG002
        """With different vocabularies, other and more or fewer tokens are masked."""
        (first, one), *others = setups.items()
        for name, setup in others:
            if setup.tokenizer.fingerprint() != one.tokenizer.fingerprint():
                raise DataError(
                    f"{first} and {name} have different vocabularies: a masked token is not the same amount of text, "
                    "so they cannot be compared. Compare what is built on them, such as two classifiers."
                )
        return self.metrics

    def paired_counts(self, counts: Sequence[Counts], pools: Sequence[Pool | None]) -> list[Counts]:
        return paired_by_bytes(counts, pools)

    # Starting from another model

    def recipe_of(self, bundle: Bundle) -> MaskedRecipe | None:
        """An imported model with a head for words can do this as it is."""
        config: Any = bundle.model.config
        if bundle.tokenizer is None or bundle.tokenizer.mask_id is None:
            return None
        if config.head != "words" or getattr(config, "pooler", False):
            return None  # the head is kept anyway, if there is one
        tree = {
            "text": {"kind": "imported", "vocab_size": max(8, len(bundle.tokenizer))},
            "model": config.model_dump(exclude_none=True),
            "data": {"max_tokens": min(MaskedTextSettings().max_tokens, config.max_length)},
        }
        return validate(MaskedRecipe, tree, origin="the imported model")


def masked_rows(model: Any, batch: MaskedBatch, *, compiled: bool = False) -> Tensor:
    """The last hidden states at the masked places (M, D). A compiled model computes those of all places."""
    if compiled:
        hidden: Tensor = model.hidden(batch)  # (B, T, D)
        return hidden.flatten(0, 1).index_select(0, batch.places)
    found: Tensor = model.hidden_at(batch, batch.places)
    return found


def label_log_probs(model: Any, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
    """(M,) the log-probability of the true token at each masked place, and the most likely token there."""
    hidden = masked_rows(model, batch)
    size = tokens_at_a_time(len(hidden), model.config.vocabulary)
    dtype = torch.promote_types(hidden.dtype, torch.float32)
    found = [hidden.new_empty(0, dtype=dtype)], [batch.labels[:0]]
    for part, labels in zip(hidden.split(size), batch.labels.split(size), strict=True):
        logits = model.head(part).to(dtype)  # (m, V)
        found[0].append(logits.log_softmax(dim=-1).gather(1, labels[:, None])[:, 0])
        found[1].append(logits.argmax(dim=-1))
    return torch.cat(found[0]), torch.cat(found[1])


def masking_of(setup: Setup) -> Masking:
    data, tokenizer = setup.recipe.data, setup.tokenizer
    assert tokenizer.mask_id is not None  # `fitted` has refused it
    return Masking.of(tokenizer, tokenizer.mask_id, rate=data.mask_rate, whole_words=data.whole_words)


def text_with_masks(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Ids as text, a mask written as [MASK]."""
    parts: list[list[int]] = [[]]
    for number in ids:
        if number == tokenizer.mask_id:
            parts.append([])
        else:
            parts[-1].append(number)
    return " [MASK] ".join(text.strip() for text in tokenizer.decode_batch(parts)).strip()
