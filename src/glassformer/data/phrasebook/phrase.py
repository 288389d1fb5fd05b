"""The phrase: an English sentence, its translations into one language and their word alignment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from glassformer.data.phrasebook.aligned import Choices, Links, Token, links, renderings, sentence
from glassformer.data.phrasebook.equivalents import changed_wordings, spelled_out, with_contractions
from glassformer.data.phrasebook.language import Language
from glassformer.data.phrasebook.meaning import Meaning, MissingWord


@dataclass(frozen=True, slots=True)
class Phrase:
    """One entry of the phrasebook. Links index into `words(source)` and `words(references[0])`."""

    source: str
    references: tuple[str, ...]  # every valid translation; the first is the one to learn
    sure: Links
    possible: Links  # a superset of `sure`
    construction: str
    lemmas: tuple[str, ...]  # English lemmas used, for the split and for statistics


@dataclass(frozen=True, slots=True)
class Vocative:
    """Somebody addressed at the end of the sentence, which decides what "you" is: 0 du, 1 ihr, 2 Sie."""

    english: tuple[str, ...]
    german: tuple[str, ...]
    address: int


_COMMA, _END, _CALLED = 1_000, 1_001, 1_002  # keys no other token uses


@dataclass(slots=True)
class Draft:
    """A phrase with its English side; the German side is built on demand, since most drafts are rejected.

    `render` gives the German words for some choices, `meaning` is what other languages render; `pairs` are the
    verb-object pairs used.
    """

    english: list[Token]
    render: Callable[[Choices], list[Token]]
    construction: str
    lemmas: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    mark: str = "."
    vocative: Vocative | None = None
    meaning: Meaning | None = None

    @property
    def source(self) -> str:
        """The English sentence."""
        return sentence([*self.english, *_called(self.vocative)[0], Token(self.mark)])

    def phrase(self, language: Language | None = None, *, into_english: bool = False) -> Phrase:
        """Combine both sides, the vocative and the final mark; collect all renderings of the other side.

        `language` is None for German. Raises MissingWord if the language cannot say this. With `into_english` English
        is the side to learn: its contractions are spelled out, and the references are all known sentences that have
        this one as their translation.
        """
        english, targets = self._sides(language)
        if into_english:
            english = spelled_out(english)
            sure, possible = links(targets[0], english)
            source = sentence(targets[0])
            references = with_contractions([sentence(english), *self._equal_in(language, source)])
        else:
            sure, possible = links(english, targets[0])
            source, references = sentence(english), [sentence(target) for target in targets]
        return Phrase(source, tuple(dict.fromkeys(references)), sure, possible, self.construction, self.lemmas)

    def _sides(self, language: Language | None) -> tuple[list[Token], list[list[Token]]]:
        called_english, called = _called(self.vocative, language)
        end = [Token(self.mark, (_END,))]
        mark = [Token(language.MARKS.get(self.mark, self.mark), (_END,))] if language else end
        address = self.vocative.address if self.vocative else None
        targets = [tokens + called + mark for tokens in renderings(self._rendering(language), address)]
        return self.english + called_english + end, targets

    def _equal_in(self, language: Language | None, target: str) -> list[str]:
        """The same with he for she, must for have to ..., wherever the other language makes no difference."""
        found = []
        for english in changed_wordings(self.meaning, self.english):
            changed = replace(self, english=english)
            sides = changed._sides(language)
            if sentence(sides[1][0]) == target:
                found.append(sentence(spelled_out(sides[0])))
        return found

    def _rendering(self, language: Language | None) -> Callable[[Choices], list[Token]]:
        if language is None:
            return self.render
        if self.meaning is None:
            raise MissingWord(self.construction)
        return partial(language.render, self.meaning)


def _called(vocative: Vocative | None, language: Language | None = None) -> tuple[list[Token], list[Token]]:
    if vocative is None:
        return [], []
    sides = []
    for side in (vocative.english, language.called(vocative) if language else vocative.german):
        sides.append([Token(",", (_COMMA,))] + [Token(word, (_CALLED + i,)) for i, word in enumerate(side)])
    return sides[0], sides[1]
