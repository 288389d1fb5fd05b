"""A text as it comes into being, token by token."""

from __future__ import annotations

from collections.abc import Sequence

from glassformer.text.tokenizer import Tokenizer

HALF = "\ufffd"  # what bytes that are only part of a letter are shown as


class Unfolding:
    """Gives the pieces of a text as its tokens come. Bytes of half a letter wait for the others.

    The pieces together are the whole text after `before`, the tokens that it goes on from.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = ()) -> None:
        self.tokenizer = tokenizer
        self.ids = list(before)
        self.known = 0  # from here on tokens are read again, since what a token says depends on the one before
        self.given = len(self.ids)  # tokens whose text was given out

    def add(self, ids: Sequence[int]) -> str:
        """The piece that these tokens complete; empty where a letter is not whole yet."""
        self.ids += ids
        return self._piece(whole=False)

    def rest(self) -> str:
        """What still waits, at the end."""
        return self._piece(whole=True)

    def _piece(self, *, whole: bool) -> str:
        before = self.tokenizer.decode(self.ids[self.known : self.given])
        text = self.tokenizer.decode(self.ids[self.known :])
        if not whole and text.endswith(HALF):
            return ""
        piece = text[len(before) :]
        if piece:
            self.known, self.given = self.given, len(self.ids)
        return piece


def text_after(tokenizer: Tokenizer, ids: Sequence[int], before: Sequence[int] = ()) -> str:
    """The whole text of tokens that go on from others."""
    unfolding = Unfolding(tokenizer, before)
    return unfolding.add(ids) + unfolding.rest()
