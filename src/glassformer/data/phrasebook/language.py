"""The languages of the phrasebook: what each must be able to do, and where each is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from glassformer.errors import DataError

if TYPE_CHECKING:
    from glassformer.data.phrasebook.aligned import Choices, Token
    from glassformer.data.phrasebook.meaning import Meaning
    from glassformer.data.phrasebook.phrase import Phrase, Vocative

LANGUAGES = {"de": "German", "it": "Italian", "hi": "Hindi"}
_MODULES = {"it": "italian", "hi": "hindi"}  # the German side is part of each construction


class Language(Protocol):
    """One language beside English and German. `render` raises MissingWord for what it cannot say."""

    MARKS: dict[str, str]  # final marks that differ from those of English
    DOCUMENT_SENTENCES: tuple[Phrase, ...]

    def render(self, meaning: Meaning, choices: Choices) -> list[Token]:
        """The words of what is said, for some choices."""
        ...

    def called(self, vocative: Vocative) -> list[str]:
        """The words for somebody who is addressed."""
        ...


def language_named(code: str) -> Language | None:
    """The module of a language; None for German."""
    if code not in LANGUAGES:
        known = ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())
        raise DataError(f"The phrasebook has no translations into {code!r}. Available: {known}.")
    if code not in _MODULES:
        return None
    return cast(Language, import_module(f"glassformer.data.phrasebook.{_MODULES[code]}"))
