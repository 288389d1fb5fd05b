"""What any text that is generated can be asked for: lots instead of the best, and rules of what may be said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glassformer.decode.rules import NoRepeat, RepetitionPenalty, Unsaid
from glassformer.decode.search import Rule
from glassformer.text import Tokenizer


@dataclass(frozen=True)
class Lots:
    """Sampling."""

    seed: int = 0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


def rules_of_speech(
    tokenizer: Tokenizer, *, no_repeat: int = 0, repetition_penalty: float = 1.0, ban: Sequence[str] = ()
) -> Iterator[Rule]:
    """No n tokens twice, repetitions less likely, words that are never said."""
    if no_repeat:
        yield NoRepeat(no_repeat)
    if repetition_penalty != 1:
        yield RepetitionPenalty(repetition_penalty)
    if ban:
        words = {spelled for word in ban for spelled in spellings(tokenizer.normalize(word.strip()))}
        yield Unsaid(sorted(words), tokenizer.surfaces)


def spellings(word: str) -> list[bytes]:
    """With and without a capital."""
    return [one.encode() for one in (word, word[:1].upper() + word[1:], word[:1].lower() + word[1:])]
