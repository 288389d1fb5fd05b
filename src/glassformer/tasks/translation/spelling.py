"""How words are spelled in tokens: inside a sentence and at its beginning; and which tokens would change a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from glassformer.decode.rules import continues_word
from glassformer.decode.terms import Form, Term, Vocabulary
from glassformer.errors import DataError
from glassformer.tasks.translation.word_boundaries import is_word_letter
from glassformer.text import Tokenizer


class Speller:
    """Spells the words that a translation must contain, for one tokenizer."""

    def __init__(self, tokenizer: Tokenizer, *, eos: int) -> None:
        self.tokenizer = tokenizer
        self.eos = eos
        self._terms: dict[tuple[tuple[str, ...], bool], Term] = {}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        surfaces = self.tokenizer.surfaces
        return Vocabulary(
            eos=self.eos,
            prolonging=np.array([prolongs(surface) for surface in surfaces]),
            empty_tokens=np.array([not surface for surface in surfaces]),
        )

    def term(self, options: tuple[str, ...], *, ordered: bool = False) -> Term:
        """A term in its forms; an error if the vocabulary cannot spell any of them."""
        known = self._terms.get((options, ordered))
        if known is None:
            known = self._terms[options, ordered] = self._spelled(options, ordered=ordered)
        return known

    def _spelled(self, options: tuple[str, ...], *, ordered: bool) -> Term:
        inside = unique(form for option in options for form in self._inside(option))
        capital = [option[:1].upper() + option[1:] for option in options]
        opening = unique(form for option in (*options, *capital) for form in self._checked(option, self.ids(option)))
        if not inside:
            raise DataError(
                f"This model's vocabulary cannot spell {' | '.join(options)!r}: it has no tokens for its letters. "
                "Leave it out, or train with a byte-level vocabulary (text.kind = 'bpe')."
            )
        return Term(inside, opening, ordered=ordered)

    def _inside(self, option: str) -> Iterator[Form]:
        """Forms after a space, and directly after a word where possible: punctuation, and scripts without spaces."""
        yield from self._checked(option, self._after(f" {option}"))
        if not is_word_letter(option[0]):
            yield from self._checked(option, self._after(option))

    def _after(self, text: str) -> list[int]:
        """The tokens of a text that follows a word."""
        anchor = self.tokenizer.anchor
        both = self.ids(self.tokenizer.decode([anchor]) + text)
        return both[1:] if both[:1] == [anchor] else []

    def _checked(self, option: str, ids: Sequence[int]) -> Iterator[Form]:
        """The form, if these tokens really spell it."""
        said = b"".join(self.tokenizer.surfaces[i] for i in ids).decode("utf-8", errors="replace")
        unknown = self.tokenizer.unk_id
        if ids and unknown not in ids and said.strip() == self.tokenizer.normalize(option).strip():
            yield Form(tuple(ids), word=is_word_letter(option[-1]))

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text)


def prolongs(surface: bytes) -> bool:
    """Whether text right after a word prolongs it: letters and parts of letters do, unless the script has no spaces."""
    text = surface.decode("utf-8", errors="ignore")
    return continues_word(surface) and (not text or not text[0].isalnum() or is_word_letter(text[0]))


def unique(forms: Iterable[Form]) -> tuple[Form, ...]:
    return tuple(dict.fromkeys(forms))
