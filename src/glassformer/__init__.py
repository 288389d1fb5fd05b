"""Glassformer: Transformers you can see through.

    import glassformer as gf

    model = gf.load("runs/en-de")
    model.translate(["I ate an apple."])
    print(model.explain("I ate an apple."))

Public names are imported when first used, so that `import glassformer` and `glassformer --help` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from glassformer.data.phrasebook import phrasebook as phrasebook
    from glassformer.tasks.loading import load as load
    from glassformer.tasks.translation import train_translator as train_translator
    from glassformer.tasks.translation.glossary import Glossary as Glossary
    from glassformer.tasks.translation.requests import Lots as Lots
    from glassformer.tasks.translation.requests import Wishes as Wishes
    from glassformer.text import Tokenizer as Tokenizer
    from glassformer.text import train_tokenizer as train_tokenizer

_HOMES = {
    "load": "glassformer.tasks.loading",
    "train_translator": "glassformer.tasks.translation",
    "Glossary": "glassformer.tasks.translation.glossary",
    "Lots": "glassformer.tasks.translation.requests",
    "Wishes": "glassformer.tasks.translation.requests",
    "phrasebook": "glassformer.data.phrasebook",
    "Tokenizer": "glassformer.text",
    "train_tokenizer": "glassformer.text",
}

__all__ = [
    "Glossary",
    "Lots",
    "Tokenizer",
    "Wishes",
    "__version__",
    "load",
    "phrasebook",
    "train_tokenizer",
    "train_translator",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'glassformer' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
