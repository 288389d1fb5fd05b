"""Translation: from sentences in two languages to a model that translates, measured and explained."""

from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.training import train_translator
from glassformer.tasks.translation.translator import Translation, Translator, load

__all__ = ["Translation", "TranslationRecipe", "Translator", "load", "train_translator"]
