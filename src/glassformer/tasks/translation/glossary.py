"""A glossary: terms of the source language and how each must be translated.

A file has a term a line: source, a tab, the translation; several allowed forms are separated by a vertical bar. Terms
are found as whole words, longer ones first; those written in small letters in any case, others as they are written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from glassformer.data.readers.texts import texts_of
from glassformer.errors import DataError
from glassformer.evaluate.score import Score
from glassformer.tasks.translation.words import normal, occurrences, words_of

Forms = tuple[str, ...]


@dataclass(frozen=True)
class Glossary:
    """Source terms and the forms that their translation may have."""

    forms: Mapping[str, Forms]

    @classmethod
    def read(cls, path: Path) -> Glossary:
        forms: dict[str, Forms] = {}
        for number, line in enumerate(texts_of(path), 1):
            if line.strip() and not line.startswith("# "):
                source, options = parsed(line, where=f"{path}, line {number:,}")
                forms[source] = (*forms.get(source, ()), *options)
        if not forms:
            raise DataError(f"{path} has no terms.")
        return cls(forms)

    @cached_property
    def by_first_word(self) -> Mapping[str, list[tuple[list[str], str]]]:
        """The words of each term and the term, by its first word, longer ones first."""
        found: dict[str, list[tuple[list[str], str]]] = defaultdict(list)
        for term in self.forms:
            words = [word.text for word in words_of(term)]
            found[words[0].casefold()].append((words, term))
        return {first: sorted(terms, key=lambda one: -len(one[0])) for first, terms in found.items()}

    def found_in(self, text: str) -> list[tuple[str, Forms]]:
        """The terms of a source text in their order, with the forms that its translation must have one of."""
        words, found, place = [word.text for word in words_of(text)], [], 0
        while place < len(words):
            term = self.at(words, place)
            if term is not None:
                found.append((term[1], self.forms[term[1]]))
            place += len(term[0]) if term else 1
        return found

    def at(self, words: Sequence[str], place: int) -> tuple[list[str], str] | None:
        """The longest term that stands at this place."""
        for wanted, term in self.by_first_word.get(words[place].casefold(), ()):
            here = words[place : place + len(wanted)]
            if here == wanted or (
                term == term.lower() and [w.casefold() for w in here] == [w.casefold() for w in wanted]
            ):
                return wanted, term
        return None

    def hit_rate(
        self, sources: Sequence[str], translations: Sequence[str], normalize: Callable[[str], str] = normal
    ) -> Score | None:
        """Percent of the terms in the sources that their translations say; None where there are no terms."""
        wanted = [[forms for _, forms in self.found_in(source)] for source in sources]
        said = [said_of(text, own, normalize) for text, own in zip(translations, wanted, strict=True)]
        total = sum(map(len, wanted))
        if not total:
            return None
        signature = f"terms said|whole words|{sum(said)} of {total}"
        return Score("terms", 100 * sum(said) / total, signature=signature, sentences=sum(map(bool, wanted)))


def parsed(line: str, *, where: str) -> tuple[str, Forms]:
    """One line of a glossary."""
    source, *columns = (part.strip() for part in line.split("\t"))
    options = tuple(form.strip() for form in columns[0].split("|") if form.strip()) if columns else ()
    if len(columns) != 1 or not words_of(source) or not options:
        raise DataError(
            f"{where}: got {line!r}. A line is a term, a tab, and its translation; several allowed forms are separated "
            "by |."
        )
    return source, options


def said_of(text: str, terms: Sequence[Forms], normalize: Callable[[str], str] = normal) -> int:
    """How many of the terms a text says, each place counted for one of them only."""
    words: list[str | None] = [word.text for word in words_of(text)]
    said = 0
    for forms in sorted(terms, key=len):  # those with fewer ways to be said first
        place = next(places_of(words, forms, normalize), None)
        if place is not None:
            said += 1
            words[place[0] : place[1]] = [None] * (place[1] - place[0])
    return said


def places_of(words: Sequence[str | None], forms: Forms, normalize: Callable[[str], str]) -> Iterator[tuple[int, int]]:
    """Where one of the forms stands; at the beginning of a text also with a capital."""
    for form in sorted(forms, key=len, reverse=True):
        wanted = [word.text for word in words_of(normalize(form))]
        yield from ((i, i + len(wanted)) for i in occurrences(words, wanted))
        capital = [word.text for word in words_of(normalize(form[:1].upper() + form[1:]))]
        if list(words[: len(capital)]) == capital:
            yield 0, len(capital)


def says(text: str, forms: Sequence[str]) -> int:
    """How often a text says a term, in any of its forms, as whole words."""
    words = [word.text for word in words_of(text)]
    return len(set(places_of(words, tuple(forms), normal)))
