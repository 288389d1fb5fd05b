"""Generated text: continuations of a prompt (decoders), or answers to a text (encoder-decoders)."""

from glassformer.tasks.generation.generator import Continuation
from glassformer.tasks.generation.language_model import LanguageModel, Scored
from glassformer.tasks.generation.options import GenerateOptions

__all__ = ["Continuation", "GenerateOptions", "LanguageModel", "Scored"]
