"""The recipe: everything that decides a translation run, gathered from the rooms' own settings."""

from __future__ import annotations

import tomllib
from typing import Any

from pydantic import Field, model_validator

from glassformer.config import Settings, merge, validate
from glassformer.data.settings import DataSettings
from glassformer.decode.settings import DecodeSettings
from glassformer.errors import RunError
from glassformer.models.transformer import TransformerConfig
from glassformer.store.run import CONFIG, RunFolder
from glassformer.text.settings import TextSettings
from glassformer.train.settings import TrainSettings


class TranslationRecipe(Settings):
    """Everything that decides a translation run."""

    out: str | None = Field(None, description="Folder of the run; --out says the same.")
    data: DataSettings = Field(default_factory=DataSettings)
    text: TextSettings = Field(default_factory=TextSettings)
    model: TransformerConfig = Field(default_factory=lambda: TransformerConfig.model_validate({}))
    train: TrainSettings = Field(default_factory=TrainSettings)
    decode: DecodeSettings = Field(default_factory=DecodeSettings)

    @model_validator(mode="before")
    @classmethod
    def _separate_vocabularies(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Two vocabularies cannot share one embedding: without a word on `tied`, only target and output are tied."""
        text, model = values.get("text"), values.get("model", {})
        if isinstance(text, dict) and text.get("shared") is False and isinstance(model, dict):
            values = {**values, "model": {"tied": "output", **model}}
        return values

    @model_validator(mode="after")
    def _tied_needs_shared(self) -> TranslationRecipe:
        if self.model.tied == "all" and not self.text.shared:
            raise ValueError("model.tied = 'all' needs text.shared = true; with two vocabularies: output or none")
        return self

    @model_validator(mode="after")
    def _positions_for_all(self) -> TranslationRecipe:
        if self.model.positions == "learned" and self.data.max_tokens >= self.model.max_length:
            raise ValueError(
                f"learned positions need model.max_length > data.max_tokens; they are {self.model.max_length} and "
                f"{self.data.max_tokens}"
            )
        return self


def as_begun(then: TranslationRecipe, now: TranslationRecipe) -> TranslationRecipe:
    """`now`, with all that it does not set as it was chosen `then`: a budget is spent only once."""
    return validate(TranslationRecipe, merge(then.model_dump(), now.model_dump(exclude_unset=True)))


def read_recipe(run: RunFolder) -> TranslationRecipe:
    """The resolved settings of a run."""
    try:
        tree = tomllib.loads(run.config_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{run.path / CONFIG}: damaged ({error}). Restore it from a copy.") from None
    if kind := tree.get("kind"):
        raise RunError(f"{run.path} holds a model of the kind {kind!r}, not a translator.")
    return validate(TranslationRecipe, tree, origin=str(run.path / CONFIG))
