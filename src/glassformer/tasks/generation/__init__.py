"""Text that goes on from a text (decoders), or answers one (encoder-decoders)."""

from glassformer.tasks.generation.asked import Asked
from glassformer.tasks.generation.language_model import Continuation, LanguageModel, Scored

__all__ = ["Asked", "Continuation", "LanguageModel", "Scored"]
