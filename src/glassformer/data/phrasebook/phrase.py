"""The phrase: an English sentence, its German translations and their word alignment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from glassformer.data.phrasebook.aligned import Choices, Links, Token, links, renderings, sentence


@dataclass(frozen=True, slots=True)
class Phrase:
    """One entry of the phrasebook. Links index into `words(source)` and `words(references[0])`."""

    source: str  # English
    references: tuple[str, ...]  # every valid German translation; the first is the one to learn
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

    `render` gives the German words for some choices; `pairs` are the verb-object pairs used.
    """

    english: list[Token]
    render: Callable[[Choices], list[Token]]
    construction: str
    lemmas: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    mark: str = "."
    vocative: Vocative | None = None

    @property
    def source(self) -> str:
        """The English sentence."""
        return sentence([*self.english, *_called(self.vocative)[0], Token(self.mark)])

    def phrase(self) -> Phrase:
        """Combine both sides, the vocative and the final punctuation; collect all renderings of the German side."""
        called_english, called_german = _called(self.vocative)
        end = [Token(self.mark, (_END,))]
        english = self.english + called_english + end
        address = self.vocative.address if self.vocative else None
        targets = [tokens + called_german + end for tokens in renderings(self.render, address)]
        sure, possible = links(english, targets[0])
        references = tuple(dict.fromkeys([sentence(target) for target in targets]))
        return Phrase(sentence(english), references, sure, possible, self.construction, self.lemmas)


def _called(vocative: Vocative | None) -> tuple[list[Token], list[Token]]:
    if vocative is None:
        return [], []
    sides = []
    for side in (vocative.english, vocative.german):
        sides.append([Token(",", (_COMMA,))] + [Token(word, (_CALLED + i,)) for i, word in enumerate(side)])
    return sides[0], sides[1]
