"""Language modelling: predict each next token of a text. GPT and Llama-type models, with or without experts.

Texts of any length are cut into windows of data.max_tokens tokens. Each token of a window is predicted from those
before it in the window. Shapes: B windows, T tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from torch import Tensor

from glassformer.data.checks.text_findings import ROW
from glassformer.data.columns import Columns, Encoded, Pool
from glassformer.data.settings import TextDataSettings
from glassformer.data.windows import Text, WindowBatch, Windows, encode_windows
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.metric import Counts, Metric
from glassformer.evaluate.perplexity import BITS_PER_BYTE, PERPLEXITY
from glassformer.models.gpt import GptConfig
from glassformer.models.llama import LlamaConfig
from glassformer.models.lstm_lm import LstmLmConfig
from glassformer.models.registry import build, sizes
from glassformer.models.sizes import has_positions, longest_text
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.tasks.generation import LanguageModel
from glassformer.tasks.text_task import TextTask
from glassformer.text import Tokenizer, tokenizer_for
from glassformer.text.framing import Frame, with_frame
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.objective import token_losses
from glassformer.training.recipe import Recipe
from glassformer.training.task import TOKENIZER, Listener, Material, Setup, Tokenizers

RESTORED = 20  # texts that are tried to see whether a vocabulary loses something
FORMAT = "windows 2"  # of the token cache: 2 has the ends of whole texts
LADDERS = {
    "gpt": ("mini", "tiny", "nano"),
    "llama": ("small", "mini", "tiny", "micro", "nano"),
    "lstm_lm": ("small", "mini", "tiny", "nano"),
}
TRIED = {
    "gpt": "tiny",
    "llama": "micro",
    "lstm_lm": "tiny",
}  # size of the model that is timed: smaller ones are slow for their size


def loss_and_bytes(losses: Counts, windows: Any) -> Counts:
    """(N, 3): summed loss, tokens, and bytes of the text."""
    return np.column_stack([losses, windows.columns["bytes"].flat])


class LanguageModelRecipe(Recipe):
    """All settings of the training of a language model."""

    task: Literal["generate"] = Field("generate", description="What is learned, named by the verb that uses it.")
    data: TextDataSettings = Field(default_factory=TextDataSettings)
    model: Annotated[GptConfig | LlamaConfig | LstmLmConfig, Field(discriminator="kind")]

    metrics = (PERPLEXITY, replace(BITS_PER_BYTE, counts=loss_and_bytes))
    usual_model = MappingProxyType(
        {"kind": "llama", "size": "tiny", "dropout": 0.1, "vocabulary": 1}
    )  # the tokenizer decides the last
    usual_train = MappingProxyType({"label_smoothing": 0.0})  # smoothing would raise the perplexity


class LanguageModelling(TextTask):
    """Learns to predict the next token of a text."""

    name = "generate"
    title = "A model that learns to write"
    unit, units = "window", "windows"
    recipe = LanguageModelRecipe
    kinds = ("gpt", "llama", "lstm_lm")
    rules = BudgetRules(
        batch_tokens=(1024, 4096),
        updates=1000,
        weights_per_token=20,
        tokens_per_weight=2.5,
        quick_predictions=True,
    )
    decided_names = ("model.vocabulary",)
    adjusted_names = ("model.max_length", "data.max_tokens")
    held_units = "windows"

    def make_tokenizers(
        self, recipe: LanguageModelRecipe, material: Material, listener: Listener
    ) -> dict[str, Tokenizer]:
        """For rows, its file puts a begin mark before texts: prompts then begin as the training texts did."""
        texts = (piece for piece, _, _ in material.train())
        tokenizer = tokenizer_for(recipe.text, texts, progress=listener.on_count)
        rows = material.facts["findings"].unit == ROW
        return {TOKENIZER: with_frame(tokenizer, Frame(before=(start_mark(tokenizer),))) if rows else tokenizer}

    def fitted(self, recipe: LanguageModelRecipe, tokenizers: Tokenizers) -> LanguageModelRecipe:
        """A model to start from has its positions: windows are no longer than that."""
        vocabulary = max(len(tokenizers[TOKENIZER]), recipe.model.vocabulary if recipe.text.kind == "imported" else 1)
        size, longest = recipe.data.max_tokens, longest_text(recipe.model)
        if recipe.train.start_from and size > longest:
            if "max_tokens" in recipe.data.model_fields_set:
                raise SettingsError(
                    f"data.max_tokens = {size}, but {recipe.train.start_from} reads at most {longest} tokens. Lower it."
                )
            recipe = recipe.decided({"data": recipe.data.decided({"max_tokens": longest})})
        longest = max(longest, recipe.data.max_tokens)
        positions = {"max_length": longest} if has_positions(recipe.model) else {}
        return recipe.decided({"model": recipe.model.decided({"vocabulary": vocabulary, **positions})})

    def encoding(self, recipe: LanguageModelRecipe) -> str:
        return f"{recipe.data.max_tokens} {FORMAT}"

    def encode(self, setup: Setup, examples: Sequence[Text]) -> Encoded:
        """Rows are whole texts: the model learns where they end."""
        size, tokenizer = setup.recipe.data.max_tokens, setup.tokenizer
        return encode_windows(examples, tokenizer, size=size, begin=start_mark(tokenizer), end=tokenizer.eos_id)

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        return Windows(columns, setup.tokenizer.pad_id or 0)

    def build(self, setup: Setup) -> Any:
        return build(setup.recipe.model.kind, setup.recipe.model.model_dump())

    def ladder(self, recipe: LanguageModelRecipe) -> list[dict[str, Any]]:
        kind, known = recipe.model.kind, sizes(recipe.model.kind)
        positions = {"max_length": recipe.data.max_tokens} if has_positions(recipe.model) else {}
        return [{"size": name, **known[name], **positions} for name in LADDERS[kind]]

    def trial_model(self, recipe: LanguageModelRecipe) -> dict[str, Any]:
        return next(one for one in self.ladder(recipe) if one["size"] == TRIED[recipe.model.kind])

    def model_for(self, config: Any) -> Any:
        return build(config.kind, {**config.model_dump(), "vocabulary": 1})

    def loss(self, setup: Setup, model: Any, batch: WindowBatch) -> tuple[Tensor, int]:
        """Cross-entropy of each next token; for a model with experts, also a penalty for uneven use of them."""
        hidden, balance = hidden_and_balance(model, batch)
        smoothing = setup.recipe.train.label_smoothing
        summed = model.head.loss(batch.real(hidden), batch.real(batch.target_out), label_smoothing=smoothing)
        if balance is not None:
            summed = summed + setup.recipe.model.balance * balance * batch.weight
        return summed, batch.weight

    def losses(self, setup: Setup, model: Any, batch: WindowBatch) -> list[tuple[float, float]]:
        return token_losses(model, batch, vocabulary=setup.recipe.model.vocabulary)

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> LanguageModel:
        tokenizer = setup.tokenizer
        marks = SpecialIds(bos=start_mark(tokenizer), eos=tokenizer.eos_id, pad=tokenizer.pad_id)
        found = LanguageModel(Bundle(setup.recipe.model.kind, model, tokenizer, marks))
        found.origin = origin
        return found

    def groups(self, user: LanguageModel, examples: Sequence[Text]) -> list[list[int]]:  # noqa: ARG002
        return []  # all of its metrics come from the losses

    def watched(self, examples: Sequence[Text], count: int) -> list[int]:  # noqa: ARG002
        return []

    def texts(self, examples: Sequence[Text]) -> dict[str, Sequence[str]]:
        return {TOKENIZER: [text for text, _, _ in examples]}

    def compared_by(self, setups: Mapping[str, Setup], examples: Sequence[Text]) -> tuple[Metric, ...]:
        """With different vocabularies a token is not the same amount of text: only bits per byte can be compared."""
        if len({setup.tokenizer.fingerprint() for setup in setups.values()}) == 1:
            return self.metrics
        some = [text for text, _, _ in examples[:RESTORED]]
        for name, setup in setups.items():
            if not restores(setup.tokenizer, some):
                raise DataError(
                    f"{name} has another vocabulary, which cannot restore these texts (unknown words, or lower case): "
                    "it predicts less than the whole text, so its bits per byte cannot be compared."
                )
        return (self.metrics[1],)

    def paired_counts(self, counts: Sequence[Counts], pools: Sequence[Pool | None]) -> list[Counts]:
        return paired_by_bytes(counts, pools)

    def in_words(self, setup: Setup, batch: WindowBatch) -> list[dict[str, str]]:
        rows = zip(batch.target_out.tolist(), batch.lengths.tolist(), strict=True)
        return [{"text": setup.tokenizer.decode(row[:length])} for row, length in rows]


def paired_by_bytes(counts: Sequence[Counts], pools: Sequence[Pool | None]) -> list[Counts]:
    """Different vocabularies and window sizes cut the text at different places: counts are moved to common ones."""
    ends: list[Counts] = [np.cumsum(pool.columns["bytes"].flat, dtype=np.float64) for pool in pools if pool is not None]
    if all(np.array_equal(own, ends[0]) for own in ends):
        return list(counts)
    blocks = np.linspace(0, ends[0][-1], min(map(len, ends)) + 1)
    return [counts_between(blocks, own, upto) for own, upto in zip(counts, ends, strict=True)]


def counts_between(blocks: Counts, counts: Counts, ends: Counts) -> Counts:
    """(blocks - 1, C): counts of windows that end at `ends`, distributed over blocks of bytes. The sum is unchanged."""
    totals = np.cumsum(counts, axis=0)
    upto = [np.interp(blocks, [0, *ends], [0, *column]) for column in totals.T]
    return np.diff(np.stack(upto, axis=1), axis=0)


def restores(tokenizer: Tokenizer, texts: Sequence[str]) -> bool:
    """Whether nothing of the texts is lost in tokens, except for space at their ends."""
    decoded = tokenizer.decode_batch(tokenizer.encode_batch(texts))
    return all(one.strip() == text.strip() for one, text in zip(decoded, texts, strict=True))


def hidden_and_balance(model: Any, batch: WindowBatch) -> tuple[Tensor, Tensor | None]:
    if getattr(model.config, "experts", None):
        found: tuple[Tensor, Tensor | None] = model.hidden_and_balance(batch)
        return found
    return model.hidden(batch), None


def start_mark(tokenizer: Tokenizer) -> int:
    """The token that a text begins from."""
    marks = (tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id)
    return next((mark for mark in marks if mark is not None), 0)
