"""The text of an output while its tokens are being generated."""

from __future__ import annotations

from collections.abc import Sequence

from glassformer.text.tokenizer import Tokenizer

HALF = "\ufffd"  # decoded from bytes that are only part of a letter


class Unfolding:
    """Returns the text of tokens as they arrive. The bytes of an incomplete letter wait for the rest of it.

    The pieces together are the whole text after `before`, the tokens that it continues.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = ()) -> None:
        self.tokenizer = tokenizer
        self.ids = list(before)
        self.known = 0  # tokens from here on are decoded again, since a token's text depends on the one before
        self.given = len(self.ids)  # tokens whose text was returned

    def add(self, ids: Sequence[int]) -> str:
        """The text that these tokens complete; empty while a letter is incomplete."""
        self.ids += ids
        return self._piece(whole=False)

    def rest(self) -> str:
        """The text that still waits, at the end."""
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
    """The whole text of tokens that follow others."""
    unfolding = Unfolding(tokenizer, before)
    return unfolding.add(ids) + unfolding.rest()
