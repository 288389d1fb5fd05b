"""What all models that `glassformer.load` returns have in common, and how their methods take texts.

One text in, one result out; a list of texts in, a list of results out. Anything else is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from glassformer.errors import DataError, ModelError
from glassformer.printable import opening
from glassformer.store.bundle import Bundle
from glassformer.store.weights import parameter_count
from glassformer.tasks.forking import check_process

if TYPE_CHECKING:
    from glassformer.vectors import WordVectors

T = TypeVar("T")

METHODS = {  # method: the kinds of models that have it
    "translate": "translators (runs of `glassformer train`, MarianMT)",
    "candidates": "translators (runs of `glassformer train`, MarianMT)",
    "evaluate": "translators (runs of `glassformer train`, MarianMT)",
    "align": "translators (runs of `glassformer train`, MarianMT)",
    "score": "translators, GPT and Llama models",
    "stream": "translators, GPT, Llama and T5 models",
    "generate": "GPT, Llama and T5 models, and BERT and RoFormer models with a head for masked words",
    "continuations": "GPT, Llama and T5 models",
    "rewrite": "runs of `glassformer train --task rewrite`, T5 and BART models (with kind=Rewriter)",
    "summarise": "runs of `glassformer train --task summarise`, T5 and BART models (with kind=Rewriter)",
    "infill": "runs of `glassformer train --task infill`, T5 models (with kind=Infiller)",
    "embed": "BERT, RoBERTa and RoFormer models, translators",
    "similar": "BERT, RoBERTa and RoFormer models",
    "fill": "BERT, RoBERTa and RoFormer models with a head for masked words",
    "context": "BERT, RoBERTa and RoFormer models, translators",
    "classify": "ViT models, and BERT, RoBERTa and RoFormer models with a head for classes",
    "tag": "BERT, RoBERTa and RoFormer models with a head for labels of words",
    "answer": "BERT, RoBERTa and RoFormer models with a head for answers",
    "caption": "captioners",
    "captions": "captioners",
}


class CannotError(ModelError, AttributeError):
    """A method that this kind of model does not have. Also an AttributeError, so that `hasattr` says no."""


class LoadedModel:
    """The base of `Translator`, `LanguageModel`, `TextEncoder` and `ImageModel`."""

    model: Any
    origin: str = ""  # of the weights, if they come from a training run
    folder: str = ""  # where it was loaded from

    @classmethod
    def of(cls, bundle: Bundle) -> Self:
        """The model of a bundle, used as this class; an error if it cannot be."""
        return cls(bundle)

    def __init__(self, bundle: Bundle) -> None:
        raise NotImplementedError

    @cached_property
    def bundle(self) -> Bundle:
        """The model with its tokenizer and special ids, in the form that all kinds share."""
        raise NotImplementedError

    @property
    def kind_name(self) -> str:
        """The architecture."""
        raise NotImplementedError

    def word_vectors(self) -> WordVectors:
        """The embedding table: one static vector for each token. See `gf.vectors`."""
        from glassformer.tasks.word_vectors import table_of  # it imports this file

        return table_of(self.bundle)

    def __repr__(self) -> str:
        parts = [f"{self.kind_name} model", *self.facts(), f"{parameter_count(self.model):,} parameters"]
        return f"<{type(self).__name__}: {', '.join(parts)}{f', from {self.folder}' if self.folder else ''}>"

    def facts(self) -> list[str]:
        """Sizes that distinguish models, for `repr`."""
        config = getattr(self.model, "config", None)
        named = {"N": "{} layers", "d": "width {}", "h": "{} heads"}
        values = {name: getattr(config, name, None) for name in named}
        return [named[name].format(value) for name, value in values.items() if value is not None]

    if not TYPE_CHECKING:  # type checkers should still see what is missing

        def __getattr__(self, name: str) -> NoReturn:
            if name in METHODS:
                kind = self.kind_name if "model" in self.__dict__ else type(self).__name__
                raise CannotError(f"{opening(kind)} model has no {name}(). Models that have it: {METHODS[name]}.")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


# One or many


def texts_of(texts: object, what: str = "text") -> list[str]:
    """The given text or texts as a list; an error for anything else.

    Every method of a model calls this, or `one_text`, before it computes.
    """
    check_process()
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, bytes | bytearray):
        raise DataError(f"Got bytes where a {what} is expected. Decode them first: data.decode('utf-8').")
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping | Set):
        raise DataError(f"Got {described(texts)}; expected a {what} (str) or a list of {several(what)}.")
    found = list(texts)
    for number, one in enumerate(found):
        if not isinstance(one, str):
            raise DataError(f"Item {number} of the list is {described(one)}; expected a {what} (str).")
    return found


def several(what: str) -> str:
    return f"{what[:-1]}ies" if what.endswith("ry") else f"{what}s"


def one_text(text: object, what: str = "text") -> str:
    """The same for methods that take a single text."""
    check_process()
    if isinstance(text, str):
        return text
    raise DataError(f"Got {described(text)}; expected one {what} (str).")


def described(value: object) -> str:
    shown = repr(value)
    shown = shown if len(shown) <= 40 else shown[:37] + "..."
    return shown if value is None else f"{shown} ({type(value).__name__})"


def one_or_many(texts: str | Sequence[str], work: Callable[[list[str]], list[T]], what: str = "text") -> T | list[T]:
    """The results of `work` for a list, or the only one for a single text."""
    found = work(texts_of(texts, what))
    return found[0] if isinstance(texts, str) else found


def paired(first: object, second: object, names: tuple[str, str]) -> tuple[list[str], list[str]]:
    """Two texts, or two lists of the same length, as lists."""
    if isinstance(first, str) != isinstance(second, str):
        raise DataError(f"Give one {names[0]} and one {names[1]}, or a list of each; got one and a list.")
    both = texts_of(first, names[0]), texts_of(second, names[1])
    if len(both[0]) != len(both[1]):
        raise DataError(
            f"Got {len(both[0]):,} {names[0]}s and {len(both[1]):,} {names[1]}s; give the same number of each."
        )
    return both
