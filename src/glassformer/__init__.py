"""Glassformer: Transformers you can see through.

    import glassformer as gf

    model = gf.load("runs/en-de")
    model.translate("I ate an apple.")
    print(model.explain("I ate an apple."))

Public names are imported when first used, so that `import glassformer` and `glassformer --help` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from glassformer import vectors as vectors
    from glassformer.data.phrasebook import phrasebook as phrasebook
    from glassformer.errors import GlassformerError as GlassformerError
    from glassformer.tasks.embedding import TextEncoder as TextEncoder
    from glassformer.tasks.generation import GenerateOptions as GenerateOptions
    from glassformer.tasks.generation import LanguageModel as LanguageModel
    from glassformer.tasks.loading import load as load
    from glassformer.tasks.rewriting import Rewriter as Rewriter
    from glassformer.tasks.training import train as train
    from glassformer.tasks.training import train_translator as train_translator
    from glassformer.tasks.translation.constraints import Constraints as Constraints
    from glassformer.tasks.translation.constraints import Sampling as Sampling
    from glassformer.tasks.translation.glossary import Glossary as Glossary
    from glassformer.tasks.translation.translator import Translator as Translator
    from glassformer.tasks.vision import ImageModel as ImageModel
    from glassformer.text import Tokenizer as Tokenizer
    from glassformer.text import train_tokenizer as train_tokenizer

_HOMES = {
    "load": "glassformer.tasks.loading",
    "train": "glassformer.tasks.training",
    "train_translator": "glassformer.tasks.training",
    "Glossary": "glassformer.tasks.translation.glossary",
    "Translator": "glassformer.tasks.translation.translator",
    "LanguageModel": "glassformer.tasks.generation",
    "Rewriter": "glassformer.tasks.rewriting",
    "TextEncoder": "glassformer.tasks.embedding",
    "ImageModel": "glassformer.tasks.vision",
    "GenerateOptions": "glassformer.tasks.generation",
    "GlassformerError": "glassformer.errors",
    "Sampling": "glassformer.tasks.translation.constraints",
    "Constraints": "glassformer.tasks.translation.constraints",
    "phrasebook": "glassformer.data.phrasebook",
    "Tokenizer": "glassformer.text",
    "train_tokenizer": "glassformer.text",
}

_PACKAGES = ("vectors",)  # gf.vectors.train(...)

__all__ = [
    "Constraints",
    "GenerateOptions",
    "GlassformerError",
    "Glossary",
    "ImageModel",
    "LanguageModel",
    "Rewriter",
    "Sampling",
    "TextEncoder",
    "Tokenizer",
    "Translator",
    "__version__",
    "load",
    "phrasebook",
    "train",
    "train_tokenizer",
    "train_translator",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"glassformer.{name}")
    if name not in _HOMES:
        raise AttributeError(
            f"module 'glassformer' has no attribute {name!r}; it has {', '.join((*__all__, *_PACKAGES))}"
        )
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES]
