"""New tokens for an existing tokenizer. All old tokens keep their ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import tokenizers

from glassformer.errors import SettingsError
from glassformer.text.tokenizer import Tokenizer


class Extended(NamedTuple):
    """A tokenizer with new tokens, and the old tokens that each new one replaces."""

    tokenizer: Tokenizer
    pieces: dict[int, list[int]]  # new id -> ids before


def extended(tokenizer: Tokenizer, words: Sequence[str]) -> Extended:
    """Each word becomes one token, wherever it is a whole word. Words that already are one token stay as they are."""
    before = {word: tokenizer.encode(word) for word in dict.fromkeys(words)}
    if wrong := [word for word, ids in before.items() if not ids or word != word.strip()]:
        raise SettingsError(f"train.extend_vocabulary: {wrong[0]!r} is not a word that can become a token.")
    new = [word for word, ids in before.items() if len(ids) > 1]
    inner = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    inner.add_tokens([tokenizers.AddedToken(word, single_word=True, normalized=True) for word in new])
    found = Tokenizer.from_json(inner.to_str(), origin="the extended vocabulary")
    pieces = {ids[0]: before[word] for word in new if len(ids := found.encode(word)) == 1}
    return Extended(found, pieces)
