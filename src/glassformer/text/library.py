"""Calls into the `tokenizers` library, and what its objects hold.

Its errors are plain `Exception`s or, after a Rust panic, a `BaseException`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tokenizers

from glassformer.errors import GlassformerError, TokenizerError
from glassformer.text.graphemes import GRAPHEME

KINDS = {"BPE": "bpe", "WordPiece": "wordpiece", "Unigram": "unigram", "WordLevel": "word"}
HINTS = {  # part of the library's message: what it means
    "UNK": "has this vocabulary no token for unknown words?",
    "unk_": "has this vocabulary no token for unknown words?",
    "Onig": "a regular expression of the tokenizer takes too long on this text; shorten it",
}
PANIC = "PanicException"  # of pyo3: a BaseException whose class cannot be imported


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turns whatever the library raises into a TokenizerError that begins with `what`."""
    try:
        yield
    except (GlassformerError, MemoryError, RecursionError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise  # Ctrl-C and the like
        reason = " ".join(str(error).split())
        hint = next((f" ({hint})" for sign, hint in HINTS.items() if sign in reason), "")
        raise TokenizerError(f"{what}{hint}: {reason[:300]}") from error


def check_text(*texts: str) -> None:
    """Refuses what the library cannot encode."""
    for text in texts:
        if not isinstance(text, str):
            raise TokenizerError(f"got a {type(text).__name__} to encode; expected a text (str)")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TokenizerError(
                "the text holds half of a surrogate pair, which is not a character; read it as UTF-8 or remove it"
            ) from error


def check_character_table(table: bytes, *, origin: str) -> None:
    """Refuses a bad character table of SentencePiece, which is: the size of a tree in bytes, the tree, texts.

    The library allocates as much memory as the size says before it looks at the rest.
    """
    size = int.from_bytes(table[:4], "little")
    if len(table) < 4 or size % 4 or size > len(table) - 4:
        raise TokenizerError(
            f"{origin}: a character table of {len(table):,} bytes claims a tree of {size:,} bytes. Fetch it again."
        )


def check_character_tables(part: Any, *, origin: str) -> None:
    """The same for every table in a part of a tokenizer.json."""
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
            if isinstance(table := one.get("precompiled_charsmap"), str):
                check_character_table(decoded(table, origin=origin), origin=origin)
        elif isinstance(one, list):
            waiting += one


def decoded(table: str, *, origin: str) -> bytes:
    try:
        return base64.b64decode(table, validate=True)
    except (ValueError, binascii.Error):
        raise TokenizerError(f"{origin}: a character table is not in base64. Fetch it again.") from None


def kind_of_library(inner: tokenizers.Tokenizer) -> str:
    kind = KINDS[type(inner.model).__name__]
    if kind == "word" and state_of(inner.pre_tokenizer).get("pattern") == {"Regex": GRAPHEME}:
        return "char"
    return kind


def state_of(part: Any) -> dict[str, Any]:
    """A part of the library's tokenizer as written in the file; empty if the tokenizer has no such part."""
    return {} if part is None else json.loads(part.__getstate__())


def uses(part: Any, name: str) -> bool:
    return part is not None and f'"type":"{name}"' in part.__getstate__().decode()


def text_only(content: dict[str, Any], special: Mapping[int, str]) -> str:
    """A tokenizer.json in which no text is found to be a special token; the ids of texts do not change.

    Unigram and word vocabularies keep special tokens among the ordinary pieces, so a "</s>" in a text would be looked
    up and found. They get names that no text contains.
    """
    model, names = content["model"], {*special.values()}
    content["added_tokens"] = [token for token in content["added_tokens"] if not token["special"]]
    model["vocab"] = with_hidden_names(model["vocab"], frozenset(special))
    if "merges" in model:
        model["merges"] = [pair for pair in model["merges"] if not {*pair, "".join(pair)} & names]
    return json.dumps(content)


def with_hidden_names(vocabulary: Any, ids: frozenset[int]) -> Any:
    """The vocabulary with new names for the pieces of `ids`: a noncharacter and a space, which no word contains."""
    if isinstance(vocabulary, dict):
        return {f"\uffff {number}" if number in ids else piece: number for piece, number in vocabulary.items()}
    return [[f"\uffff {number}" if number in ids else piece, score] for number, (piece, score) in enumerate(vocabulary)]
