"""The training examples that word2vec makes of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """One word and the words around it: CBOW predicts `word` from `context`, skip-gram the reverse."""

    word: str
    context: tuple[str, ...]
    gap: str  # the window with a gap for the word

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(input, output) of skip-gram."""
        return [(self.word, other) for other in self.context]


def examples_of(words: Sequence[str], *, window: int) -> list[Example]:
    """The example of each word that has others within `window` words."""
    found = []
    for i, word in enumerate(words):
        before, after = list(words[max(0, i - window) : i]), list(words[i + 1 : i + 1 + window])
        if before or after:
            found.append(Example(word, (*before, *after), " ".join([*before, "____", *after])))
    return found
