"""Translation: from sentences in two languages to a model that translates, measured and explained.

Training is imported only when it is used, so that a translation does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from glassformer.tasks.translation.loading import load
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.translator import Translation, Translator

if TYPE_CHECKING:
    from glassformer.tasks.training import train_translator

__all__ = ["Translation", "TranslationRecipe", "Translator", "load", "train_translator"]


def __getattr__(name: str) -> Any:
    if name != "train_translator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from glassformer.tasks import training

    return training.train_translator
