"""The recipe of a translation run."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from glassformer.config import validate
from glassformer.data.settings import DataSettings
from glassformer.decode.settings import DecodeSettings
from glassformer.errors import RunError
from glassformer.evaluate.translation import BLEU, CHRF, EXACT
from glassformer.models.lstm import LstmConfig
from glassformer.models.rnn_attention import RnnAttentionConfig
from glassformer.models.transformer import TransformerConfig
from glassformer.store.bundle import read_settings
from glassformer.store.run import CONFIG, RunFolder
from glassformer.training.recipe import Recipe


class TranslationRecipe(Recipe):
    """All settings of a translation run."""

    task: Literal["translate"] = Field("translate", description="What is learned, named by the verb that uses it.")
    data: DataSettings = Field(default_factory=DataSettings)
    model: Annotated[TransformerConfig | LstmConfig | RnnAttentionConfig, Field(discriminator="kind")]
    decode: DecodeSettings = Field(default_factory=DecodeSettings)

    metrics = (BLEU, CHRF, EXACT)
    usual_model = MappingProxyType({"kind": "transformer"})

    @model_validator(mode="before")
    @classmethod
    def _separate_vocabularies(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Two vocabularies cannot share one embedding: if `tied` is not set, only target and output are tied."""
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
        longest = positions_of(self.model)
        if longest is not None and self.data.max_tokens >= longest:
            raise ValueError(
                f"learned positions need model.max_length > data.max_tokens; they are {longest} and "
                f"{self.data.max_tokens}"
            )
        return self


def positions_of(model: Any) -> int | None:
    """How many positions the model of these settings has learned; None: texts may have any length."""
    return model.max_length if getattr(model, "positions", "") == "learned" else None


def read_recipe(run: RunFolder) -> TranslationRecipe:
    """The resolved settings of a run that translates."""
    tree = read_settings(run.path)
    if "marks" in tree:
        raise RunError(f"{run.path} is an imported model: it has no training recipe.")
    return validate(TranslationRecipe, tree, origin=str(run.path / CONFIG))
