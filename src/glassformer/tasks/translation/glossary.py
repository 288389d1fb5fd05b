"""A glossary: terms of the source language and how each must be translated.

A file has one term per line: source, a tab, the translation; several allowed forms are separated by a vertical bar.
Terms match whole words, longer terms first. Lower-case terms match in any case, others only as they are written.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from glassformer.data.readers.texts import texts_of
from glassformer.errors import DataError
from glassformer.evaluate.score import Score
from glassformer.tasks.model import described
from glassformer.tasks.translation.word_boundaries import normal, occurrences, words_of

Forms = tuple[str, ...]
LINE_BREAK = re.compile(r"[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
EXAMPLE = '{"dog": ["Hund", "Hunde"]}'


@dataclass(frozen=True)
class Occurrence:
    """A term of the glossary in a source text."""

    term: str
    forms: Forms
    start: int  # of its first character, in the normal form of the text (NFC)
    end: int
    words: int


@dataclass(frozen=True, init=False)
class Glossary:
    """Source terms and the allowed forms of their translations: one form (a string) or several for each term."""

    forms: Mapping[str, Forms]

    def __init__(self, forms: Mapping[str, str | Iterable[str]]) -> None:
        given: object = forms
        if not isinstance(given, Mapping):
            raise DataError(
                f"As a glossary got {described(given)}; expected a dict, such as {EXAMPLE}, or Glossary.read(file)."
            )
        checked: dict[str, Forms] = {}
        for term, own in given.items():
            name = checked_term(term)
            checked[name] = (*checked.get(name, ()), *checked_forms(name, own))
        object.__setattr__(self, "forms", checked)

    @classmethod
    def read(cls, path: str | Path) -> Glossary:
        path = Path(path)
        forms: dict[str, Forms] = {}
        for number, line in enumerate(texts_of(path), 1):
            if line.strip() and not line.startswith("# "):
                source, options = parsed(line, where=f"{path}, line {number:,}")
                forms[source] = (*forms.get(source, ()), *options)
        if not forms:
            raise DataError(f"{path} has no terms.")
        return cls(forms)

    @cached_property
    def by_words(self) -> Mapping[tuple[str, ...], list[tuple[list[str], str]]]:
        """The words of each term and the term, by these words in lower case."""
        found: dict[tuple[str, ...], list[tuple[list[str], str]]] = defaultdict(list)
        for term in self.forms:
            words = [word.text for word in words_of(term)]
            found[tuple(word.casefold() for word in words)].append((words, term))
        return found

    @cached_property
    def sizes(self) -> Mapping[str, list[int]]:
        """First word -> lengths of its terms in words, longest first: one lookup per length, not per term."""
        found: dict[str, set[int]] = defaultdict(set)
        for words in self.by_words:
            found[words[0]].add(len(words))
        return {first: sorted(sizes, reverse=True) for first, sizes in found.items()}

    def found_in(self, text: str) -> list[tuple[str, Forms]]:
        """The terms of a source text in order; its translation must contain one form of each."""
        return [(one.term, one.forms) for one in self.places_in(text)]

    def places_in(self, text: str) -> list[Occurrence]:
        """The same, with their positions."""
        spans = words_of(text)
        words, found, place = [word.text for word in spans], [], 0
        while place < len(words):
            term = self.at(words, place)
            size = len(term[0]) if term else 1
            if term is not None:
                start, end = spans[place].start, spans[place + size - 1].end
                found.append(Occurrence(term[1], self.forms[term[1]], start, end, size))
            place += size
        return found

    def at(self, words: Sequence[str], place: int) -> tuple[list[str], str] | None:
        """The longest term at this place."""
        for size in self.sizes.get(words[place].casefold(), ()):
            here = list(words[place : place + size])
            for wanted, term in self.by_words.get(tuple(word.casefold() for word in here), ()):
                if here == wanted or term == term.lower():
                    return wanted, term
        return None

    def hit_rate(
        self, sources: Sequence[str], translations: Sequence[str], normalize: Callable[[str], str] = normal
    ) -> Score | None:
        """The percentage of source terms whose translations use them; None if there are no terms."""
        wanted = [[forms for _, forms in self.found_in(source)] for source in sources]
        said = [count_terms(text, own, normalize) for text, own in zip(translations, wanted, strict=True)]
        total = sum(map(len, wanted))
        if not total:
            return None
        signature = f"terms said|whole words|{sum(said)} of {total}"
        return Score("terms", 100 * sum(said) / total, signature=signature, sentences=sum(map(bool, wanted)))


def checked_term(term: object) -> str:
    """A term without spaces around it; an error if it is not a term."""
    if not isinstance(term, str) or not words_of(term) or LINE_BREAK.search(term.strip()):
        raise DataError(f"Glossary: got the term {described(term)}; expected words on one line, as in {EXAMPLE}.")
    return term.strip()


def checked_forms(term: str, given: object) -> Forms:
    """The forms of a term's translation, without spaces around them; an error if there are none, or other things."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | bytearray | Mapping)
    forms = tuple(given) if several and isinstance(given, Iterable) else (given,)
    for form in forms:
        if not isinstance(form, str) or not form.strip() or LINE_BREAK.search(form.strip()):
            raise DataError(
                f"Glossary: {term!r} has the translation {described(form)}; expected words on one line, or a list of "
                f"allowed forms, as in {EXAMPLE}."
            )
    if not forms:
        raise DataError(f"Glossary: {term!r} has no translation; give at least one, as in {EXAMPLE}.")
    return tuple(form.strip() for form in forms if isinstance(form, str))


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


def count_terms(text: str, terms: Sequence[Forms], normalize: Callable[[str], str] = normal) -> int:
    """How many of the terms a text contains; each position counts for one term only."""
    words: list[str | None] = [word.text for word in words_of(text)]
    said = 0
    for forms in sorted(terms, key=len):  # terms with fewer forms first
        place = next(places_of(words, forms, normalize), None)
        if place is not None:
            said += 1
            words[place[0] : place[1]] = [None] * (place[1] - place[0])
    return said


def places_of(words: Sequence[str | None], forms: Forms, normalize: Callable[[str], str]) -> Iterator[tuple[int, int]]:
    """The places of the forms in a text; at its beginning also with a capital first letter."""
    for form in sorted(forms, key=len, reverse=True):
        wanted = [word.text for word in words_of(normalize(form))]
        yield from ((i, i + len(wanted)) for i in occurrences(words, wanted))
        capital = [word.text for word in words_of(normalize(form[:1].upper() + form[1:]))]
        if list(words[: len(capital)]) == capital:
            yield 0, len(capital)
