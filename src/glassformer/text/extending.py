"""New tokens for an existing tokenizer. All old tokens keep their ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import tokenizers

from glassformer.errors import SettingsError
from glassformer.text.pieces import MARK
from glassformer.text.tokenizer import Tokenizer


class Extended(NamedTuple):
    """A tokenizer with new tokens, and the old tokens that each new one replaces."""

    tokenizer: Tokenizer
    pieces: dict[int, list[int]]  # new id -> ids before; none if the word was unknown


def extended(tokenizer: Tokenizer, words: Sequence[str]) -> Extended:
    """Each word becomes one token, wherever it is a whole word. Words that already are one token stay as they are.

    An unknown word is not a token, although it is encoded as one.
    """
    before = {word: tokenizer.encode(word) for word in dict.fromkeys(words)}
    if wrong := [word for word, ids in before.items() if not ids or word != word.strip()]:
        raise SettingsError(f"train.extend_vocabulary: {wrong[0]!r} is not a word that can become a token.")
    unknown = {word for word, ids in before.items() if set(ids) == {tokenizer.unk_id}}
    new = [word for word, ids in before.items() if len(ids) > 1 or word in unknown]
    found = Tokenizer.from_json(with_words(tokenizer.to_json(), new), origin="the extended vocabulary")
    after = {word: found.encode(word) for word in new}
    whole = [word for word in new if len(after[word]) == 1 and after[word] != before[word]]
    return Extended(found, {after[word][0]: [] if word in unknown else before[word] for word in whole})


def with_words(text: str, words: Sequence[str]) -> str:
    """The tokenizer in this JSON with new words.

    Where spaces are written as marks, a word is put into the vocabulary with its mark: the library would find it only
    at the start of a text. Pieces of longer words may then begin with it.
    """
    inner, state = tokenizers.Tokenizer.from_str(text), json.loads(text)
    written = [inner.normalizer.normalize_str(word) if inner.normalizer else word for word in words]
    is_marked = bool(written) and all(piece.startswith(MARK) for piece in written)
    if not is_marked or state["model"]["type"] not in ("WordLevel", "WordPiece"):
        inner.add_tokens([tokenizers.AddedToken(word, single_word=True, normalized=True) for word in words])
        return inner.to_str()
    vocabulary = state["model"]["vocab"]
    vocabulary |= {one["content"]: one["id"] for one in state["added_tokens"]}  # so that they keep their ids
    for piece in (one for one in written if len(inner.pre_tokenizer.pre_tokenize_str(one)) == 1):
        vocabulary.setdefault(piece, max(vocabulary.values()) + 1)
    return json.dumps(state)
